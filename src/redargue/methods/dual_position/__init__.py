"""Dual-Position Debate (He and Le, ICIC 2025)."""

from redargue.methods.dual_position import small_models as small_models
from redargue.methods.dual_position.method import DualPosition as DualPosition
