"""Statistics of comparisons: intervals, paired tests, power, corrections, seeds; all resampling is seeded."""
