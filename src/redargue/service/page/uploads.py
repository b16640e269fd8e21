"""Files that a visitor uploads: their names are words to show, and never paths."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData, UploadFile

from redargue.errors import UnreadableFile, problem_of
from redargue.evidence import UnreadFile, distinct_names
from redargue.registry import install
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.ingest import file_types, read_file
from redargue.sanitize import shortened
from redargue.service.rules import CONTEXT_LENGTH, CONTEXTS, TEXT_LENGTH, ContextDocument

LARGEST_FILE = 32_000_000  # bytes
MOST_FILES = 200
_IN_PARTS, _IN_A_CORPUS = "check it in parts", "add it to a corpus: redargue corpus add FILE"
_Model = TypeVar("_Model", bound=BaseModel)
_NAME = 120  # characters of a file's name that are shown
_SHOWN = 5  # unread parts of one file that are named


class Uploads(NamedTuple):
    """What was read of a form's files.

    Attributes:
        documents: the only evidence; those that an earlier form kept come first.
        article: the text to check; empty without one.
        name: of the article's file.
        problems: a line for each file that cannot be used.
        unread_files: those of them that were given as sources, with those that an earlier form named.
    """

    documents: tuple[ContextDocument, ...] = ()
    article: str = ""
    name: str = ""
    problems: tuple[str, ...] = ()
    unread_files: tuple[UnreadFile, ...] = ()


class _Refused(NamedTuple):
    """A file, or a part of one, that cannot be used."""

    file: str
    why: str
    hint: str = ""

    @property
    def line(self) -> str:
        return f"{self.file}: {self.why}" + (f"; {self.hint}" if self.hint else "")


def read_uploads(form: FormData) -> Uploads:
    """Reads the files of a form; those that cannot be read are named, and the others are kept."""
    documents, problems = _kept(ContextDocument, form.getlist("keep")), list[str]()
    files = _files(form.getlist("files"))
    unread = _without(_kept(UnreadFile, form.getlist("unread")), map(_name, files))
    for upload in files:
        found = list(_documents(upload))
        documents += (each for each in found if not isinstance(each, _Refused))
        if refused := [each for each in found if isinstance(each, _Refused)]:
            problems += (each.line for each in refused)
            unread.append(_unread(refused))
    if len(documents) > CONTEXTS:
        why = f"{len(documents)} documents are more than {CONTEXTS}"
        problems.append(f"{why}: add them to a corpus (redargue corpus add FOLDER)")
        left_out = dict.fromkeys(each.document for each in documents[CONTEXTS:])
        unread += [UnreadFile(file=name, why=why) for name in left_out]
        documents = documents[:CONTEXTS]
    names = distinct_names((each.document, each.text) for each in documents)
    documents = [each.model_copy(update={"document": name}) for each, name in zip(documents, names, strict=True)]
    article, name, of_article = _article(form)
    return Uploads(tuple(documents), article, name, (*problems, *of_article), tuple(unread))


def _unread(refused: Sequence[_Refused]) -> UnreadFile:
    """A file of which some parts, or all of it, cannot be used."""
    shown, more = [each.why for each in refused[:_SHOWN]], len(refused) - _SHOWN
    return UnreadFile(file=refused[0].file, why="; ".join([*shown, *([f"and {more:,} more"] if more > 0 else [])]))


def _without(unread: list[UnreadFile], given: Iterable[str]) -> list[UnreadFile]:
    """The unread files of an earlier form without those that are given again: one for each name."""
    again = Counter(given)
    rest = []
    for each in unread:
        again[each.file] -= 1
        if again[each.file] < 0:
            rest.append(each)
    return rest


def _article(form: FormData) -> tuple[str, str, list[str]]:
    """The text to check, its file's name, and why it cannot be used."""
    article, name, problems = "", "", []
    for upload in _files(form.getlist("article"))[:1]:
        first, *more = _documents(upload, instead=_IN_PARTS, whole=True)
        if _last(upload).lower().endswith(".eml"):  # a picture attached to a letter does not count as a text
            more = [each for each in more if not isinstance(each, _Refused)]
        if isinstance(first, _Refused):
            problems.append(first.line)
        elif more:
            problems.append(f"{_name(upload)}: {1 + len(more)} documents in one file are not one text")
        elif len(first.text) > TEXT_LENGTH:
            problems.append(f"{_name(upload)}: more than {TEXT_LENGTH:,} characters; {_IN_PARTS}")
        else:
            article, name = first.text, _name(upload)
    return article, name, problems


def _files(values: Iterable[object]) -> list[UploadFile]:
    """The files that were chosen; hidden ones of a folder are left out, as from a folder on disk."""
    chosen = [each for each in values if isinstance(each, UploadFile) and each.filename]
    return [each for each in chosen if not _last(each).startswith(".") or _last(each) == each.filename]


def _last(upload: UploadFile) -> str:
    return (upload.filename or "").replace("\\", "/").rpartition("/")[2]


def _name(upload: UploadFile) -> str:
    return shortened(_last(upload), _NAME)


def _documents(
    upload: UploadFile, *, instead: str = _IN_A_CORPUS, whole: bool = False
) -> Iterator[ContextDocument | _Refused]:
    """The documents of one file, and the parts of it that cannot be used.

    Args:
        upload: the file.
        instead: what to do with a file that is too large.
        whole: whether all of an HTML page is read, as of a text to be checked.
    """
    name, dot, suffix = _name(upload), *_last(upload).lower().rpartition(".")[1:]
    if not dot or f".{suffix}" not in file_types():
        yield _Refused(name, "its type is not read", f"supported: {' '.join(file_types())}")
        return
    if (upload.size or 0) > LARGEST_FILE:
        yield _Refused(name, f"larger than {LARGEST_FILE // 10**6} MB", instead)
        return
    with TemporaryDirectory(prefix="redargue-") as folder:
        path = Path(folder) / f"upload.{suffix}"  # the suffix is one of a closed list
        with path.open("wb") as file:
            shutil.copyfileobj(upload.file, file)
        for found in read_file(path, whole=whole):
            if isinstance(found, Document):
                attached = found.id.removeprefix(str(path)) if found.id.startswith(f"{path}#") else ""
                yield _document(found, name, attached, instead)
            else:
                yield _problem(found, name, path)


def _document(found: Document, name: str, attached: str, instead: str) -> ContextDocument | _Refused:
    """A document of a file; ``attached`` is empty, or the number and name of an e-mail's attachment."""
    if len(found.text) > CONTEXT_LENGTH:
        return _Refused(name, f"more than {CONTEXT_LENGTH:,} characters", instead)
    title, document = shortened(found.title, 300), name + shortened(attached, _NAME)
    try:
        return ContextDocument(
            title=title, document=document, **found.model_dump(include={"text", "url", "publisher", "published"})
        )
    except ValidationError as error:
        return _Refused(name, problem_of(error))


def _problem(error: UnreadableFile, name: str, path: Path) -> _Refused:
    line = error.where.removeprefix(str(path)).removeprefix(":")
    inside = f" (line {line})" if line.isdigit() else f" (attachment {line[1:]})" if line.startswith("#") else ""
    what = f"{error.what.replace(str(path), name)}{inside}"
    missing = error.hint == install("documents")  # which may name a folder of this machine
    return _Refused(name, what, "install redargue[documents] where the service runs" if missing else error.hint)


def _kept(model: type[_Model], values: Iterable[object]) -> list[_Model]:
    """What an earlier form had read, or could not read; raises ValidationError for other values."""
    return [model.model_validate_json(value) for value in values if isinstance(value, str)]
