"""Run records and their replay, budgets, usage, prices and clocks."""
