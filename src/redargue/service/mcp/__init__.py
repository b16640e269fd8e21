"""The verifier as an MCP server (``redargue mcp``, and ``/mcp`` of the service); needs the extra ``mcp``."""
