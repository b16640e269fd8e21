"""Evidence memory: stores evidence across claims, by entity and by meaning (MERMAID, "Augmented Evidence Memory")."""
