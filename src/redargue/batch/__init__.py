"""The output files and totals of a batch."""
