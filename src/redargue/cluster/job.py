"""The job that workers read from the ledger: the configuration of the batch, and the limits that all workers share."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, ValidationError

from redargue.assembly import is_printed
from redargue.claims import Frozen
from redargue.errors import UsageError
from redargue.methods.strangers import refuse_closed
from redargue.net.secrets import Secrets, display_url, has_credentials
from redargue.net.services import is_offline, limiter
from redargue.net.transport import Rate
from redargue.spec import RunSpec
from redargue.verifier import Verifier

ADDRESSES = ("base_url", "store", "memory", "mcp")  # with a key, they are read from each machine's environment
REACHING = (*ADDRESSES, "prompts", "prices")  # a worker uses them only if its own environment has the same value
_STARTER = "starter"  # the bundled corpus
WITHHELD = frozenset(f"REDARGUE_{name.upper()}" for name in ADDRESSES)
MOST_CONCURRENT = 10_000


class WorkerJob(Frozen):
    """The job of every worker of a batch.

    Attributes:
        spec: configuration without addresses that contain a key.
        withheld: environment variables with those addresses.
        concurrency: number of claims that a worker verifies at the same time.
    """

    spec: RunSpec
    withheld: tuple[str, ...] = ()
    rates: dict[str, Rate] = Field(default_factory=dict)
    concurrency: int = Field(ge=1, le=MOST_CONCURRENT)

    def reaches(self) -> dict[str, str]:
        """What the configuration starts, contacts, reads or writes, by the variable that allows it to a worker."""
        spec = self.spec
        values = {name: getattr(spec, name) for name in REACHING}
        values["backend"] = spec.backend if spec.backend == "transformers" else ""  # it may download a model
        texts = {
            name: " ".join(value) if isinstance(value, tuple) else str(value or "") for name, value in values.items()
        }
        return {f"REDARGUE_{name.upper()}": text for name, text in texts.items() if text and text != _STARTER}

    def with_environment(self, environment: Mapping[str, str]) -> RunSpec:
        """The configuration, if this worker's environment allows what it starts, contacts, reads and writes.

        Whoever can write to the ledger must not decide that. Addresses that contain a key are read from the
        environment. Raises UsageError if a variable is not set, or differs from the ledger's value.
        """
        hint = "start the batch again: its workers get what such a file says"
        refuse_closed(self.spec.method, self.spec.settings, hint=hint, where="the batch's settings")
        for variable, wanted in self.reaches().items():
            allowed = environment.get(variable, "")
            if allowed.split() != wanted.split():
                own = f"is {display_url(allowed)!r} here" if allowed else "is not set here"
                raise UsageError(
                    f"the batch uses {display_url(wanted)!r}, and {variable} {own}",
                    hint=f"if you trust whoever started it, set {variable} to that value on every machine",
                )
        values = dict(self.spec)
        for variable in self.withheld:
            if variable not in WITHHELD:
                raise UsageError(f"the ledger asks for {variable!r}, which is not an address", hint="start it again")
            if not (value := environment.get(variable)):
                raise UsageError(f"the batch needs {variable}, which contains a key", hint="set it on every machine")
            name = variable.removeprefix("REDARGUE_").lower()
            values[name] = tuple(value.split()) if name == "mcp" else value
        if is_offline(environment):
            values["offline"] = True
        return RunSpec(**values)


def read_job(values: Mapping[str, object]) -> WorkerJob:
    """Reads a job from the ledger; raises UsageError if another version of redargue wrote it."""
    try:
        return WorkerJob.model_validate(values)
    except (ValidationError, UsageError) as error:
        raise UsageError(
            "this batch was started by another version of redargue, or its specification was changed",
            hint="install the same version on every machine",
        ) from error


def worker_job(verifier: Verifier, concurrency: int) -> tuple[WorkerJob, dict[str, str]]:
    """The job without keys, and the environment that allows workers what it starts, contacts, reads and writes.

    Raises UsageError if another option contains a key.
    """
    spec, secrets = verifier.spec, Secrets.from_environment()
    withheld: dict[str, str] = {}
    for name in ADDRESSES:
        value = getattr(spec, name) or ""
        value = value if isinstance(value, str) else " ".join(value)
        parts = [
            part.partition("=")[2] if name == "mcp" and "=" in part.partition("://")[0] else part
            for part in value.split()
        ]
        url_secrets = Secrets()
        for part in parts:
            url_secrets.add_url(part)
        if secrets.hide(value) != value or url_secrets.hide(value) != value or any(map(has_credentials, parts)):
            withheld[f"REDARGUE_{name.upper()}"] = value
    settings = verifier.method.settings.model_dump(mode="json")
    job = WorkerJob(
        spec=spec.model_copy(
            update={
                **{name: () if name == "mcp" else "" for name in ADDRESSES if f"REDARGUE_{name.upper()}" in withheld},
                "settings": settings,
                "tools": None,  # the settings name them
                "prompts": spec.prompts if not spec.prompts or is_printed(spec.prompts) else spec.prompts.absolute(),
                "prices": spec.prices and spec.prices.absolute(),
            }
        ),
        withheld=tuple(sorted(withheld)),
        rates=limiter().rates,
        concurrency=concurrency,
    )
    text = job.model_dump_json()
    if secrets.hide(text) != text:
        what = "an option contains a key, and the ledger stores the options"
        raise UsageError(what, hint="set it as an environment variable")
    return job, job.reaches() | withheld
