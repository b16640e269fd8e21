"""Multi-agent debate (Du et al., arXiv 2305.14325)."""

from redargue.methods.baselines.multi_agent_debate.method import MultiAgentDebate as MultiAgentDebate
