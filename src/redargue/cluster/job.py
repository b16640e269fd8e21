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
MOST_CONCURRENT = 10_000


def _variable(option: str) -> str:
    return f"REDARGUE_{option.upper()}"


def _text(value: object) -> str:
    """The value of an option as its environment variable has it."""
    return " ".join(value) if isinstance(value, tuple) else str(value or "")


class WorkerJob(Frozen):
    """The job of every worker of a batch."""

    spec: RunSpec  # configuration without addresses that contain a key
    withheld: tuple[str, ...] = ()  # environment variables with those addresses
    rates: dict[str, Rate] = Field(default_factory=dict)
    concurrency: int = Field(ge=1, le=MOST_CONCURRENT)  # claims at the same time

    def reaches(self) -> dict[str, str]:
        """What the configuration starts, contacts, reads or writes, by the variable that allows it to a worker."""
        spec = self.spec
        texts = {name: _text(getattr(spec, name)) for name in REACHING}
        texts["backend"] = spec.backend if spec.backend == "transformers" else ""  # it may download a model
        return {_variable(name): text for name, text in texts.items() if text and text != _STARTER}

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
        addresses = {_variable(name): name for name in ADDRESSES}
        for variable in self.withheld:
            if variable not in addresses:
                raise UsageError(f"the ledger asks for {variable!r}, which is not an address", hint="start it again")
            if not (value := environment.get(variable)):
                raise UsageError(f"the batch needs {variable}, which contains a key", hint="set it on every machine")
            name = addresses[variable]
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
        value, url_secrets = _text(getattr(spec, name)), Secrets()
        parts = value.split()
        if name == "mcp":  # without NAME=
            parts = [part.partition("=")[2] if "=" in part.partition("://")[0] else part for part in parts]
        for part in parts:
            url_secrets.add_url(part)
        if secrets.hide(value) != value or url_secrets.hide(value) != value or any(map(has_credentials, parts)):
            withheld[_variable(name)] = value
    update = {
        **{name: () if name == "mcp" else "" for name in ADDRESSES if _variable(name) in withheld},
        "settings": verifier.method.settings.model_dump(mode="json"),
        "tools": None,  # the settings name them
        "prompts": spec.prompts if not spec.prompts or is_printed(spec.prompts) else spec.prompts.absolute(),
        "prices": spec.prices and spec.prices.absolute(),
    }
    names, stored = tuple(sorted(withheld)), spec.model_copy(update=update)
    job = WorkerJob(spec=stored, withheld=names, rates=limiter().rates, concurrency=concurrency)
    text = job.model_dump_json()
    if secrets.hide(text) != text:
        what = "an option contains a key, and the ledger stores the options"
        raise UsageError(what, hint="set it as an environment variable")
    return job, job.reaches() | withheld
