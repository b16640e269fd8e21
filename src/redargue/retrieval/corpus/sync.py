"""Makes a corpus hold what a folder holds: new and changed files enter it, deleted ones leave it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from redargue.claims import Frozen
from redargue.errors import UnreadableFile, UsageError
from redargue.retrieval.corpus.base import Added, Corpus
from redargue.retrieval.corpus.documents import Document
from redargue.retrieval.corpus.ingest import read_documents


class Synced(Frozen):
    """The ids of documents that entered, changed and left.

    Attributes:
        renamed: old and new ids of documents that had been added under their absolute paths.
        kept: documents of files that exist and could not be read; they are as they were.
    """

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    unchanged: int
    kept: tuple[str, ...]
    unreadable: tuple[tuple[str, str], ...]


def sync_folder(
    corpus: Corpus, folder: Path, *, empty: bool = False, progress: Callable[[Added], None] | None = None
) -> Synced:
    """Adds what is new or changed below a folder, then removes the documents whose files or rows are gone.

    Documents of the folder that were added under their absolute paths get their relative ones. Documents from elsewhere
    stay. An interrupted call is completed by the next.

    Args:
        corpus: open for writing.
        folder: ids are the paths of files relative to it, with slashes.
        empty: whether all documents of the folder may leave.
        progress: as for :meth:`Corpus.add`.

    Raises:
        UsageError: the folder does not exist, holds no document that can be read while the corpus has documents of it,
            or has an id that a document from elsewhere has; nothing was changed.
    """
    root = _root(folder)
    known = {entry.id: entry.path for entry in corpus.documents()}
    mine = {id_ for id_, path in known.items() if path and Path(path).is_relative_to(root)}
    seen: dict[str, bool] = {}  # whether it is new or changed
    unreadable: list[UnreadableFile] = []

    def entering() -> Iterator[Document]:
        for document in read_documents(root):
            if isinstance(document, UnreadableFile):
                unreadable.append(document)
                continue
            document = _with_relative_id(document, root)
            if document.id in known and document.id not in mine:
                what = f"{document.id!r} is also the id of a document from elsewhere: {known[document.id] or 'no file'}"
                raise UsageError(what, hint="give the folder a corpus of its own: --store PATH")
            seen[document.id] = document.id not in known or corpus.document(document.id).sha256 != document.sha256
            yield document

    for _ in entering():  # before anything is changed
        pass
    kept = _of_unreadable(mine - set(seen), known, unreadable)
    removed = mine - set(seen) - kept
    if not seen and mine and not empty:
        what = f"{str(folder)!r} has no document that can be read, and the corpus has {len(mine):,} of it"
        raise UsageError(what, hint="is it the right folder, and is its disk there? To remove them all: --empty")
    changed = tuple(id_ for id_, differs in seen.items() if differs and id_ in known)
    renamed = {old: new for old in sorted(removed) if (new := _relative(old, known[old], root)) in seen}
    added = tuple(id_ for id_ in seen if id_ not in known and id_ not in renamed.values())
    unreadable.clear()
    corpus.add(entering(), progress=progress)
    if removed:
        corpus.remove(sorted(removed))
    return Synced(
        added=added,
        changed=changed,
        removed=tuple(sorted(removed - set(renamed))),
        renamed=tuple(renamed.items()),
        unchanged=len(seen) - len(added) - len(changed) - len(renamed),
        kept=tuple(sorted(kept)),
        unreadable=tuple((error.where, error.what) for error in unreadable),
    )


def _root(folder: Path) -> Path:
    if not folder.is_dir():
        hint = f"to remove its documents: redargue corpus rm {folder}"
        raise UsageError(f"no folder {str(folder)!r}", hint=hint)
    return Path(os.path.abspath(folder))


def _of_unreadable(missing: set[str], known: Mapping[str, str], errors: Iterable[UnreadableFile]) -> set[str]:
    """The documents of files that exist, of which a part or all could not be read."""
    lost = {place for error in errors for place in (error.where, error.where.rpartition(":")[0])}
    return {id_ for id_ in missing if known[id_] in lost}


def _with_relative_id(document: Document, root: Path) -> Document:
    return document.model_copy(update={"id": _relative(document.id, document.path, root)})


def _relative(id_: str, path: str, root: Path) -> str:
    """Ids that are paths, or start with one (``rows.jsonl:3``), without the folder; ids of rows stay as they are."""
    if not path or not id_.startswith(path):
        return id_
    return Path(path).relative_to(root).as_posix() + id_.removeprefix(path)
