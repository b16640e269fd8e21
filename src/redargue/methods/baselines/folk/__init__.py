"""FOLK (Wang & Shu, arXiv 2310.05253)."""

from redargue.methods.baselines.folk import small_models as small_models
from redargue.methods.baselines.folk.method import Folk as Folk
