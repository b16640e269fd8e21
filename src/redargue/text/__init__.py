"""Extracts claims with offsets from a text, and assembles the report on their verdicts."""
