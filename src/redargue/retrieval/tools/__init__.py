"""Where evidence comes from: one file a tool."""
