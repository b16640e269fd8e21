"""The commands that compare and explain runs."""
