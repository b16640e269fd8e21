"""ReConcile (Chen et al., arXiv 2309.13007)."""

from redargue.methods.baselines.reconcile.method import Reconcile as Reconcile
