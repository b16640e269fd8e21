"""The command that imports MERMAID's released runs."""
