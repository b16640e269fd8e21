"""MADKE (Wang et al., arXiv 2312.04854)."""

from redargue.methods.baselines.madke import small_models as small_models
from redargue.methods.baselines.madke.method import Madke as Madke
