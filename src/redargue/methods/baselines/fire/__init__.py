"""FIRE (Xie et al., arXiv 2411.00784)."""

from redargue.methods.baselines.fire import small_models as small_models
from redargue.methods.baselines.fire.method import Fire as Fire
