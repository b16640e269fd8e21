"""HaluEval's detector (Li et al., arXiv 2305.11747)."""

from redargue.methods.baselines.halueval_few_shot.method import HaluEvalFewShot as HaluEvalFewShot
