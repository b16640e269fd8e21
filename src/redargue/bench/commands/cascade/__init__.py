"""The command that fits a cascade."""
