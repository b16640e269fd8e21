"""Scores of answers; each asks tasks through the run."""
