"""The page without a browser: who may see it, what it refuses, and what it tells browsers to allow."""

from __future__ import annotations

import asyncio
import gzip
import io
import os
import re
import signal
import subprocess
import sys
import zipfile
from datetime import UTC, datetime
from email.message import EmailMessage
from html import unescape
from io import BytesIO
from pathlib import Path

import httpx2
import pytest
from starlette.datastructures import FormData, UploadFile

from redargue.service.app import create_app, create_viewer
from redargue.service.checks import CheckStore
from redargue.service.context import COOKIE, ServiceSettings
from redargue.service.entries import CheckEntry, read_entry, write_entry
from redargue.service.keys import Keys
from redargue.service.page import _waiting
from redargue.service.page.frames import outcomes_words
from redargue.service.page.runs import control
from redargue.service.page.uploads import Uploads, read_uploads
from redargue.service.rules import CheckRequest, RequestRules
from redargue.spec import RunSpec
from redargue.verdicts import ErrorInfo
from support.reported import bench_of, run_of, text_of
from support.serving import service_parts, settings

pytestmark = pytest.mark.anyio
CLAIM = "The lighthouse at Cape Ansel was lit in 1871."


async def test_with_keys_a_page_leads_to_signing_in_and_each_key_sees_its_own_checks() -> None:
    (_, first), (_, second) = Keys().add("first"), Keys().add("second")
    application = create_app(settings(), service_parts())
    transport = httpx2.ASGITransport(application, raise_app_exceptions=False)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as one,
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as other,
    ):
        reply = await one.get("/")
        assert (reply.status_code, reply.headers["location"]) == (303, "/sign-in")
        assert (await one.post("/sign-in", data={"key": "rdg_wrong"})).status_code == 401
        for http, key in ((one, first), (other, second)):
            assert (await http.post("/sign-in", data={"key": key})).status_code == 303
            assert http.cookies[COOKIE]
        started = await one.post("/checks", data={"words": CLAIM, "what": "claim", "method": "tool-mad"})
        path = started.headers["location"]
        assert (await one.get(f"{path}/frames", params={"waiting": True})).text.endswith("event: reset\ndata:\n\n")
        frames = (await one.get(f"{path}/frames")).text
        assert frames.endswith("event: end\ndata:\n\n")
        rest = (await one.get(f"{path}/frames", headers={"Last-Event-ID": "5"})).text
        assert frames.endswith(rest.partition("\n\n")[2])
        assert CLAIM in (await one.get("/")).text
        assert CLAIM not in (await other.get("/")).text
        for address in (path, f"{path}/claims/1", f"{path}/claims/9", "/runs/none", "/compare", "/"):
            assert "Sign out" in (await one.get(address)).text
        for address in (path, f"{path}/claims/1", f"{path}/frames", f"{path}/report.html"):
            assert (await other.get(address)).status_code == 404
        policy = (await one.get(path)).headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "script-src 'self'" in policy
        assert (await one.post("/sign-out")).status_code == 303
        assert (await one.get("/")).status_code == 303


async def test_the_last_key_that_is_removed_locks_the_service_and_the_cookie_of_a_secure_page_is_secure() -> None:
    key, secret = Keys().add("only")
    application = create_app(settings(hosts=("checks.example.org",)), service_parts())
    transport = httpx2.ASGITransport(application, raise_app_exceptions=False)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://checks.example.org") as http,
    ):
        for origin, secure in (("http://checks.example.org", False), ("https://checks.example.org", True)):
            reply = await http.post("/sign-in", data={"key": secret}, headers={"Origin": origin})
            assert ("Secure" in reply.headers["set-cookie"]) is secure
        Keys().remove(key.id)
        assert (await http.get("/v1/checks")).status_code == 401
        assert (await http.get("/")).headers["location"] == "/sign-in"


async def test_a_page_waits_for_a_check_of_another_process_without_asking_all_the_time(tmp_path: Path) -> None:
    waiting = tmp_path / "runs" / "20260101-000000-aaaaaa"
    waiting.mkdir(parents=True)
    entry = CheckEntry(store="serve", owner="", created=datetime.now(UTC), request=CheckRequest(claim=CLAIM))
    write_entry(waiting, entry)
    async with CheckStore(folder=waiting.parent, name="view") as store:
        frames = _waiting(store, waiting.name, "")
        assert await anext(frames) == "retry: 1000\n\n"
        asked = asyncio.ensure_future(anext(frames))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not asked.done()
        store.close()
        assert await asked == ": wait\n\n"
        assert [frame async for frame in frames] == []


async def test_a_run_of_several_claims_is_listed_with_their_outcomes_and_an_error_with_its_hint(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "runs" / "20260101-000000-aaaaaa", ["one here", "two here", "three here"])
    error = ErrorInfo(type="UsageError", what="no budget", hint="give one", exit_code=2)
    async with CheckStore(folder=folder.parent, name="view") as store:
        (check,) = store.list().checks
        assert outcomes_words(check) == "1 not enough evidence, 1 refuted, 1 supported"
        assert outcomes_words(check._replace(outcome="non_factual")) == "not factual"
        assert "no budget; give one" in str(control(check._replace(state="failed", error=error))["ended"])


async def test_a_run_of_a_file_is_listed_by_its_name(tmp_path: Path) -> None:
    text_of(tmp_path / "20260101-000000-aaaaaa", ["one here", "two here"], origin={"name": "press release.md"})
    text_of(tmp_path / "20260102-000000-bbbbbb", ["one here", "two here"])
    async with CheckStore(folder=tmp_path, name="view") as store:
        assert [check.first for check in store.list().checks] == ["one here", "press release.md"]


@pytest.mark.parametrize("kind", ["html", "md", "docx"])
async def test_a_check_that_was_stopped_has_no_report_and_names_no_folder(kind: str) -> None:
    application = create_app(settings(), service_parts())
    transport = httpx2.ASGITransport(application, raise_app_exceptions=False)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        store: CheckStore = application.state.store
        check = store.submit(CheckRequest(claim=CLAIM))
        await store.cancel(check.id)
        for path in (f"/runs/{check.id}/report.{kind}", f"/v1/checks/{check.id}/report.{kind}")[: 1 + (kind != "docx")]:
            reply = await http.get(path)
            assert reply.status_code == 409
            assert "this check was stopped: it has no verdict and no report" in reply.text
            assert str(check.folder.parent) not in reply.text


async def test_a_browser_is_shown_that_there_is_no_page_and_a_program_is_told() -> None:
    application = create_app(settings(), service_parts())
    transport = httpx2.ASGITransport(application)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
        shown = await http.get("/nosuch", headers={"Accept": "text/html,*/*;q=0.8"})
        told = await http.get("/nosuch")
    assert (shown.status_code, told.status_code, told.json()["title"]) == (404, 404, "Not Found")
    assert "<h1>Not found</h1>" in shown.text
    assert "there is no page" in shown.text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"words": " "}, "Write a claim or a text, or choose a file"),
        ({"words": "Was Ada Lovelace born in 1815?", "what": ""}, "This is a question, and only a statement is"),
        ({"words": "A claim. " * 2_000}, "The claim has 17,999 characters, and at most 10,000 are possible: choose"),
        ({"words": "A claim. " * 20_000, "what": "text"}, "The text has 179,999 characters, and at most 100,000 are"),
        ({"budget": "abc"}, "<details open>"),
    ],
)
async def test_the_form_says_what_it_lacks_in_its_own_words(given: dict[str, str], said: str) -> None:
    application = create_app(settings(), service_parts())
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(application), base_url="http://localhost") as http,
    ):
        reply = await http.post("/checks", data={"words": CLAIM, "what": "claim", **given})
    assert reply.status_code == 422
    assert said in reply.text
    assert "<title>Error: Checks" in reply.text
    assert ("are kept below" in reply.text) == bool(given.get("words", CLAIM).strip())


async def test_a_check_that_cannot_be_started_says_why_and_keeps_what_was_written() -> None:
    application = create_app(settings(), service_parts())
    transport = httpx2.ASGITransport(application, raise_app_exceptions=False)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        for wrong in ({"words": ""}, {"method": "tool-mud"}, {"as_of": "soon"}, {"budget": "a lot"}):
            reply = await http.post("/checks", data={"words": CLAIM, "what": "claim", **wrong})
            assert reply.status_code == 422, wrong
            assert 'role="alert"' in reply.text
            assert wrong.get("words", CLAIM) in reply.text
        foreign = await http.post("/checks", data={"words": CLAIM}, headers={"Origin": "http://evil.test"})
        assert foreign.status_code == 403
        for path in ("/runs/none", "/runs/..%2f..%2fetc", "/runs/none/claims/1", "/compare?run=none&run=other"):
            assert (await http.get(path)).status_code == 404
        alone = await http.get("/compare?run=none")
        assert (alone.status_code, "Choose from 2 to 6 checks; you chose 1" in alone.text) == (422, True)


@pytest.mark.slow  # its intervals are drawn
async def test_a_bench_compares_its_methods_with_charts_and_opens_their_claims(tmp_path: Path) -> None:
    folder = bench_of(tmp_path / "bench", ["one here", "two here", "three here"], confident=True)
    application = create_viewer(folder, tmp_path / "own")
    transport = httpx2.ASGITransport(application, raise_app_exceptions=False)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        page = (await http.get("/report")).text
        for words in ("Accuracy against calls per claim", "Calibration of", "claim with different labels"):
            assert words in page
        assert "<style" not in page
        runs = re.findall(r'href="/runs/([^"]+)"', (await http.get("/")).text)
        both = await http.get("/compare", params={"run": runs[:2]})
        assert "Finished by every check: 3 claims; with different labels: 1." in both.text
        heads = re.findall(r'<span class="dim">([^<]+)</span></th>', both.text)
        assert heads == runs[:2]
        claim = re.search(r'href="(/runs/[^"]+/claims/1)"', both.text)
        assert claim
        assert "one here" in (await http.get(claim[1])).text


@pytest.mark.slow
def test_view_opens_a_run_folder_anywhere_and_ends_when_it_is_asked_to(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "somewhere" / "run", ["one here", "two here"])
    command = [sys.executable, "-m", "redargue", "view", str(folder), "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stderr
        found = re.search(r"http://127\.0\.0\.1:\d+/runs/run", process.stderr.readline())
        assert found
        page = httpx2.get(found.group(), timeout=120, trust_env=False)
        assert (page.status_code, "two here" in page.text) == (200, True)
        process.send_signal(signal.SIGINT)
        process.wait(120)


def files_of(folder: Path) -> dict[str, bytes]:
    """One file for each way in which a file cannot be used."""
    from pypdf import PdfWriter

    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret")
    writer.write(folder / "locked.pdf")
    with zipfile.ZipFile(folder / "bomb.docx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"<w:p/>" * 11_000_000)
    return {
        "empty.txt": b"",
        "program.exe": b"MZ",
        "archive.zip": b"PK",
        "bomb.txt.gz": gzip.compress(b"a" * 100_000),
        "noname": b"words",
        "large.md": b"a" * 32_000_001,
        "long.txt": b"a " * 500_001,
        "picture.pdf": b"\x89PNG\r\n\x1a\n",
        "locked.pdf": (folder / "locked.pdf").read_bytes(),
        "bomb.docx": (folder / "bomb.docx").read_bytes(),
        "../../../etc/<b>passwd</b>.conf": b"root",
    }


DOCUMENT = "The lighthouse at Cape Ansel was first lit in 1871."


@pytest.mark.slow
async def test_files_that_cannot_be_used_are_named_and_what_was_written_and_read_is_kept(tmp_path: Path) -> None:
    bad = files_of(tmp_path)
    application = create_app(settings(), service_parts())
    transport = httpx2.ASGITransport(application, raise_app_exceptions=False)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost", timeout=120) as http,
    ):
        files = [("files", (name, content)) for name, content in [("good.md", DOCUMENT.encode()), *bad.items()]]
        files.append(("files", ("folder/.DS_Store", b"x")))
        given = {"words": CLAIM, "what": "claim", "method": "tool-mad"}
        reply = await http.post("/checks", data=given, files=files)
        assert reply.status_code == 422
        told = re.findall(r"<li dir=\"auto\">(.*?)</li>", reply.text)
        assert [line.partition(":")[0] for line in told] == [
            *(name for name in bad if "/" not in name),
            "b&gt;.conf",
        ]
        assert "long.txt: more than 1,000,000 characters; add it to a corpus" in reply.text
        for word in ("empty", "type is not read", "32 MB", "encrypted", "decompresses to more than"):
            assert any(word in line for line in told), word
        assert f">{CLAIM}</textarea>" in reply.text
        kept = re.findall(r'name="keep" value="([^"]*)"', reply.text)
        assert len(kept) == 1
        assert not list(application.state.store.folder.iterdir())
        again = await http.post("/checks", data={**given, "keep": unescape(kept[0])})
        id_ = again.headers["location"].rpartition("/")[2]
        (context,) = application.state.store._active[id_].entry.request.contexts
        assert (context.text, context.title, context.document) == (DOCUMENT, "", "good.md")


@pytest.mark.parametrize(
    ("size", "what"), [(32_000_001, "larger than 32 MB"), (100_002, "more than 100,000 characters")]
)
async def test_a_text_that_is_too_long_is_to_be_checked_in_parts(size: int, what: str) -> None:
    application = create_app(settings(), service_parts())
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(application), base_url="http://localhost") as http,
    ):
        article = [("article", ("long.txt", b"a " * (size // 2 + 1)))]
        reply = await http.post("/checks", data={"words": "", "what": "text"}, files=article)
        assert f"long.txt: {what}; check it in parts" in reply.text


async def test_the_lines_of_a_form_end_as_they_were_written() -> None:
    application = create_app(settings(), service_parts())
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(application), base_url="http://localhost") as http,
    ):
        given = {"words": "It was lit in 1871.\r\nIt is white.", "document": "Lit: 1871.\r\nWhite.", "what": "text"}
        started = await http.post("/checks", data=given)
        check = application.state.store.get(started.headers["location"].rpartition("/")[2], owner="")
        entry = read_entry(check.folder)
        assert entry is not None
        assert (entry.request.text, entry.request.contexts) == (
            given["words"].replace("\r", ""),
            ("Lit: 1871.\nWhite.",),
        )


async def test_a_hidden_file_that_was_chosen_is_read() -> None:
    application = create_app(settings(), service_parts())
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(application), base_url="http://localhost") as http,
    ):
        files = [("files", (name, DOCUMENT.encode())) for name in (".notes.txt", "folder/.index.txt")]
        started = await http.post("/checks", data={"words": CLAIM}, files=files)
        id_ = started.headers["location"].rpartition("/")[2]
        (document,) = application.state.store._active[id_].entry.request.documents
        refused = await http.post("/checks", data={"words": CLAIM}, files=[("files", (".env", b"A=1"))])
    assert (document.document, document.text) == (".notes.txt", DOCUMENT)
    assert ".env: its type is not read" in refused.text


LETTER = b"From: Lars Nordmark <lars@nordmark.example>\nDate: Wed, 29 Apr 2026 10:00:00 +0000\nSubject: Blades\n\n"
ARTICLE = f"""<html><head><title>Project</title><meta property="article:published_time" content="2026-05-04"></head>
<body><article><p>{DOCUMENT} {DOCUMENT}</p></article></body></html>"""


async def test_uploaded_files_keep_their_dates_and_their_authors() -> None:
    application = create_app(settings(), service_parts())
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(application), base_url="http://localhost") as http,
    ):
        files = [
            ("files", ("mail.eml", LETTER + DOCUMENT.encode())),
            ("files", ("page.html", ARTICLE.encode())),
        ]
        started = await http.post("/checks", data={"words": CLAIM}, files=files)
        id_ = started.headers["location"].rpartition("/")[2]
        letter, page = application.state.store._active[id_].entry.request.documents
        assert (letter.publisher, letter.published) == ("Lars Nordmark", "2026-04-29")
        assert (page.publisher, page.published) == ("", "2026-05-04")


async def test_of_a_page_that_is_chosen_as_the_text_all_is_read() -> None:
    page = UploadFile(io.BytesIO(f"{ARTICLE}<aside>{CLAIM}</aside>".encode()), filename="page.html")
    assert read_uploads(FormData([("article", page)])).article.endswith(CLAIM)


async def test_markdown_that_is_chosen_as_the_text_is_read_as_it_is_written_as_on_the_command_line() -> None:
    text = f"---\ntitle: Fees\n---\n\n| Item | Fee |\n|---|---|\n| Basic | 5 |\n\n{CLAIM}\n"
    note = UploadFile(io.BytesIO(text.encode()), filename="note.md")
    assert read_uploads(FormData([("article", note)])).article == text


async def test_a_letter_with_an_attached_picture_is_a_text() -> None:
    letter = EmailMessage()
    letter["Subject"] = "Blades"
    letter.set_content(CLAIM)
    letter.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="scan.png")
    read = read_uploads(FormData([("article", UploadFile(io.BytesIO(letter.as_bytes()), filename="mail.eml"))]))
    assert (read.article, read.problems) == (CLAIM, ())


def uploads_of(*files: tuple[str, bytes], **kept: list[str]) -> Uploads:
    chosen = [("files", UploadFile(BytesIO(content), filename=name, size=len(content))) for name, content in files]
    earlier = [(field, value) for field, values in kept.items() for value in values]
    return read_uploads(FormData([*earlier, *chosen]))


def test_uploaded_documents_of_one_name_are_numbered() -> None:
    rows = b'{"text": "The fee is 5 euros."}\n{"text": "The fee is 9 euros."}\n'
    files = (("2023/report.txt", b"It opened."), ("2024/report.txt", b"It closed."), ("fees.jsonl", rows))
    first = uploads_of(*files)
    names = ["report.txt", "report.txt (2)", "fees.jsonl", "fees.jsonl (2)"]
    assert [each.document for each in first.documents] == names
    keep = [each.model_dump_json() for each in first.documents]
    again = uploads_of(("2025/report.txt", b"It burned."), ("report.txt", b"It opened."), keep=keep)
    assert [each.document for each in again.documents] == [*names, "report.txt (3)", "report.txt"]


def test_an_attachment_of_an_uploaded_letter_has_its_own_name() -> None:
    letter = EmailMessage()
    letter.set_content(CLAIM)
    letter.add_attachment(b"Item,Fee\nPool,5\n", maintype="text", subtype="csv", filename="fees.csv")
    read = uploads_of(("mail.eml", letter.as_bytes()))
    assert [each.document for each in read.documents] == ["mail.eml", "mail.eml#1-fees.csv"]


def test_records_of_a_file_beyond_the_limit_are_one_unread_file() -> None:
    rows = "".join(f'{{"text": "The fee of room {number} is 5 euros."}}\n' for number in range(120)).encode()
    read = uploads_of(("fees.jsonl", rows))
    assert len(read.documents) == 50
    assert [each.file for each in read.unread_files] == ["fees.jsonl"]


def test_an_unread_file_names_each_of_its_unread_parts() -> None:
    letter = EmailMessage()
    letter.set_content(CLAIM)
    letter.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="scan.png")
    letter.add_attachment(b"", maintype="text", subtype="plain", filename="fees.txt")
    rows = b'{"text": "The fee is 5 euros."}\n' + b"[]\n" * 7
    read = uploads_of(("mail.eml", letter.as_bytes()), ("fees.jsonl", rows))
    assert [each.file for each in read.unread_files] == ["mail.eml", "fees.jsonl"]
    of_letter, of_rows = (each.why for each in read.unread_files)
    assert "scan.png" in of_letter
    assert "the file is empty (attachment 2-fees.txt)" in of_letter
    assert "(line 2)" in of_rows
    assert of_rows.endswith("; and 2 more")
    assert len(read.problems) == 9


def test_each_unread_file_of_one_name_is_named_until_it_is_given_again() -> None:
    first = uploads_of(("a/scan.txt", b""), ("b/scan.txt", b""), ("c/scan.txt", b"It opened."))
    assert [each.file for each in first.unread_files] == ["scan.txt", "scan.txt"]
    unread = [each.model_dump_json() for each in first.unread_files]
    again = uploads_of(("a/scan.txt", b"It closed."), unread=unread)
    assert [each.file for each in again.unread_files] == ["scan.txt"]


@pytest.mark.slow
async def test_files_that_were_not_read_are_named_by_every_report_of_a_check_that_goes_on_without_them() -> None:
    application = create_app(settings(), service_parts())
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(application), base_url="http://localhost", timeout=120
        ) as http,
    ):
        given = {"words": CLAIM, "what": "claim", "method": "tool-mad"}
        files = [("files", ("good.md", DOCUMENT.encode())), ("files", ("lost.txt", b"")), ("files", ("later.txt", b""))]
        refused = await http.post("/checks", data=given, files=files)
        assert "continues without the others" in refused.text
        fields = {name: re.findall(rf'name="{name}" value="([^"]*)"', refused.text) for name in ("keep", "unread")}
        again = given | {name: list(map(unescape, values)) for name, values in fields.items()}
        mended = [("files", ("later.txt", b"The lamp is new."))]
        started = await http.post("/checks", data=again, files=mended)
        path = started.headers["location"]
        await application.state.store.wait(path.rpartition("/")[2])
        for address in (path, f"{path}/claims/1", f"{path}/report.html", f"{path}/report.md", f"{path}/report.json"):
            shown = (await http.get(address)).text
            assert "lost.txt" in shown.replace("\\\\", ""), address
            assert "later.txt: the file" not in shown, address
        answer = (await http.get(f"/v1/checks/{path.rpartition('/')[2]}")).json()
        assert answer["result"]["unread_files"] == [{"file": "lost.txt", "why": "the file is empty"}]
        only = await http.post("/checks", data={**given, "unread": again["unread"]})
        assert only.status_code == 422
        assert "nothing to check against" in only.text


async def test_several_sentences_are_a_text_unless_the_visitor_chose_one_claim() -> None:
    application = create_app(settings(), service_parts())
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(application), base_url="http://localhost") as http,
    ):
        assert re.search(r'name="what" value="" checked', (await http.get("/")).text)
        two = f"{CLAIM} It was rebuilt in 1950."
        for words, what, is_text in (
            (two, "", True),
            (two, None, True),
            (two, "claim", False),
            (CLAIM, "", False),
            (CLAIM, "text", True),
            ("Dr. A. Ansel lit it at 9 a.m. on 4 May.", "", False),
        ):
            given = {"words": words} | ({} if what is None else {"what": what})
            started = await http.post("/checks", data=given)
            request = application.state.store.get(started.headers["location"].rpartition("/")[2])
            entry = application.state.store._active[request.id].entry.request
            assert (entry.text == words, entry.claim == words) == (is_text, not is_text), (words, what)


@pytest.mark.parametrize("installed", [True, False])
async def test_a_run_that_ends_shows_its_outcomes_in_the_filter_and_its_word_report_where_it_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, installed: bool
) -> None:
    monkeypatch.setattr("redargue.service.page.runs.writes_docx", lambda: installed)
    monkeypatch.setattr("redargue.service.page.writes_docx", lambda: installed)
    monkeypatch.setattr("redargue.service.page.run_docx", lambda folder: folder.name.encode())
    folder = run_of(tmp_path / "runs" / "20260101-000000-aaaaaa", ["one here", "two here", "three here"])
    application = create_viewer(folder.parent, tmp_path / "own")
    path = f"/runs/{folder.name}"
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(application), base_url="http://localhost") as http,
    ):
        *_, choice, control_frame, _, _ = (await http.get(f"{path}/frames", params={"after": 0})).text.split("\n\n")
        assert choice.startswith('event: replace\ndata: <select id="outcome"')
        for outcome in ("refuted (1)", "not enough evidence (1)", "supported (1)"):
            assert f">{outcome}</option>" in choice
        assert "unfinished" not in choice
        assert (f'<a href="{path}/report.docx">Word</a>' in control_frame) is installed
        word = await http.get(f"{path}/report.docx")
        assert word.status_code == (200 if installed else 404)
        if installed:
            assert word.content == folder.name.encode()
            assert word.headers["content-disposition"] == f'attachment; filename="{folder.name}.docx"'


async def test_a_reader_that_is_missing_is_named_without_a_path_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "striprtf.striprtf", None)
    application = create_app(settings(), service_parts())
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(application), base_url="http://localhost") as http,
    ):
        letter = [("files", ("letter.rtf", rb"{\rtf1 The lamp is new.}"))]
        told = (await http.post("/checks", data={"words": CLAIM}, files=letter)).text
        why = "letter.rtf: an RTF document is read with striprtf, which is not installed"
        assert f"{why}; install redargue[documents] where the service runs" in told
        assert "pip install" not in told


async def test_the_page_says_that_it_searches_the_sample_articles_where_there_is_nothing_else() -> None:
    application = create_app(settings(), service_parts())
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(application), base_url="http://localhost") as http,
    ):
        assert "You have no corpus yet: the sixty sample articles" in (await http.get("/")).text


async def test_the_method_of_a_text_with_documents_is_the_default_that_is_chosen_first() -> None:
    spec = RunSpec(model="m", base_url="http://localhost:1/v1")
    application = create_app(ServiceSettings(rules=RequestRules(spec)))
    transport = httpx2.ASGITransport(application)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http,
    ):
        choice = (await http.get("/")).text.partition('<select id="method"')[2].partition("</select>")[0]
    first = '<option value="" selected>default: single-reader; one-pass for a text with documents</option>'
    assert choice.count(" selected") == choice.count(first) == 1


async def test_a_run_is_named_by_its_file_and_searches_the_corpus_that_was_chosen(tmp_path: Path) -> None:
    application = create_app(settings(corpora={"archive": str(tmp_path / "a.db")}), service_parts())
    transport = httpx2.ASGITransport(application, raise_app_exceptions=False)
    async with (
        application.router.lifespan_context(application),
        httpx2.AsyncClient(transport=transport, base_url="http://localhost", timeout=120) as http,
    ):
        home = (await http.get("/")).text
        assert "You have no corpus" not in home  # the first of the list is searched
        assert re.search(r'<select id="corpus"[^>]*><option>archive</option>', home)
        assert "single-reader: " in home
        article = [("article", ("../press release.md", DOCUMENT.encode()))]
        both = await http.post("/checks", data={"words": CLAIM}, files=article)
        assert "press release.md: write a text or choose its file, not both" in both.text
        for corpus, store in (("archive", str(tmp_path / "a.db")), ("starter", "starter")):
            started = await http.post("/checks", data={"words": "", "corpus": corpus}, files=article)
            id_ = started.headers["location"].rpartition("/")[2]
            request = application.state.store._active[id_].entry.request
            assert application.state.store.rules.prepare(request).spec.store == store
        assert (await http.get("/")).text.count(">press release.md</a>") == 2
        unknown = await http.post("/checks", data={"words": CLAIM, "corpus": "/etc/passwd"})
        assert unknown.status_code == 422
        assert "no corpus of this name" in unknown.text
