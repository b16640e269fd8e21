"""MERMAID (Cao et al., 2026)."""

from redargue.methods.mermaid.method import Mermaid as Mermaid
