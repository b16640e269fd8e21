"""The closing claims of a coding agent against the outputs of its own tools, for hooks of the agent."""
