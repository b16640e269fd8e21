"""Measuring: data sets, metrics, statistics, runs, reports."""
