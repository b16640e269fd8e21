"""What was spent, when, and what came of it: budget, clock, record."""
