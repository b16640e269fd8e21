"""Runs the systems of published tables, once for all tables, in one bench folder per data set.

Texts are taken apart into claims, which systems verify one by one (Dual-Position Debate, §4.1). A summary's claim has
the ten most similar sentences of the document as evidence, a dialogue's claim the data set's knowledge and the
conversation. Every claim has its text's gold label, so only scores of whole texts are meaningful.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from redargue.assembly import Parts, method_of
from redargue.bench.compare import compare, write_results
from redargue.bench.datasets import Example, load
from redargue.bench.harness import Bench, ClaimOutcome
from redargue.bench.system import READS, System
from redargue.bench.tables import Paper, PublishedCell, PublishedRow, PublishedTable, TableDataset, read_cell
from redargue.claims import Claim
from redargue.errors import BadReply, RecordError, UnsupportedTask, UsageError
from redargue.evidence import Passage
from redargue.files import home, make_folder, open_to_write, replacing, sha256_of
from redargue.nli.session import Embedder, shared
from redargue.retrieval.corpus.documents import OVERLAP, SIZE, Document, dataset_documents
from redargue.retrieval.corpus.index import open_corpus
from redargue.retrieval.corpus.ingest import read_documents
from redargue.retrieval.tools.corpus import FixedPassages
from redargue.run import Run
from redargue.sanitize import counted
from redargue.spec import RunSpec
from redargue.text.extract import extract
from redargue.text.segment import Kind, Text
from redargue.text.verification import nearest_sentences
from redargue.verifier import Verifier


class CorpusFile(NamedTuple):
    """A file of documents: a data set's, or one that ``redargue corpus add`` reads where ``dataset`` is empty."""

    path: Path
    dataset: str = ""

    def documents(self) -> Iterator[Document]:
        if self.dataset:
            return dataset_documents(self.dataset, self.path)
        return (document for document in read_documents(self.path) if isinstance(document, Document))


def indexed_corpus(name: str, files: Sequence[CorpusFile], tell: Callable[[str], None]) -> Path:
    """The index of these files in redargue's home; made if no bench has searched files of this content before.

    It is named after their content. An interrupted index, kept under another name until it is complete, is resumed.
    """
    content = [[sha256_of(file.path), file.dataset] for file in files]
    described = json.dumps([content, Embedder.name, SIZE, OVERLAP])
    digest = hashlib.sha256(described.encode()).hexdigest()
    path = home() / "bench-corpora" / f"{name}-{digest[:12]}.db"
    if path.exists():
        return path
    make_folder(path.parent)
    unfinished = path.with_suffix(".new")
    tell(f"indexing the corpus {name!r} in {path}, once: some minutes")
    with open_corpus(unfinished, write=True) as corpus:
        for file in files:
            corpus.add(file.documents())
    unfinished.replace(path)
    return path


_CLAIMS = "claims.jsonl"
SEARCHED = ("corpus", "keywords")  # tools that need a corpus

Watch = Callable[[str, int], AbstractContextManager[Callable[[int, ClaimOutcome], None]]]


@dataclass(frozen=True, kw_only=True)
class TableChoice:
    """The user's choices for a table."""

    out: Path
    data: Path | None = None  # with the paths of the papers' TOML files
    limit: int = 0  # maximum number of claims per data set; 0 for the data set's default
    half: str = "even"
    take: str = "random"
    sets: tuple[str, ...] = ()  # the columns to run; empty for all
    tools: Mapping[str, str] = field(default_factory=dict)  # by ``rag`` and ``search``
    paths: Mapping[str, Path] = field(default_factory=dict)  # outside of ``data``, by data set
    stores: Mapping[str, str] = field(default_factory=dict)  # to search instead, by data set
    spec: RunSpec = field(default_factory=RunSpec)  # profile, models, budget, seed
    concurrency: int = 2
    memory_from: str = ""  # model whose runs provide the memories; empty for the same

    def check(self, papers: Iterable[Paper]) -> None:
        """Refuses data sets that none of the papers has."""
        known = list(dict.fromkeys(name for paper in papers for name in paper.sets))
        for name in (*self.sets, *self.paths, *self.stores):
            if name not in known:
                raise UsageError(f"no data set {name!r} in these tables", hint=f"known: {', '.join(known)}")


def folder_of(model: str) -> str:
    """The name of the folder of a model's runs; empty is the embedded backend."""
    return re.sub(r"[^a-z0-9.]+", "-", (model or "embedded").lower()).strip("-") or "model"


class Runner:
    """The cells of a paper's tables; ``watch`` shows a system's progress, ``tell`` reports other slow steps."""

    def __init__(self, paper: Paper, choice: TableChoice, watch: Watch, tell: Callable[[str], None]) -> None:
        self.paper, self.choice, self._watch, self._tell = paper, choice, watch, tell
        # By data set and system; refused: the backend cannot perform its tasks, or the debate it reads did not finish.
        self.cells: dict[tuple[str, str], PublishedCell] = {}
        self.refused: dict[tuple[str, str], str] = {}

    def columns(self, table: PublishedTable) -> tuple[str, ...]:
        return tuple(name for name in table.sets if not self.choice.sets or name in self.choice.sets)

    def lacking(self, name: str) -> str:
        """Why a data set cannot be run; empty if it can."""
        chosen = self.paper.sets[name]
        if self._path(name) is None:
            return f"no file {chosen.path!r}: use --data DIR, or --path {name}=FILE"
        for file in chosen.files.values():
            if self._file(file) is None:
                return f"no file {file!r} in the folder --data"
        if set(self.roles(chosen).values()) & set(SEARCHED) and name not in self.choice.stores:
            if not chosen.corpus:
                return f"nothing to search: --store {name}=CORPUS (and --path {name}=FILE)"
            parts = self.paper.corpora[chosen.corpus].documents
            missing = [part.path for part in parts if self._file(part.path) is None]
            if missing:
                return f"no file {missing[0]!r} to search: use --data DIR, or --store {name}=CORPUS"
        return ""

    def limit(self, name: str) -> int:
        return self.choice.limit or self.paper.sets[name].limit

    def roles(self, chosen: TableDataset) -> dict[str, str]:
        """The tools of the paper's two agents on a data set."""
        return {"rag": chosen.rag, "search": chosen.search, **self.choice.tools}

    @property
    def words(self) -> dict[str, str]:
        """Template fields of all rows: the profile, and whose prompts it uses."""
        profile = self.choice.spec.profile
        return {"profile": profile, "words": "hardened" if profile == "hardened" else "paper"}

    def spec(self, template: str, chosen: TableDataset) -> str:
        if READS in template:  # the other system as its own row has it
            return READS.join(self.spec(part, chosen) for part in template.split(READS))
        words = {**self.words, **self.roles(chosen), "kind": chosen.kind}
        if self.choice.spec.mcp and template.startswith("mermaid"):
            template = template.replace("tools={rag}", "tools=")  # MERMAID's own tools are those of the servers
        spec = template.format(**words)
        if chosen.settings and "{search}" in template and template.startswith("tool-mad"):
            spec += "," + chosen.settings.format(**words)
        return spec

    def run(self, table: PublishedTable) -> None:
        """Runs the systems of a table that are missing, and reads the others."""
        for name in self.columns(table):
            if self.lacking(name):
                continue
            chosen = self.paper.sets[name]
            templates = [template for line in table.rows for template in required_systems(table, line)]
            specs = dict.fromkeys(self.spec(template, chosen) for template in templates)
            missing = [spec for spec in specs if (name, spec) not in {**self.cells, **self.refused}]
            memory_owners = {
                self.spec(line.method, chosen): System.parse(self.spec(line.memory_of, chosen))
                for line in table.rows
                if line.memory_of
            }
            whole = {self.spec(line.method, chosen) for line in table.rows if line.whole}
            for of_whole in (False, True):
                if systems := [System.parse(spec) for spec in missing if (spec in whole) == of_whole]:
                    self._run(name, systems, memory_owners, whole=of_whole or not chosen.claims_of)

    def _run(
        self, name: str, systems: Sequence[System], memory_owners: Mapping[str, System], *, whole: bool = True
    ) -> None:
        chosen, choice = self.paper.sets[name], self.choice
        path = self._path(name)
        assert path is not None
        options = {**chosen.options, **{option: str(self._file(file)) for option, file in chosen.files.items()}}
        limit, take, half, seed = self.limit(name), choice.take, choice.half, choice.spec.seed
        loaded = load(chosen.dataset, path, limit=limit, take=take, half=half, seed=seed, options=options)
        # Two papers may mean different files by one name.
        known = name if name == chosen.dataset else f"{name}-{chosen.dataset}"
        place = f"{known}-{half}-{limit}-{take}-{seed}" + ("" if whole else "-claims")
        folder = choice.out / folder_of(choice.spec.model) / place
        spec = choice.spec.updated(store=self._store(name, systems))
        examples, sample = loaded.examples, loaded.sample.model_dump(mode="json")
        if chosen.claims_of and not whole:
            examples = claims_of_texts(examples, chosen.claims_of, spec, folder / _CLAIMS, self._tell)
            sample["claims_of"] = chosen.claims_of
        bench = Bench(folder, examples, systems, sample=sample, spec=spec)
        for system in systems:
            if owner := memory_owners.get(system.spec):
                bench.lend(choice.out / folder_of(choice.memory_from or choice.spec.model) / place, owner, system)
            try:
                with self._watch(f"{chosen.title}, {system.spec}", len(bench.examples)) as on_outcome:
                    asyncio.run(bench.run(system, concurrency=choice.concurrency, on_outcome=on_outcome))
            except UnsupportedTask:  # without a language model, the row has no figures
                self.refused[name, system.spec] = "needs a language model: --model"
            except RecordError as error:
                if not system.reads:
                    raise
                self.refused[name, system.spec] = " ".join(str(error).split())
            else:
                self.cells[name, system.spec] = read_cell(bench, system)
        try:
            write_results(compare(bench), folder)
        except (RecordError, UsageError) as error:  # no system has finished, or a source changed
            self._tell(f"{str(folder)!r} has no new results: {error.what}")

    def _store(self, name: str, systems: Sequence[System]) -> str | None:
        if name in self.choice.stores:
            return self.choice.stores[name]
        if not {tool for system in systems for tool in system.tools} & set(SEARCHED):
            return None
        corpus = self.paper.sets[name].corpus
        parts = self.paper.corpora[corpus].documents
        files = [CorpusFile(path, part.dataset) for part in parts if (path := self._file(part.path))]
        return str(indexed_corpus(corpus, files, self._tell))

    def _path(self, name: str) -> Path | None:
        return self.choice.paths.get(name) or self._file(self.paper.sets[name].path)

    def _file(self, place: str) -> Path | None:
        if self.choice.data is None:
            return None
        return next((path for end in ("", ".gz") if (path := self.choice.data / f"{place}{end}").is_file()), None)


def required_systems(table: PublishedTable, line: PublishedRow) -> tuple[str, ...]:
    """Templates of a row's system and of the one that a gain is over; empty if redargue has no such method."""
    method = line.method or table.method
    return tuple(filter(None, (method, line.against))) if method else ()


def claims_of_texts(
    examples: Sequence[Example], kind: Kind, spec: RunSpec, path: Path, tell: Callable[[str], None]
) -> tuple[Example, ...]:
    """The claims of all texts, each with its text's id as ``response``.

    A text from which no claim can be taken is verified whole, as one claim. The file ``path`` keeps the claims, a line
    per text, so that a resumed bench has the same ones.
    """
    known = _read(path)
    if missing := [example for example in examples if example.id not in known]:
        tell(f"taking the claims out of {counted(len(missing), 'text')}")
        make_folder(path.parent)
        with replacing(path) as file:  # without a line that was cut off
            file.write("".join(map(_line, known.items())).encode())
        known |= asyncio.run(_extracted(missing, kind, spec, path))
    return tuple(claim for example in examples for claim in _examples(example, kind, known[example.id]))


def _read(path: Path) -> dict[str, list[str]]:
    if not path.exists():
        return {}
    rows = path.read_text(encoding="utf-8").split("\n")[:-1]  # the last may be cut off
    return {row["text"]: row["claims"] for row in map(json.loads, rows)}


def _line(row: tuple[str, list[str]]) -> str:
    text, claims = row
    return json.dumps({"text": text, "claims": claims}, ensure_ascii=False) + "\n"


async def _extracted(examples: Sequence[Example], kind: Kind, spec: RunSpec, path: Path) -> dict[str, list[str]]:
    claims: dict[str, list[str]] = {}
    unused = Parts(evidence={name: FixedPassages(()) for name in method_of(spec).tools()})
    with Verifier(spec, parts=unused) as verifier, open_to_write(path, append=True) as lines:
        async with verifier.transport:
            for example in examples:
                context = example.claim.context if kind == "dialogue" else ""
                text = Text(text=example.claim.text, kind=kind, context=context)
                run = Run(
                    verifier.backend,
                    seed=spec.seed,
                    budget=verifier.budget,
                    models=spec.models,
                    priced=verifier.priced,
                )
                try:
                    extraction = await extract(text, run, profile=verifier.method.settings.profile)
                    found = [located.claim for located in extraction.claims]
                except BadReply:
                    found = []
                claims[example.id] = found
                lines.write(_line((example.id, found)).encode())
                lines.flush()
    return claims


def _examples(example: Example, kind: Kind, claims: Sequence[str]) -> list[Example]:
    if not claims:
        return [example.model_copy(update={"response": example.id})]
    context = example.claim.context if kind == "dialogue" else ""
    if kind == "summary":
        passages = nearest_sentences(claims, example.passages, shared())
    else:
        conversation = (Passage(text=context, title="The conversation"),) if context else ()
        passages = [(*example.passages, *conversation)] * len(claims)
    return [
        example.model_copy(
            update={
                "id": f"{example.id}.{number}",
                "claim": Claim(text=text, context=context, labels=example.claim.labels),
                "passages": read,
                "response": example.id,
            }
        )
        for number, (text, read) in enumerate(zip(claims, passages, strict=True), 1)
    ]
