"""CFMAD (Fang et al., arXiv 2406.11514)."""

from redargue.methods.baselines.cfmad.method import Cfmad as Cfmad
