"""Errors of an extension's own code end its claim, by name, and no other claim."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import redargue
from redargue.assembly import Parts
from redargue.backends import PAPER_STABILITY, Output, Reply, backends
from redargue.backends.scripted import ScriptedBackend
from redargue.errors import ProviderError, UsageError
from redargue.memory.memory import memory_stores, open_memory
from redargue.methods import FROM_SETTINGS, Agent, Method, SearchSettings
from redargue.net.services import require_local
from redargue.registry import ExtensionError, Registry
from redargue.reports.folders import kind_of, kinds
from redargue.reports.render import render
from redargue.retrieval.corpus import stores
from redargue.retrieval.corpus.documents import dataset_documents, readers
from redargue.retrieval.corpus.index import open_corpus
from redargue.retrieval.tools import Search, Sources, made_tool, tools
from redargue.spec import RunSpec
from redargue.tasks import Answer, AnswerClaim
from redargue.verifier import Verifier

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("own_registrations")]
CLAIMS = [redargue.Claim(text="Denver is the capital of Colorado."), redargue.Claim(text="Lyon is in France.")]


class Shelf:
    """Answers with what it was given; fails for claims about Denver."""

    name: ClassVar[str] = "shelf"
    about: ClassVar[str] = "a shelf"
    online: ClassVar[bool] = False
    revision = "1"

    def __init__(self, answer: Callable[[str], Any]) -> None:
        self._answer = answer

    @classmethod
    def make(cls, sources: Sources) -> Shelf:
        return cls(lambda query: ())

    async def search(self, query: str, k: int, *, search: Search) -> tuple[redargue.Passage, ...]:
        return self._answer(query)  # type: ignore[no-any-return]


def defined(check: Callable[..., Any] | None = None) -> str:
    """Registers a method that searches what its setting names, or runs ``check``."""

    class Own(Method, name="own-method", settings=SearchSettings):
        roles = {"reader": FROM_SETTINGS}
        asks = (AnswerClaim,)

        async def check(self, claim: redargue.Claim, reader: Agent) -> Answer:
            if check:
                return check(claim)  # type: ignore[no-any-return]
            return await reader.perform(AnswerClaim(claim=claim, passages=await reader.search(claim.text)))

    return Own.name


async def verdicts(folder: Path, tool: Any) -> list[redargue.Verdict]:
    spec = RunSpec(method="own-method", settings={"tools": ("shelf",)})
    with Verifier(spec, parts=Parts(evidence={"shelf": tool}), folder=folder, claims=CLAIMS) as verifier:
        return await verifier.verify_all(CLAIMS)


def on_denver(wrong: Callable[[], Any]) -> Callable[[str], Any]:
    right = (redargue.Passage(text="Lyon is in France.", title="Atlas", document="atlas"),)
    return lambda query: wrong() if "Denver" in query else right


def fails() -> Any:
    return dict[str, str]()["place"]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError


def raises(error: type[BaseException]) -> Callable[[], Any]:
    def wrong() -> Any:
        raise error

    return wrong


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (raises(asyncio.CancelledError), "test_extensions', an extension, failed: CancelledError"),
        (raises(SystemExit), "test_extensions', an extension, failed: SystemExit"),
        (raises(Unspeakable), "test_extensions', an extension, failed: Unspeakable"),
        (fails, "test_extensions', an extension, failed: KeyError: 'place'"),
        (lambda: None, "the tool 'shelf' returned None, which is not a list of passages"),
        (lambda: [{"text": "x"}], "the tool 'shelf' returned [{'text': 'x'}], which is not a list of passages"),
    ],
)
async def test_an_error_in_a_tool_ends_its_claim_and_the_others_are_verified(
    wrong: Callable[[], Any], said: str, tmp_path: Path
) -> None:
    defined()
    failed, fine = await verdicts(tmp_path / "run", Shelf(on_denver(wrong)))
    assert failed.error
    assert (failed.error.type, failed.error.exit_code, said in failed.error.what) == ("ExtensionError", 3, True)
    assert (fine.error, fine.label) == (None, "SUPPORTS")


@pytest.mark.parametrize("method", ["tool-mad", "single-reader"])
@pytest.mark.parametrize("error", [asyncio.CancelledError, SystemExit])
async def test_a_tool_that_cancels_or_exits_ends_its_claim_under_any_method(
    error: type[BaseException], method: str
) -> None:
    spec = RunSpec(method=method, tools=("shelf",))
    tool: Any = Shelf(on_denver(raises(error)))
    with Verifier(spec, parts=Parts(evidence={"shelf": tool})) as verifier:
        failed, fine = await verifier.verify_all(CLAIMS)
    assert failed.error
    assert failed.error.type == "ExtensionError"
    assert fine.label == "SUPPORTS"


async def test_a_claim_that_is_cancelled_while_a_tool_works_has_no_verdict() -> None:
    entered = asyncio.Event()

    class Slow(Shelf):
        async def search(self, query: str, k: int, *, search: Search) -> Any:
            entered.set()
            await asyncio.Event().wait()

    defined()
    spec = RunSpec(method="own-method", settings={"tools": ("shelf",)})
    tool: Any = Slow(lambda query: ())
    with Verifier(spec, parts=Parts(evidence={"shelf": tool})) as verifier:
        verifying = asyncio.create_task(verifier.verify(CLAIMS[0]))
        await entered.wait()
        verifying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await verifying


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (lambda claim: fails(), "an extension, failed: KeyError: 'place'"),
        (lambda claim: sys.exit("bad"), "the method 'own-method' of '{module}', an extension, failed: SystemExit: bad"),
        (lambda claim: "SUPPORTS", "check of the method 'own-method' returned 'SUPPORTS', neither an answer"),
    ],
)
async def test_an_error_in_a_method_ends_its_claim_and_is_recorded(
    check: Callable[..., Any], said: str, tmp_path: Path
) -> None:
    defined(check)
    found = await verdicts(tmp_path / "run", Shelf(lambda query: ()))
    said = said.replace("{module}", __name__)
    assert [said in verdict.error.what for verdict in found if verdict.error] == [True, True]
    assert (tmp_path / "run" / "events.jsonl").read_text().count("ExtensionError") == 2


async def test_an_error_of_redargues_own_code_is_not_called_an_extensions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def broken(self: object, claim: redargue.Claim, reader: Agent) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("redargue.methods.single_reader.SingleReader.check", broken)
    with pytest.raises(ZeroDivisionError):
        await redargue.verify("Lyon is in France.", method="single-reader", store="starter")


async def test_a_tool_class_that_makes_no_tool_is_refused_before_any_claim() -> None:
    class Halfway(Shelf):
        name: ClassVar[str] = "halfway"

        @classmethod
        def make(cls, sources: Sources) -> Any:
            return object()

    class Raising(Halfway):
        @classmethod
        def make(cls, sources: Sources) -> Any:
            return fails()

    tools.register("halfway")(Halfway)
    tools.register("raising")(Raising)
    with pytest.raises(
        UsageError, match=r"the tool 'halfway', a 'object' of 'builtins', cannot be searched: it has no 'name'"
    ):
        made_tool("halfway", None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"'raising' of '.*test_extensions' cannot be made: KeyError: 'place'"):
        made_tool("raising", None)  # type: ignore[arg-type]


class WithoutContext(Shelf):
    async def search(self, query: str, k: int) -> Any:  # type: ignore[override]
        return ()


class Waiting(Shelf):
    def search(self, query: str, k: int, *, search: Search) -> Any:
        return ()


class Unbound(Shelf):
    def make(self, sources: Sources) -> Any:  # type: ignore[override]
        return self


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (WithoutContext, "'search' does not take (query, k, *, search)"),
        (Waiting, "'search' is not async"),
        (Unbound, "'make' is not a class method of one argument, the sources"),
    ],
)
async def test_a_tool_whose_methods_cannot_be_called_is_refused_before_any_claim(
    kind: type[Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint("uncallable", f"{__name__}:{kind.__name__}", "redargue.tools")
    monkeypatch.setattr(tools, "_installed", {"uncallable": point})
    assert said in tools.problems()["uncallable"].what  # what doctor shows
    if kind is not Unbound:
        with pytest.raises(UsageError, match=re.escape(said)):
            await redargue.verify(
                "Lyon is in France.",
                method="single-reader",
                settings={"tools": ("shelf",)},
                evidence={"shelf": kind(fails)},
            )


@pytest.mark.parametrize(
    ("revision", "said"),
    [(property(lambda self: fails()), "KeyError: 'place'"), (5, "its 'revision' is 5, not a text")],
)
async def test_a_tool_without_a_readable_revision_is_refused_before_any_claim(revision: Any, said: str) -> None:
    tool: Any = type("Odd", (Shelf,), {"revision": revision, "__module__": __name__})(lambda query: ())
    with pytest.raises(UsageError, match=said):
        Verifier(RunSpec(method="single-reader", tools=("shelf",)), parts=Parts(evidence={"shelf": tool}))


class Wordless(ScriptedBackend):
    """Returns what it was given; its class is this module's, so that it is an extension's."""

    def __init__(self, reply: Any) -> None:
        super().__init__()
        self._reply = reply

    def can(self, task: Any) -> bool:
        return bool(self._reply != "cannot" or fails())

    async def perform(self, task: Any, call: Any) -> Any:
        return self._reply


class Odd(ScriptedBackend):
    """A backend with another value of an attribute."""

    identity: Any = "odd"
    stability: Any = PAPER_STABILITY

    def __init__(self, **attributes: Any) -> None:
        super().__init__()
        vars(self).update(attributes)


TEXT: Any = "x"


@pytest.mark.parametrize("reply", [None, Reply(()), Reply((Output(TEXT),)), Reply((TEXT,))], ids=str)
async def test_a_reply_without_an_answer_ends_its_claim(reply: Any) -> None:
    tool: Any = Shelf(lambda query: (redargue.Passage(text="Lyon is in France.", document="atlas"),))
    parts = Parts(backend=Wordless(reply), evidence={"shelf": tool})
    with Verifier(RunSpec(method="single-reader", tools=("shelf",)), parts=parts) as verifier:
        (verdict,) = await verifier.verify_all(CLAIMS[1:])
    assert verdict.error
    assert (verdict.error.type, "which has no answer to AnswerClaim" in verdict.error.what) == ("ExtensionError", True)


async def test_a_backend_that_cannot_say_what_it_performs_is_an_extensions_error() -> None:
    with pytest.raises(ExtensionError, match="an extension, failed: KeyError: 'place'"):
        Verifier(RunSpec(method="single-reader", store="starter"), parts=Parts(backend=Wordless("cannot")))


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (
            lambda claim: Answer(text="x", label="SUPPORTS", confidence=97),
            "failed: ValidationError: confidence is 97",
        ),
        (lambda claim: Answer(text="x", label="MAYBE"), "check of the method 'own-method' returned 'MAYBE', which is"),
    ],
)
async def test_an_answer_without_a_known_label_or_confidence_ends_its_claim_and_says_whose_it_is(
    check: Callable[..., Any], said: str, tmp_path: Path
) -> None:
    defined(check)
    found = await verdicts(tmp_path / "run", Shelf(lambda query: ()))
    assert [(verdict.label, said in str(verdict.error)) for verdict in found] == [(None, True), (None, True)]


async def test_a_label_that_a_backend_made_up_is_called_the_backends() -> None:
    parts = Parts(backend=Wordless(Reply((Output(Answer(text="x", label="MAYBE")),))))
    with Verifier(RunSpec(method="single-reader", store="starter"), parts=parts) as verifier:
        verdict = await verifier.verify(CLAIMS[0])
    assert verdict.error
    assert verdict.error.what == "the backend 'scripted' returned 'MAYBE', which is not a label of 'fever'"


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: None, "TypeError: it returned None"),
        (lambda: fails(), "the backend 'odd' of '.*test_extensions', an extension, failed: KeyError: 'place'"),
        (lambda key: None, "an extension, failed: TypeError"),
        (lambda: sys.exit(), "an extension, failed: SystemExit"),
        (lambda: object(), "cannot be used: it has no 'name' and no 'identity'"),
        (lambda: Odd(stability=3), "its 'stability' is 3, not a Stability"),
        (lambda: Odd(identity=3), "its 'identity' is 3, not a str"),
        (lambda: Odd(perform=lambda task, call: None), "'perform' is not async"),
    ],
)
def test_a_backend_that_cannot_be_made_is_refused_before_any_claim(made: Any, said: str) -> None:
    backends.register("odd")(made)
    with pytest.raises((UsageError, ExtensionError), match=said):
        Verifier(RunSpec(method="single-reader", backend="odd", store="starter"))


def odd(*given: object, **options: object) -> Any:
    raise SystemExit


@pytest.mark.parametrize(
    ("registry", "entry", "use"),
    [
        (stores, odd, lambda: open_corpus("odd:rivers")),
        (stores, lambda *given, **options: None, lambda: open_corpus("odd:rivers")),
        (memory_stores, odd, lambda: open_memory("odd://rivers")),
        (memory_stores, lambda *given, **options: None, lambda: open_memory("odd://rivers")),
        (readers, odd, lambda: list(dataset_documents("odd", Path(__file__)))),
        (readers, lambda path: [None], lambda: list(dataset_documents("odd", Path(__file__)))),
        (kinds, SimpleNamespace(is_kind=odd), lambda: kind_of(Path())),
        (kinds, SimpleNamespace(is_kind=lambda folder: True, render=odd), lambda: render(Path(), "md")),
    ],
)
def test_an_error_where_an_entry_is_used_names_it(
    registry: Registry[Any], entry: Any, use: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_loaded", {**registry._loaded, "odd": entry})
    monkeypatch.setattr(registry, "_core", {})
    with pytest.raises(ExtensionError, match=f"the {registry.kind} 'odd' of .*, an extension, failed: "):
        use()


def test_offline_opens_a_store_of_another_package_that_says_it_is_on_this_machine() -> None:
    def team(address: str, **options: object) -> None: ...

    stores.register("team")(team)  # type: ignore[arg-type]
    with pytest.raises(ProviderError, match=r"'team:rivers' is not opened: --offline.*\n.*online = False"):
        require_local("team:rivers", what="corpus", stores=stores)
    team.online = False  # type: ignore[attr-defined]
    require_local("team:rivers", what="corpus", stores=stores)
