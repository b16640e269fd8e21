"""FacTool (Chern et al., arXiv 2307.13528)."""

from redargue.methods.baselines.factool.method import FacTool as FacTool
