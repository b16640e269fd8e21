"""Data sets: one file each, which reads the official format and maps fields and labels once."""
