"""Finds evidence: corpora, search tools, MCP servers."""
