"""Tools of the Model Context Protocol: a client for any server, and MERMAID's tool servers (its Table 5)."""
