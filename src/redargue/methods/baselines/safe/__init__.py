"""SAFE (Wei et al., arXiv 2403.18802)."""

from redargue.methods.baselines.safe import small_models as small_models
from redargue.methods.baselines.safe.method import Safe as Safe
