"""Agents: a name and a tool, acting in a run."""
