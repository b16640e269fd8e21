"""Self-Ask (Press et al., arXiv 2210.03350)."""

from redargue.methods.baselines.self_ask import small_models as small_models
from redargue.methods.baselines.self_ask.method import SelfAsk as SelfAsk
