"""How sure a difference is: intervals, paired tests, power, many tests at once, seeds. All chance has a seed."""
