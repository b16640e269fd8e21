"""What a worker reads in the ledger before it begins: the configuration of the batch, and the limits of all workers."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, ValidationError

from redargue.claims import Frozen
from redargue.config import RunConfig
from redargue.errors import UsageError
from redargue.net.rate_limit import Rate


class WorkerJob(Frozen):
    """The work of every worker of a batch.

    Attributes:
        config: of the run, without addresses that hold a key.
        withheld: variables of the environment that hold these addresses.
        rates: limits of the services, shared by all workers.
        concurrency: number of claims that a worker verifies at the same time.
    """

    config: RunConfig
    withheld: tuple[str, ...] = ()
    rates: dict[str, Rate] = Field(default_factory=dict)
    concurrency: int = Field(ge=1)

    def completed(self, environment: Mapping[str, str]) -> RunConfig:
        """The configuration with what a machine's environment holds.

        Raises:
            UsageError: a variable is missing.
        """
        values = dict(self.config)
        for variable in self.withheld:
            if not (value := environment.get(variable)):
                raise UsageError(f"the batch needs {variable}, which holds a key", hint="set it on every machine")
            name = variable.removeprefix("REDARGUE_").lower()
            values[name] = tuple(value.split()) if name == "mcp" else value
        return RunConfig(**values)


def read_job(spec: Mapping[str, object]) -> WorkerJob:
    """The job as a ledger holds it.

    Raises:
        UsageError: another version of redargue wrote it.
    """
    try:
        return WorkerJob.model_validate(spec)
    except (ValidationError, UsageError) as error:
        raise UsageError(
            "this batch was begun by another version of redargue", hint="give every machine the same redargue"
        ) from error
