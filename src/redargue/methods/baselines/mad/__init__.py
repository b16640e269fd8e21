"""MAD (Liang et al., arXiv 2305.19118)."""

from redargue.methods.baselines.mad.method import Mad as Mad
