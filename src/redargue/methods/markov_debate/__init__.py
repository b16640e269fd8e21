"""Markov-chain debate (Sun et al., arXiv 2406.03075)."""

from redargue.methods.markov_debate import small_models as small_models
from redargue.methods.markov_debate.method import MarkovDebate as MarkovDebate
