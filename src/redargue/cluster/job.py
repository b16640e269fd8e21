"""The job that workers read from the ledger: the configuration of the batch, and the limits that all workers share."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, ValidationError

from redargue.claims import Frozen
from redargue.config import RunConfig
from redargue.errors import UsageError
from redargue.net.rate_limit import Rate


class WorkerJob(Frozen):
    """The job of every worker of a batch.

    Attributes:
        config: configuration without addresses that contain a key.
        withheld: environment variables with those addresses.
        concurrency: number of claims that a worker verifies at the same time.
    """

    config: RunConfig
    withheld: tuple[str, ...] = ()
    rates: dict[str, Rate] = Field(default_factory=dict)
    concurrency: int = Field(ge=1)

    def with_environment(self, environment: Mapping[str, str]) -> RunConfig:
        """The configuration with the addresses from the environment; raises UsageError if one is not set."""
        values = dict(self.config)
        for variable in self.withheld:
            if not (value := environment.get(variable)):
                raise UsageError(f"the batch needs {variable}, which contains a key", hint="set it on every machine")
            name = variable.removeprefix("REDARGUE_").lower()
            values[name] = tuple(value.split()) if name == "mcp" else value
        return RunConfig(**values)


def read_job(spec: Mapping[str, object]) -> WorkerJob:
    """Reads a job from the ledger; raises UsageError if another version of redargue wrote it."""
    try:
        return WorkerJob.model_validate(spec)
    except (ValidationError, UsageError) as error:
        raise UsageError(
            "this batch was started by another version of redargue", hint="install the same version on every machine"
        ) from error
