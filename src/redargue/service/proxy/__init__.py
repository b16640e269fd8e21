"""One request through the proxy: plan, upstream, check, and what the mode makes of the answer."""

from __future__ import annotations

import asyncio
import difflib
import logging
import uuid
from collections.abc import Awaitable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

import httpx2

from redargue.errors import ProviderError, RedargueError, UsageError
from redargue.evidence import Passage
from redargue.net.fetch import HTTP_ERRORS
from redargue.sanitize import printable
from redargue.service.guard import UnclearJson, read_json
from redargue.service.keys import DayBudget
from redargue.service.problems import openai_error
from redargue.service.proxy.block import (
    FOOTNOTES,
    CheckBlock,
    ProxyTally,
    Revision,
    block_of,
    block_without_check,
    footnotes,
    header,
    without_footnotes,
)
from redargue.service.proxy.chat import ChatDialect
from redargue.service.proxy.checker import Checked, Checkers, Readers, check_text
from redargue.service.proxy.contexts import contexts_of, messages_of
from redargue.service.proxy.dialect import (
    Dialect,
    Key,
    Payload,
    SseEvent,
    as_list,
    comment,
    compact_json,
    data_event,
    events_of,
)
from redargue.service.proxy.responses import ResponsesDialect
from redargue.service.proxy.settings import CheckOptions, Plan, plan, read_check_options
from redargue.service.proxy.shapes import read_object, without_ours
from redargue.service.proxy.stream import ENDS_EARLY, TICK, Checks, StreamChecker
from redargue.service.proxy.upstream import Headers, ProxyReply, Upstream, is_stream, refuse
from redargue.tasks.untrusted import UNTRUSTED, fence_marked, wrap_untrusted
from redargue.text import Outcome
from redargue.text.segment import sentences_of

TEMPORARY = ("checker_down", "checker_late", "search_failed")  # reasons for which a client may ask again


class Withheld(RedargueError):
    """An answer that is not sent; ``status`` is that of the response, ``code`` the word for why."""

    def __init__(self, what: str, *, status: int, code: str, block: CheckBlock | None = None) -> None:
        super().__init__(what)
        self.status, self.code, self.block = status, code, block


def objection(block: CheckBlock, plan: Plan) -> str:
    """Why an answer may not be sent as it is: ``refuted``, ``unsupported``; empty where it may."""
    if block.outcome is Outcome.NON_FACTUAL:
        return "refuted"
    if plan.mode == "block" and plan.undecided == "block" and block.bad:
        return "unsupported"
    return "unsupported" if block.supported < plan.min_supported else ""


def require_checked(block: CheckBlock, plan: Plan, place: str = "") -> None:
    """Raises Withheld for an answer that was not checked, where the operator or the client wants that.

    An answer that ``block`` withholds anyhow, because it is refuted, is not sent, whatever else of it was not checked.
    ``place``: of the first field that was not read.
    """
    if plan.mode == "block" and objection(block, plan) == "refuted":
        return
    if plan.on_failure == "closed" and block.reason not in ("", "no_text"):
        where = f" ({place})" if place and block.reason == "not_read" else ""
        raise Withheld(f"the answer could not be checked: {block.reason}{where}", status=503, code=block.reason)


def revision_messages(draft: str, block: CheckBlock) -> list[dict[str, str]]:
    """The messages that ask a model for a better draft; what documents and the draft say is marked as data."""
    lines = []
    for number, claim in enumerate(block.bad, 1):
        lines.append(f"{number}. {wrap_untrusted(draft[claim.start : claim.end], inline=True)}")
        lines += [f"   The documents say: {wrap_untrusted(quote.text, inline=True)}" for quote in claim.quotes]
    instructions = (
        "These sentences of your last reply were checked, and the documents do not support them:\n\n"
        + "\n".join(lines)
        + f"\n\n{UNTRUSTED}\n\nWrite the whole reply again. Correct these sentences by the documents or leave them out,"
        " keep the others as they are, and do not mention this check."
    )
    return [{"role": "assistant", "content": draft}, {"role": "user", "content": fence_marked(instructions)}]


def draft_difference(draft: str, final: str) -> str:
    """A unified diff, a line a sentence."""
    before, after = ([" ".join(each.text.split()) for each in sentences_of(text)] for text in (draft, final))
    return "\n".join(difflib.unified_diff(before, after, fromfile="draft", tofile="answer", lineterm="", n=0))


def added(first: Mapping[str, int], usage: object) -> dict[str, int]:
    """The sum of the numbers of two usages."""
    more = usage if isinstance(usage, dict) else {}
    counts = {name: count for name, count in more.items() if isinstance(count, int)}
    return {name: first.get(name, 0) + counts.get(name, 0) for name in {**first, **counts}}


DIALECTS: Mapping[str, type[Dialect]] = {"/chat/completions": ChatDialect, "/responses": ResponsesDialect}
SPENT = "the key's budget of this day is spent, and no answer is sent that was not checked; try again tomorrow (UTC)"
NO_UPSTREAM = "this service has no upstream; the operator sets REDARGUE_UPSTREAM_URL"
UNREACHABLE = "the upstream cannot be reached, or gives no answer; the service's log says why"
FAILED = "the service failed; its log says why"
REDIRECTED = "the upstream redirects ({}); the operator sets REDARGUE_UPSTREAM_URL to its new address"
STREAM_TYPE = "text/event-stream; charset=utf-8"
CHECK_HEADER, MODE_HEADER = "x-redargue-check", "x-redargue-mode"


_log = logging.getLogger("redargue.service")


@dataclass(frozen=True)
class Proxy:
    """The proxy of one service."""

    upstream: Upstream
    checkers: Checkers
    tally: ProxyTally

    async def serve(
        self, path: str, reply: ProxyReply, raw: bytes, client: Mapping[str, str], day: DayBudget | None = None
    ) -> None:
        """Answers a request.

        ``client`` has its headers, with names in lower case; ``day`` is its key's budget of the day, which pays for the
        checks, and not for the upstream's answers.
        """
        settings = self.checkers.settings
        try:
            body = _object(raw)
            options = read_check_options(body.get("redargue"))
            decided = plan(settings, options, client.get(MODE_HEADER, ""))
            documents, unread, question = contexts_of(body, options.contexts, roles=settings.context_roles)
            decided = decided.model_copy(update={"unread_contexts": unread, "question": question})
        except UsageError as error:
            param = error.where or None
            await refuse(reply, 400, str(error), kind="invalid_request_error", code="redargue", param=param)
            return
        if decided.mode != "off" and decided.on_failure == "closed" and day and day.is_spent():
            kind = "insufficient_quota"  # of OpenAI's own API, which clients do not repeat
            await refuse(reply, 402, SPENT, kind=kind, code=kind, headers={"x-should-retry": "false"})
            return
        footnoted = decided.mode != "off" and FOOTNOTES.encode() in raw
        if footnoted:
            _remove_footnotes(body)
        if footnoted or "redargue" in body:
            body.pop("redargue", None)
            raw = compact_json(body).encode()
        exchange = _Exchange(self, reply, path, body, dict(client), decided)

        async def answer() -> None:
            if decided.mode == "off":
                await exchange.pass_on(raw)
                return
            async with self.checkers.open(documents, decided, day) as readers:
                await exchange.check(raw, readers)

        await self._answered(exchange, answer())

    async def check_whole(
        self, text: str, documents: tuple[Passage, ...], plan: Plan, *, route: str, day: DayBudget | None
    ) -> tuple[Checked, CheckBlock]:
        """Checks a whole text, for a route without a stream, and counts the check."""
        check_id = _new_id()
        async with self.checkers.open(documents, plan, day) as readers:
            checked = await check_text(text, readers, plan.timeout_s)
        block = block_of(checked, plan, check_id) if text.strip() else block_without_check(plan, check_id)
        self.tally.checked(route, block)
        return checked, block

    async def models(self, reply: ProxyReply, client: Mapping[str, str]) -> None:
        """Sends the upstream's list of models unchanged."""
        decided = plan(self.checkers.settings.model_copy(update={"mode": "off"}), CheckOptions())
        exchange = _Exchange(self, reply, "/models", {}, dict(client), decided)
        await self._answered(exchange, exchange.pass_on(b"", method="GET"))

    async def _answered(self, exchange: _Exchange, answer: Awaitable[None]) -> None:
        """Waits for an answer; an upstream that fails, or we in a stream, is an error in OpenAI's shape."""
        try:
            await answer
        except ProviderError as error:
            self.tally.upstream["unreachable"] += 1
            _log.warning("%s", printable(str(error), lines=False))
            await exchange.fail(UNREACHABLE, code="upstream_unreachable")
        except (*HTTP_ERRORS, ValueError) as error:
            self.tally.upstream["cut"] += 1
            why = self.upstream.transport.secrets.hide(str(error))[:200] or type(error).__name__
            await exchange.fail(f"the upstream's answer broke off: {why}", code="upstream_broke_off")
        except Exception as error:
            if not exchange.reply.is_stream:
                raise
            _log.error("the check of a stream failed", exc_info=error)
            await exchange.fail(FAILED, code="proxy_failed", kind="server_error")


def _new_id() -> str:
    return f"chk_{uuid.uuid4().hex}"


@dataclass
class _Exchange:
    """One request and its response."""

    proxy: Proxy
    reply: ProxyReply
    path: str
    body: Payload
    client: dict[str, str]
    plan: Plan
    id: str = field(default_factory=_new_id)

    async def pass_on(self, raw: bytes, *, method: str = "POST") -> None:
        """Sends the upstream's response unchanged."""
        async with self.proxy.upstream.open(self.path, raw, self.client, method=method) as response:
            if await self._failed(response):
                return
            await self.reply.start(response.status_code, self.proxy.upstream.returned(response))
            async for piece in self.proxy.upstream.body(response):
                await self.reply.send(piece)
            await self.reply.end()

    async def check(self, raw: bytes, readers: asyncio.Task[Readers]) -> None:
        dialect = DIALECTS[self.path](self.body, closed=self.plan.on_failure == "closed", rebuilt=self.plan.buffered)
        checks = Checks(readers, self.plan, self.id, dialect)
        async with self.proxy.upstream.open(self.path, raw, self.client) as response:
            if await self._failed(response):
                return
            try:
                if not is_stream(response):
                    await self._whole(response, checks)
                elif self.plan.buffered:
                    await self._buffered(response, checks)
                else:
                    await self._stream(response, checks)
            except Withheld as error:
                await self._withhold(error)
            finally:
                await checks.cancel()

    async def fail(self, message: str, *, code: str, kind: str = "upstream_error") -> None:
        """Sends an error, of the upstream by default; within a stream as an event, which every client reports."""
        if not self.reply.started:
            await refuse(self.reply, 502, message, kind=kind, code=code)
            return
        await self.reply.send(data_event(openai_error(message, kind=kind, code=code)))
        await self.reply.end()

    async def _failed(self, response: httpx2.Response) -> bool:
        """Whether the upstream answers with an error, which is passed on, or with a redirect, which is one."""
        self.proxy.tally.upstream[str(response.status_code)] += 1
        if 300 <= response.status_code < 400:
            await self.fail(REDIRECTED.format(response.status_code), code="upstream_redirects")
        elif response.status_code >= 400:
            body = await self.proxy.upstream.whole(response)
            await self.reply.whole(response.status_code, self.proxy.upstream.returned(response), body)
        return response.status_code >= 300

    async def _withhold(self, error: Withheld) -> None:
        self.proxy.tally.withheld[self.path, error.code] += 1
        kind = "checker_error" if error.status == 503 else "answer_withheld"
        headers = {
            CHECK_HEADER: header([error.block]) if error.block else self.id,
            "x-should-retry": "true" if error.code in TEMPORARY else "false",
        }
        verdicts = error.block.payload() if error.block else None
        await refuse(
            self.reply, error.status, error.what, kind=kind, code=error.code, headers=headers, verdicts=verdicts
        )

    def _headers(self, response: httpx2.Response, blocks: list[CheckBlock]) -> Headers:
        kind = STREAM_TYPE if is_stream(response) else "application/json"
        kept = [(name, value) for name, value in self.proxy.upstream.returned(response) if name != "content-type"]
        return [("content-type", kind), *kept, (CHECK_HEADER, header(blocks) or self.id)]

    async def _whole(self, response: httpx2.Response, checks: Checks) -> None:
        dialect, raw = checks.dialect, await self.proxy.upstream.whole(response)
        try:
            payload, cleaned = read_object(raw.decode("utf-8-sig"))
        except ValueError:
            await self._unanswered(response, checks, without_ours(raw), known=False)
            return
        texts = dialect.texts(payload)
        checks.note(dialect.beside(payload)._replace(added=tuple(texts.items())))
        if not texts:
            if cleaned or dialect.closed:
                dialect.annotate(payload)
                raw = compact_json(payload).encode()
            await self._unanswered(response, checks, raw, known=dialect.knows(payload))
            return
        checks.read_seams()
        await self._decide(checks, list(texts))
        dialect.annotate(payload)
        headers = self._headers(response, list(dialect.blocks.values()))
        await self.reply.whole(response.status_code, headers, compact_json(payload).encode())

    async def _unanswered(self, response: httpx2.Response, checks: Checks, raw: bytes, *, known: bool) -> None:
        """Passes on a response in which there is no answer; one of another shape may contain one."""
        checks.unreadable += not known
        headers = list(self.proxy.upstream.returned(response))
        if block := self._no_answer(checks):
            headers.append((CHECK_HEADER, header([block])))
        await self.reply.whole(response.status_code, headers, raw)

    def _no_answer(self, checks: Checks) -> CheckBlock | None:
        """The block of a response without an answer, of which not all was read. Raises Withheld."""
        if block := checks.of_no_answer():
            self.proxy.tally.checked(self.path, block)
            require_checked(block, self.plan, next(iter(checks.unread.values()), ""))
        return block

    async def _decide(self, checks: Checks, keys: list[Key]) -> None:
        """Finishes the checks of a whole answer, and lets the mode change it. Raises Withheld."""
        checks.read_calls(*keys)
        blocks = await asyncio.gather(*map(checks.finish, keys))
        dialect, message = checks.dialect, self.proxy.checkers.settings.block_message
        for key, block in zip(keys, blocks, strict=True):
            text = checks.answers[key].text if key in checks.answers else ""
            final = block
            if self.plan.mode == "revise" and objection(block, self.plan) and text:
                final = checks.with_unread(await self._revise(checks, key, text, block), key)
            self.proxy.tally.checked(self.path, final)
            require_checked(final, self.plan, checks.place(key))
            if self.plan.mode == "block" and (why := objection(final, self.plan)):
                final = final.of_withheld(why, self.plan)
                if self.plan.block_as == "error":
                    raise Withheld(message, status=400, code=why, block=final)
                self.proxy.tally.withheld[self.path, why] += 1
                dialect.replaced[key] = message
            elif self.plan.mode == "footnote" and text:
                dialect.appended[key] = footnotes(final, text)
            dialect.blocks[key] = final

    async def _revise(self, checks: Checks, key: Key, draft: str, block: CheckBlock) -> CheckBlock:
        """Asks for better drafts, and keeps the best one; the upstream failing ends this."""
        best, text, usage, rounds = block, draft, dict[str, int](), 0
        for _ in range(self.proxy.checkers.settings.max_revisions):
            if not objection(best, self.plan):
                break
            revised, more = await self._draft(checks.dialect, revision_messages(text, best))
            rounds, usage = rounds + 1, added(usage, more)
            if not revised:
                break
            checked = await check_text(revised, checks.readers, self.plan.timeout_s)
            better = block_of(checked, self.plan, self.id)
            if len(better.bad) < len(best.bad) and not better.reason:
                best, text = better, revised
        if text != draft:
            checks.dialect.replaced[key] = text
        revision = Revision(draft=draft, diff=draft_difference(draft, text), rounds=rounds, upstream_usage=usage)
        return best.model_copy(update={"revision": revision})

    async def _draft(self, dialect: Dialect, messages: list[dict[str, str]]) -> tuple[str, object]:
        """Another draft and its usage; empty where the upstream gives none."""
        request = compact_json(dialect.revision(self.body, messages)).encode()
        client = {name: value for name, value in self.client.items() if name != "idempotency-key"}  # of another body
        try:
            async with self.proxy.upstream.open(self.path, request, client) as response:
                self.proxy.tally.upstream[str(response.status_code)] += 1
                raw = await self.proxy.upstream.whole(response)
                payload = read_object(raw.decode("utf-8-sig")).value
        except (RedargueError, *HTTP_ERRORS, ValueError):
            return "", {}
        return next(iter(dialect.texts(payload).values()), ""), payload.get("usage")

    async def _stream(self, response: httpx2.Response, checks: Checks) -> None:
        await self.reply.start(response.status_code, self._headers(response, []))
        checker = StreamChecker(checks, partial(self.proxy.tally.checked, self.path))
        async with aclosing(checker.run(self.proxy.upstream.body(response))) as written:
            async for piece in written:
                await self.reply.send(piece)
        await self.reply.end()

    async def _buffered(self, response: httpx2.Response, checks: Checks) -> None:
        """Checks a stream to its end before anything of it is sent."""
        dialect, work = checks.dialect, asyncio.create_task(self._collected(response, checks))
        try:
            if not self.plan.may_refuse:
                await self.reply.start(response.status_code, self._headers(response, []))
            while not work.done():
                await asyncio.wait({work}, timeout=TICK)
                if self.reply.started and not work.done():
                    await self.reply.send(comment(f"redargue {checks.progress}"))
            events = work.result()
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        if not self.reply.started:
            await self.reply.start(response.status_code, self._headers(response, list(dialect.blocks.values())))
        for event in events:
            if event.payload is None and (dialect.replaced or dialect.closed) and not event.is_done:
                continue  # what cannot be read may say what a withheld text says
            for piece in dialect.write(event):
                await self.reply.send(piece)
        for piece in dialect.rest():
            await self.reply.send(piece)
        await self.reply.end()

    async def _collected(self, response: httpx2.Response, checks: Checks) -> list[SseEvent]:
        """The events of a stream, after the decision about its answers."""
        dialect = checks.dialect
        events: list[SseEvent] = []
        async for batch in events_of(self.proxy.upstream.body(response)):
            for part in (part for event in batch for part in dialect.split(event)):
                read, ended = checks.read(part)
                events.append(read)
                dialect.ended.update(ended)
        if not checks.end():
            raise ValueError(ENDS_EARLY)
        keys = sorted({*dialect.ended, *checks.answers})
        checks.read_seams()
        if not keys:
            self._no_answer(checks)
        await self._decide(checks, keys)
        return events


def _object(raw: bytes) -> Payload:
    try:
        value = read_json(raw)
    except UnclearJson as error:
        raise UsageError(f"the body is not clear: {error}", hint="send each name once, and finite numbers") from None
    except (ValueError, RecursionError):
        raise UsageError("the body is not JSON, or has too many levels", hint="send an object") from None
    if not isinstance(value, dict):
        raise UsageError("the body is not a JSON object", hint="send an object")
    return value


def _remove_footnotes(body: Payload) -> None:
    """Takes out of a request what this service added to earlier answers, which is not for the model."""
    for message in messages_of(body):
        if message.get("role") == "assistant":
            for part, name in ((message, "content"), *((part, "text") for part in as_list(message.get("content")))):
                if isinstance(part, dict) and isinstance(text := part.get(name), str):
                    part[name] = without_footnotes(text)
