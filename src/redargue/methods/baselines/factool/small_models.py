"""The embedded backend's roles in methods that search in turns and call a claim true or false.

Queries are made of the claim's own words, its parts, and names that evidence brings in; what is called true or false
is the likelier side of what was read. Where nothing was read there is no side.
"""

from __future__ import annotations

from redargue.methods.baselines.factool.prompts import Queries, WriteScepticalQueries
from redargue.methods.baselines.small_models import untried
from redargue.nli.backend import EmbeddedBackend, play


@play.register
def _write_sceptical_queries(task: WriteScepticalQueries, mind: EmbeddedBackend) -> Queries:
    """The claim, and its telling words alone."""
    return Queries(queries=tuple(untried(task.claim.text, (), ()))[: task.count])
