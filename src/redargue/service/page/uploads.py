"""Files that a visitor uploads: their names are words to show, and never paths."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from redargue.errors import UnreadableFile, problem_of
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.ingest import file_types, read_file
from redargue.sanitize import shortened
from redargue.service.requests import CONTEXT_LENGTH, CONTEXTS, TEXT_LENGTH, ContextDocument

LARGEST_FILE = 32_000_000  # bytes
MOST_FILES = 200
_IN_PARTS, _IN_A_CORPUS = "check it in parts", "add it to a corpus: redargue corpus add FILE"
_NAME = 120  # characters of a file's name that are shown


class Uploads(NamedTuple):
    """What was read of a form's files.

    Attributes:
        documents: the only evidence; those that an earlier form kept come first.
        article: the text to check; empty without one.
        name: of the article's file.
        problems: a line for each file that cannot be used.
    """

    documents: tuple[ContextDocument, ...] = ()
    article: str = ""
    name: str = ""
    problems: tuple[str, ...] = ()


def read_uploads(form: FormData) -> Uploads:
    """Reads the files of a form; those that cannot be read are named, and the others are kept."""
    documents, problems = _kept(form.getlist("keep")), []
    for upload in _files(form.getlist("files")):
        for found in _documents(upload):
            if isinstance(found, str):
                problems.append(found)
            else:
                documents.append(found)
    if len(documents) > CONTEXTS:
        problems.append(
            f"{len(documents)} documents are more than {CONTEXTS}: add them to a corpus (redargue corpus add FOLDER)"
        )
        documents = documents[:CONTEXTS]
    article = name = ""
    for upload in _files(form.getlist("article"))[:1]:
        first, *more = _documents(upload, instead=_IN_PARTS)
        if isinstance(first, str):
            problems.append(first)
        elif more:
            problems.append(f"{_name(upload)}: {1 + len(more)} documents in one file are not one text")
        elif len(first.text) > TEXT_LENGTH:
            problems.append(f"{_name(upload)}: more than {TEXT_LENGTH:,} characters; {_IN_PARTS}")
        else:
            article, name = first.text, _name(upload)
    return Uploads(tuple(documents), article, name, tuple(problems))


def _files(values: Iterable[object]) -> list[UploadFile]:
    """The files that were chosen; hidden ones of a folder are left out, as from a folder on disk."""
    chosen = [each for each in values if isinstance(each, UploadFile) and each.filename]
    return [each for each in chosen if not _last(each).startswith(".")]


def _last(upload: UploadFile) -> str:
    return (upload.filename or "").replace("\\", "/").rpartition("/")[2]


def _name(upload: UploadFile) -> str:
    return shortened(_last(upload), _NAME)


def _documents(upload: UploadFile, *, instead: str = _IN_A_CORPUS) -> Iterator[ContextDocument | str]:
    """The documents of one file, and a line for each part that cannot be used; ``instead``: of what is too large."""
    name, dot, suffix = _name(upload), *_last(upload).lower().rpartition(".")[1:]
    if not dot or f".{suffix}" not in file_types():
        yield f"{name}: its type is not read; supported: {' '.join(file_types())}"
        return
    if (upload.size or 0) > LARGEST_FILE:
        yield f"{name}: larger than {LARGEST_FILE // 10**6} MB; {instead}"
        return
    with TemporaryDirectory(prefix="redargue-") as folder:
        path = Path(folder) / f"upload.{suffix}"  # the suffix is one of a closed list
        with path.open("wb") as file:
            shutil.copyfileobj(upload.file, file)
        for found in read_file(path):
            yield _document(found, name, instead) if isinstance(found, Document) else _problem(found, name, path)


def _document(found: Document, name: str, instead: str) -> ContextDocument | str:
    if len(found.text) > CONTEXT_LENGTH:
        return f"{name}: more than {CONTEXT_LENGTH:,} characters; {instead}"
    title = f"{shortened(found.title, 300)} – {name}" if found.title.strip() else name
    try:
        return ContextDocument(text=found.text, title=title, url=found.url)
    except ValidationError as error:
        return f"{name}: {problem_of(error)}"


def _problem(error: UnreadableFile, name: str, path: Path) -> str:
    line = error.where.removeprefix(str(path)).removeprefix(":")
    what = f"{error.what.replace(str(path), name)}{f' (line {line})' if line.isdigit() else ''}"
    return f"{name}: {what}" + (f"; {error.hint}" if error.hint else "")


def _kept(values: Iterable[object]) -> list[ContextDocument]:
    """Documents that an earlier form had read; raises ValidationError for what is none."""
    return [ContextDocument.model_validate_json(value) for value in values if isinstance(value, str)]
