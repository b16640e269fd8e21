"""Cascade: a small reader, a single reader and a debate, each only where the one before may not decide."""

from redargue.methods.cascade.method import Cascade as Cascade
