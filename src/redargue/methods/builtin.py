"""Methods that redargue ships: one line each; removing a method's folder and its line removes the method."""

from __future__ import annotations

METHODS = {
    "tool-mad": "redargue.methods.tool_mad:ToolMad",
    "mermaid": "redargue.methods.mermaid:Mermaid",
    "dual-position": "redargue.methods.dual_position:DualPosition",
    "cascade": "redargue.methods.cascade:Cascade",
    "pair": "redargue.methods.pair:Pair",
    "one-pass": "redargue.methods.one_pass:OnePass",
    "single-reader": "redargue.methods.single_reader:SingleReader",
}
