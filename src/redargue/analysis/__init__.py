"""Explains recorded runs: differences, minimal evidence sets, counterfactuals."""
