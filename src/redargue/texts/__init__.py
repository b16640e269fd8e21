"""From a text to claims with offsets, and back to a report."""
