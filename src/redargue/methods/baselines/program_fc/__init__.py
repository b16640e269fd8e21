"""ProgramFC (Pan et al., arXiv 2305.12744)."""

from redargue.methods.baselines.program_fc import small_models as small_models
from redargue.methods.baselines.program_fc.method import ProgramFC as ProgramFC
