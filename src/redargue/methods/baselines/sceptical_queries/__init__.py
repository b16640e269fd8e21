"""Queries of a sceptic, as FacTool writes them (Chern et al., arXiv 2307.13528); Markov-chain debate does likewise."""

from redargue.methods.baselines.sceptical_queries import small_models as small_models
from redargue.methods.baselines.sceptical_queries.tasks import WriteScepticalQueries as WriteScepticalQueries
