"""Tool-MAD (Jeong et al., arXiv 2601.04742)."""

from redargue.methods.tool_mad.method import ToolMad as ToolMad
