"""Evidence kept across claims, by entity and by meaning, in a database (MERMAID, "Augmented Evidence Memory")."""
