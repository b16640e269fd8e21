"""What is asked of a mind, typed."""
