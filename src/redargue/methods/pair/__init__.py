"""Pair: two opposed readers, and a debate only where they differ."""

from redargue.methods.pair.method import Pair as Pair
