"""Chat requests through a provider's batch endpoints, which cost less and answer within a day.

Requests that come together are one batch, of OpenAI's shape (``/files``, ``/batches``). What was sent is written down
before it is waited for, so that a run that was interrupted waits for the same batches and pays for nothing twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import json as json_module
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
from pydantic import Field

from redargue.claims import Frozen
from redargue.errors import ProviderError
from redargue.files import read_stored, replacing
from redargue.net.fetch import read_bounded
from redargue.net.transport import HttpAnswer, Limiter, Rate, Read, Service, Transport
from redargue.runs.budget import Receipt
from redargue.sanitize import counted

DEFERRED_FILE = "deferred.json"
MODEL, PATH = "model", "/chat/completions"
QUIET = 2.0  # seconds without a further request, after which those that wait are sent
_POLL = 30.0  # seconds between looks at a batch
_MOST = 50_000  # requests a batch
_MOST_BYTES = 150_000_000  # of a batch's file
_LARGEST = 1_000_000_000  # bytes of a result file
_ENDED = ("completed", "failed", "expired", "cancelled")
OK = 200
TRIES = 20  # of a look at a batch that fails in a row


class SentBatch(Frozen):
    """A batch at the provider; ``id`` is empty while it is not known whether it was created.

    Attributes:
        input_file: the provider's name of the file with the requests.
        keys: of its requests.
        answers: status and body by key, once it has ended.
    """

    input_file: str
    id: str = ""
    keys: tuple[str, ...]
    answers: dict[str, tuple[int, str]] | None = None


class Sent(Frozen):
    """All batches of one run."""

    format: int = Field(default=1, ge=1, le=1)
    batches: tuple[SentBatch, ...] = ()


class BatchTransport(Transport):
    """Sends chat requests in batches, and all other requests directly.

    Args:
        folder: where the batches are written down.
        poll: seconds between looks at a batch.
        quiet: seconds without a further request, after which those that wait are sent.
        report: called with what happens, in words.
    """

    def __init__(
        self,
        folder: Path,
        *,
        limiter: Limiter | None = None,
        offline: bool = False,
        poll: float = _POLL,
        quiet: float = QUIET,
        report: Callable[[str], None] = lambda words: None,
    ) -> None:
        rates = (limiter or Limiter()).rates
        super().__init__(Limiter({**rates, MODEL: Rate(in_flight=_MOST)}), offline=offline)
        self._path, self._poll, self._quiet, self._report = folder / DEFERRED_FILE, poll, quiet, report
        again = "remove it to send its requests again"
        self._sent = read_stored(self._path, Sent.model_validate, hint=again) or Sent()
        self._batch_of = {key: batch for batch in self._sent.batches for key in batch.keys}
        answers = (pair for batch in self._sent.batches for pair in (batch.answers or {}).items())
        self._refused = {key for key, (status, _) in answers if status != OK}  # by an earlier process: asked anew
        self._waiting: dict[str, asyncio.Future[HttpAnswer]] = {}
        self._new: dict[str, Any] = {}  # bodies that are in no batch yet
        self._asked: Counter[str] = Counter()  # how often each body was sent in this process
        self._tasks: set[asyncio.Task[None]] = set()
        self._following: set[str] = set()  # input files of the batches that are waited for
        self._flushing: asyncio.Task[None] | None = None

    async def __aexit__(self, *exception: object) -> None:
        if self._users.total() == 1:
            for task in tuple(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        await super().__aexit__(*exception)

    async def _once(
        self,
        service: Service,
        method: str,
        url: httpx2.URL,
        headers: Mapping[str, str] | None,
        json: Any,
        read: Read | None,
        receipt: Receipt,
    ) -> HttpAnswer:
        if service.name != MODEL or not url.path.endswith(PATH):
            return await super()._once(service, method, url, headers, json, read, receipt)
        provider = _Provider(self, service, url, headers or {})
        body = json_module.dumps(json, sort_keys=True)
        digest = hashlib.sha256(body.encode()).hexdigest()[:48]
        key = self._next_key(digest)
        sent = self._batch_of.get(key)
        if sent and sent.answers is not None:
            return _answer(sent.answers.get(key))
        answer: asyncio.Future[HttpAnswer] = asyncio.get_running_loop().create_future()
        self._waiting[key] = answer
        if sent:
            self._follow(provider, sent)
        else:
            self._new[key] = json
            if self._flushing:
                self._flushing.cancel()
            self._flushing = self._start(self._flush(provider))
        try:
            return await answer
        except asyncio.CancelledError:
            receipt.withdraw()  # what was sent is counted by the run that gets the answer
            raise

    def _next_key(self, digest: str) -> str:
        """The same request again after a failure is another one."""
        while True:
            key = f"{digest}-{self._asked[digest]}"
            self._asked[digest] += 1
            if key not in self._refused:
                return key

    def forget(self) -> None:
        """Drops the answers of a run that has ended: its record has what came of them, and an error is tried again."""
        if pending := [batch for batch in self._sent.batches if batch.answers is None]:
            self._write(pending)
        else:
            self._path.unlink(missing_ok=True)

    def _start(self, work: Coroutine[Any, Any, None], keys: Iterable[str] = ()) -> asyncio.Task[None]:
        """Runs in the background; an error that nobody expects there, such as a full disk, fails its requests."""

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if not task.cancelled() and isinstance(error := task.exception(), Exception):
                self._fail(keys, error)

        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(ended)
        return task

    async def _flush(self, provider: _Provider) -> None:
        await asyncio.sleep(self._quiet)
        self._flushing = None  # from here on it is not put off any more
        new, self._new = self._new, {}
        by_model: dict[str, dict[str, bytes]] = {}  # a file has requests to one model only
        for key, body in new.items():
            by_model.setdefault(str(body.get("model")), {})[key] = _line(key, body)
        for lines in by_model.values():
            for part in _parts(lines):
                self._start(self._submit(provider, part), part)

    async def _submit(self, provider: _Provider, lines: Mapping[str, bytes]) -> None:
        uploaded = await self._tried(lines, lambda: provider.upload(b"".join(lines.values())))
        if uploaded is None:
            return
        batch = SentBatch(input_file=str(uploaded.get("id", "")), keys=tuple(lines))
        self._keep(batch)
        created = await self._tried(lines, lambda: provider.create(batch.input_file))
        if created is None:
            self._keep(batch, dropped=True)
            return
        batch = batch.model_copy(update={"id": str(created.get("id", ""))})
        self._keep(batch)
        self._report(f"batch {batch.id}: {counted(len(lines), 'request')} sent")
        self._follow(provider, batch)

    async def _tried(self, keys: Collection[str], ask: Callable[[], Awaitable[HttpAnswer]]) -> dict[str, Any] | None:
        """What the provider answers; None if it refuses or cannot be reached: then all of the requests have failed."""
        try:
            answer = await ask()
        except (httpx2.HTTPError, httpx2.StreamError, TimeoutError) as error:
            self._fail(keys, error)
            return None
        found = _object(answer.text)
        if answer.status == OK and _name(found.get("id")):
            return found
        self._resolve(dict.fromkeys(keys, (502 if answer.status == OK else answer.status, answer.text)))
        return None

    def _follow(self, provider: _Provider, batch: SentBatch) -> None:
        if batch.input_file not in self._following:
            self._following.add(batch.input_file)
            self._start(self._wait(provider, batch), batch.keys)

    async def _wait(self, provider: _Provider, batch: SentBatch) -> None:
        if not batch.id:  # the process ended before it knew
            found = await self._looked(batch, lambda: provider.find(batch.input_file))
            if found is None:
                return
            if not _name(found.get("id")):
                self._keep(batch, dropped=True)
                self._resolve(dict.fromkeys(batch.keys, (503, "the batch was not created")))  # they are sent again
                return
            batch = batch.model_copy(update={"id": str(found["id"])})
            self._keep(batch)
        shown = ""
        while True:
            state = await self._looked(batch, lambda: provider.look(batch.id))
            if state is None:
                return
            if state.get("status") in _ENDED:
                break
            counts = state.get("request_counts")
            completed = counts.get("completed", 0) if isinstance(counts, dict) else 0
            words = f"batch {batch.id}: {state.get('status')}, {completed} of {len(batch.keys)} answered"
            if words != shown:
                self._report(words)
                shown = words
            await asyncio.sleep(self._poll)
        answers: dict[str, tuple[int, str]] = {}
        for name in ("output_file_id", "error_file_id"):
            if file := _name(state.get(name)):
                content = await self._looked(batch, partial(provider.content, file), whole=True)
                if content is None:
                    return
                answers = _answers(content["text"]) | {key: each for key, each in answers.items() if each[0] == OK}
        status = 400 if state["status"] == "failed" else 503  # a request without an answer is sent again
        why = _error(f"the batch {batch.id} {state['status']}{_errors(state)}")
        answers = {key: answers.get(key, (status, why)) for key in batch.keys}
        self._keep(batch.model_copy(update={"answers": answers}))
        self._report(f"batch {batch.id}: {state['status']}")
        self._resolve(answers)

    async def _looked(
        self, batch: SentBatch, ask: Callable[[], Awaitable[HttpAnswer]], *, whole: bool = False
    ) -> dict[str, Any] | None:
        """What the provider answers; None if it refuses or stays away, and then the batch's requests have failed."""
        why = ""
        for _ in range(TRIES):
            try:
                answer = await ask()
            except (httpx2.HTTPError, httpx2.StreamError, TimeoutError) as error:
                why = self._why(error)
            else:
                if answer.status == OK:
                    return {"text": answer.text} if whole else _object(answer.text)
                if answer.status < 500 and answer.status not in (408, 409, 429):
                    self._resolve(dict.fromkeys(batch.keys, (answer.status, answer.text)))
                    return None
                why = f"status {answer.status}"
            await asyncio.sleep(self._poll)
        what = f"batch {batch.id or batch.input_file} was sent, and its state cannot be read: {why}"
        # Not an error that is tried again, because the batch would be paid twice.
        self._fail(batch.keys, ProviderError(what, hint="run the same command again: it waits for this batch"))
        return None

    def _keep(self, batch: SentBatch, *, dropped: bool = False) -> None:
        """Writes down a batch instead of what is known of it, or that there is none."""
        others = (each for each in self._sent.batches if each.input_file != batch.input_file)
        for key in batch.keys:
            self._batch_of.pop(key, None)
        if not dropped:
            self._batch_of |= dict.fromkeys(batch.keys, batch)
        self._write((*others, *(() if dropped else (batch,))))

    def _write(self, batches: Iterable[SentBatch]) -> None:
        self._sent = Sent(batches=tuple(batches))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self._path) as file:
            file.write(self._sent.model_dump_json().encode())

    def _resolve(self, answers: Mapping[str, tuple[int, str]]) -> None:
        for key, found in answers.items():
            future = self._waiting.pop(key, None)
            if future and not future.done():
                future.set_result(_answer(found))

    def _fail(self, keys: Iterable[str], error: Exception) -> None:
        for key in keys:
            future = self._waiting.pop(key, None)
            if future and not future.done():
                future.set_exception(error)


class _Provider:
    """The batch endpoints beside the chat endpoint of ``url``."""

    def __init__(
        self, transport: BatchTransport, service: Service, url: httpx2.URL, headers: Mapping[str, str]
    ) -> None:
        self._transport, self._service, self._headers = transport, service, headers
        self._base = url.copy_with(path=url.path.removesuffix(PATH))

    async def upload(self, content: bytes) -> HttpAnswer:
        files = {"file": ("requests.jsonl", content, "application/jsonl")}
        return await self._ask("POST", "/files", data={"purpose": "batch"}, files=files)

    async def create(self, input_file: str) -> HttpAnswer:
        body = {"input_file_id": input_file, "endpoint": "/v1" + PATH, "completion_window": "24h"}
        return await self._ask("POST", "/batches", json=body)

    async def look(self, batch: str) -> HttpAnswer:
        answer = await self._ask("GET", f"/batches/{quote(batch, safe='')}")
        if answer.status != OK or _object(answer.text).get("status"):
            return answer
        why = f"batch {batch} has no status: the endpoint does not answer as a batch endpoint does"
        return HttpAnswer(400, _error(why), answer.headers)  # waiting would not end

    async def find(self, input_file: str) -> HttpAnswer:
        """The batch of a file, or an empty object, among the newest hundred."""
        answer = await self._ask("GET", "/batches", params={"limit": 100})
        listed = _rows(_object(answer.text).get("data"))
        same = [each for each in listed if each.get("input_file_id") == input_file]
        return HttpAnswer(answer.status, json_module.dumps(same[0] if same else {}), answer.headers)

    async def content(self, file: str) -> HttpAnswer:
        return await self._ask("GET", f"/files/{quote(file, safe='')}/content")

    async def _ask(self, method: str, path: str, **content: Any) -> HttpAnswer:
        url = self._base.copy_with(path=self._base.path.rstrip("/") + path)
        answer = self._transport._open().stream(method, url, headers=dict(self._headers), **content)
        async with asyncio.timeout(self._service.timeout), answer as response:
            text = (await read_bounded(response, _LARGEST)).decode("utf-8", errors="replace")
        return HttpAnswer(response.status_code, self._transport.secrets.hide(text), dict(response.headers))


def _line(key: str, body: Any) -> bytes:
    row = {"custom_id": key, "method": "POST", "url": "/v1" + PATH, "body": body}
    return json_module.dumps(row, ensure_ascii=False).encode() + b"\n"


def _parts(lines: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """The lines in files of at most :data:`_MOST` requests and :data:`_MOST_BYTES`."""
    part, size = dict[str, bytes](), 0
    for key, line in lines.items():
        if part and (len(part) == _MOST or size + len(line) > _MOST_BYTES):
            yield part
            part, size = {}, 0
        part[key], size = line, size + len(line)
    yield part


def _answers(text: str) -> dict[str, tuple[int, str]]:
    """Status and body by key; a line that cannot be read has none, and one that was answered stays answered."""
    found = dict[str, tuple[int, str]]()
    for line in text.split("\n"):  # JSON may contain the other characters that end lines
        row = _object(line)
        key, response, error = str(row.get("custom_id")), row.get("response"), row.get("error")
        if found.get(key, (0, ""))[0] == OK:
            continue
        if isinstance(response, dict) and isinstance(response.get("status_code"), int):
            found[key] = response["status_code"], json_module.dumps(response.get("body"))
        elif error:
            found[key] = 503, json_module.dumps({"error": error})
    return found


def _error(message: str) -> str:
    return json_module.dumps({"error": {"message": message}})


def _errors(state: Mapping[str, Any]) -> str:
    errors = state.get("errors")
    listed = _rows(errors.get("data")) if isinstance(errors, dict) else []
    messages = [str(each.get("message")) for each in listed]
    return f": {'; '.join(messages[:3])}" if messages else ""


def _answer(found: tuple[int, str] | None) -> HttpAnswer:
    status, text = found or (503, "")
    return HttpAnswer(status, text, {})


def _rows(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _name(value: object) -> str:
    """A provider's name of a file or batch; empty for what can be neither stored nor part of an address."""
    text = str(value or "")
    return text if text.isascii() else ""


def _object(text: str) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        found = json_module.loads(text)
        return found if isinstance(found, dict) else {}
    return {}
