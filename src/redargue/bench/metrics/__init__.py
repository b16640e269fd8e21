"""Metrics, one file a family: plain sequences in, figures out; a figure is a value or the reason why there is none."""
