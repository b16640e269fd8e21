"""The commands of the workers."""
