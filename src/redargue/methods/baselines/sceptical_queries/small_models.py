"""How small models write sceptical queries."""

from __future__ import annotations

from redargue.methods.baselines.sceptical_queries.tasks import Queries, WriteScepticalQueries
from redargue.methods.baselines.small_models import new_queries
from redargue.nli.backend import EmbeddedBackend, perform


@perform.register
def _write_sceptical_queries(task: WriteScepticalQueries, backend: EmbeddedBackend) -> Queries:
    return Queries(queries=tuple(new_queries(task.claim.text, (), ()))[: task.count])
