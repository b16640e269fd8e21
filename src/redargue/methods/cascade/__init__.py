"""Cascade: a small reader, a single reader and a debate, each only where the one before may not decide."""

from redargue.methods.cascade import small_models as small_models
from redargue.methods.cascade.method import Cascade as Cascade
