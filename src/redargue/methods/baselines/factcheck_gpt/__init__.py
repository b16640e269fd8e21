"""Factcheck-GPT (Wang et al., arXiv 2311.09000)."""

from redargue.methods.baselines.factcheck_gpt import small_models as small_models
from redargue.methods.baselines.factcheck_gpt.method import FactcheckGpt as FactcheckGpt
