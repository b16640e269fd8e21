"""Methods that redargue ships: one line each; removing a method's folder and its line removes the method."""

from __future__ import annotations

METHODS = {
    "tool-mad": "redargue.methods.tool_mad:ToolMad",
    "mermaid": "redargue.methods.mermaid:Mermaid",
    "dual-position": "redargue.methods.dual_position:DualPosition",
    "markov-debate": "redargue.methods.markov_debate:MarkovDebate",
    "cascade": "redargue.methods.cascade:Cascade",
    "single-reader": "redargue.methods.baselines.single_reader:SingleReader",
    "best-of-n": "redargue.methods.baselines.best_of_n:BestOfN",
    "cfmad": "redargue.methods.baselines.cfmad:Cfmad",
    "factcheck-gpt": "redargue.methods.baselines.factcheck_gpt:FactcheckGpt",
    "factool": "redargue.methods.baselines.factool:FacTool",
    "fire": "redargue.methods.baselines.fire:Fire",
    "folk": "redargue.methods.baselines.folk:Folk",
    "halueval-few-shot": "redargue.methods.baselines.halueval_few_shot:HaluEvalFewShot",
    "mad": "redargue.methods.baselines.mad:Mad",
    "madke": "redargue.methods.baselines.madke:Madke",
    "multi-agent-debate": "redargue.methods.baselines.multi_agent_debate:MultiAgentDebate",
    "nli": "redargue.methods.baselines.nli:Nli",
    "no-search": "redargue.methods.baselines.closed_book:NoSearch",
    "program-fc": "redargue.methods.baselines.program_fc:ProgramFC",
    "react": "redargue.methods.baselines.react:React",
    "reconcile": "redargue.methods.baselines.reconcile:Reconcile",
    "safe": "redargue.methods.baselines.safe:Safe",
    "self-ask": "redargue.methods.baselines.self_ask:SelfAsk",
    "self-check": "redargue.methods.baselines.closed_book:SelfCheckMethod",
    "self-consistency": "redargue.methods.baselines.self_consistency:SelfConsistency",
    "zero-shot": "redargue.methods.baselines.closed_book:ZeroShot",
    "zero-shot-cot": "redargue.methods.baselines.closed_book:ZeroShotCot",
}
