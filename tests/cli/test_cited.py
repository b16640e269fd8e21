"""Pages that a text cites or a user names are fetched over real HTTP; each claim is checked against its own page."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import redargue
from redargue.cli.app import run
from redargue.errors import UnreadableFile, UsageError
from redargue.net.fetch import ALLOW, Page
from redargue.reports.render import render
from redargue.retrieval.web_pages import fields_of
from redargue.text.citations import as_markdown

LIT = "The lighthouse at Cape Ansel was first lit in 1871."
CLOSED = "The museum at Orvell is closed on Mondays."
FLOUR = "Bread is made of flour, water and salt. It is baked in an oven."
PAGES = {"/lit": LIT, "/museum": CLOSED, "/bread": FLOUR}


class Site(BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        type(self).asked.append(self.path)
        text = PAGES.get(self.path)
        body = f"<html><head><title>A page</title></head><body><p>{text}</p></body></html>".encode()
        self.send_response(404 if text is None else 200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture(autouse=True)
def _online(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDARGUE_OFFLINE", raising=False)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[str]]]:
    """A web site on loopback that may be fetched: its address and the paths that it was asked for."""
    handler = type("Handler", (Site,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        origin = f"127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv(ALLOW, origin)
        try:
            yield f"http://{origin}", handler.asked  # type: ignore[attr-defined]
        finally:
            server.shutdown()
            thread.join()


def answer(url: str) -> str:
    return (
        f"The lighthouse at Cape Ansel was first lit in 1871 ([history]({url}/lit)). "
        f"The museum at Orvell is open on Mondays [1]. "
        f"The lighthouse at Cape Ansel was first lit in 1871 ({url}/bread). "
        f"The bridge at Orvell was opened in 1889 ({url}/gone). "
        f"The harbour of Orvell froze in 1902 (http://127.0.0.1:1/closed). "
        f"The tower of Orvell has 300 steps.\n\n[1]: {url}/museum\n"
    )


def test_each_claim_is_checked_against_the_page_that_it_cites(
    site: tuple[str, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    url, asked = site
    file, folder = tmp_path / "answer.md", tmp_path / "run"
    file.write_text(answer(url))
    command = ["check", str(file), "--cited", "--method", "single-reader", "--run", str(folder), "-q"]
    assert run([*command, "--json"]) == 0
    report = json.loads(capfd.readouterr().out)
    found = [(each["citation"]["url"].rpartition("/")[2], each["citation"]["outcome"]) for each in report["claims"]]
    assert found == [
        ("lit", "supports"),
        ("museum", "contradicts"),
        ("bread", "does_not_support"),
        ("gone", "dead_link"),
        ("closed", "not_fetched"),
    ]
    assert "status 404" in report["claims"][3]["citation"]["why"]
    assert "port" in report["claims"][4]["citation"]["why"]
    assert all(each["verdict"]["unchecked"] for each in report["claims"][3:])  # unchecked is never clean
    assert report["claims"][0]["verdict"]["quotes"][0]["source"]["url"] == f"{url}/lit"
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    read = [passage for event in events if "unread" in event for passage in event["passages"]]
    assert read
    assert all(passage["named"] for passage in read)  # so that it is read like a document that was given
    assert [span["why"] for span in report["unchecked"]] == [{"reason": "no_link"}]
    assert sorted(asked) == ["/bread", "/gone", "/lit", "/museum"]

    assert run(["replay", str(folder), "-q", "--json"]) == 0  # nothing is fetched
    replayed = json.loads(capfd.readouterr().out)["verdicts"]
    assert [verdict["label"] for verdict in replayed] == [each["verdict"]["label"] for each in report["claims"]]
    run([*command, "--jsonl"])  # resumed
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["citation"] for line in sorted(lines, key=lambda line: line["item"])] == [
        each["citation"] for each in report["claims"]
    ]
    assert len(asked) == 4
    run(command)
    out = " ".join(capfd.readouterr().out.split())
    for words in (
        "the cited page supports it",
        "the cited page contradicts it",
        "could not be confirmed on the cited page",
        "dead link",
    ):
        assert words in out
    assert "every search failed" not in out  # nothing was searched for a dead link
    known = json.loads((folder / "citations.json").read_text())
    for damaged in ({**known, "links": known["links"][1:]}, {**known, "pages": known["pages"][1:]}, {}):
        (folder / "citations.json").write_text(json.dumps(damaged))
        assert run(command) == 2
        assert "not the pages that it cites" in capfd.readouterr().err


def test_an_html_answer_is_checked_from_python_and_every_report_names_its_citations(
    site: tuple[str, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    url, folder = site[0], tmp_path / "run"
    page = (
        f'<p>The lighthouse at Cape Ansel was <b>first lit</b> in 1871 <sup><a href="{url}/lit">[1]</a></sup>.</p>'
        f'<p>The museum at Orvell is open on <a href="{url}/museum">Mon<i>days</i></a>.</p>'
        f'<ul><li>The bridge at Orvell was opened in 1889 (<a href="{url}/gone">source</a>).</li></ul>'
    )
    report = asyncio.run(redargue.verify_citations(page, method="single-reader", folder=folder))
    assert "<" not in report.text
    assert "http" not in report.text
    citations = [claim.citation for claim in report.claims]
    assert [citation.outcome for citation in citations if citation] == ["supports", "contradicts", "dead_link"]

    assert run(["runs", "show", str(folder), "--json"]) == 0
    shown = json.loads(capfd.readouterr().out)
    assert [claim["citation"] for claim in shown["claims"]] == [c.model_dump(mode="json") for c in citations if c]
    words = ("the cited page supports it", "the cited page contradicts it", "dead link")
    assert run(["runs", "show", str(folder)]) == 0
    terminal = " ".join(capfd.readouterr().out.split())
    reports = [terminal, *(render(folder, format_) for format_ in ("html", "md", "annotation"))]
    assert all(word in text for text in reports for word in words)
    assert all(word in render(folder, format_) for format_ in ("sarif", "junit") for word in words[1:])
    (tmp_path / "answer.html").write_text(page)
    command = ["check", str(tmp_path / "answer.html"), "--cited", "--method", "single-reader", "--run", str(folder)]
    assert run([*command, "--json", "-q"]) == 0  # the same text, resumed
    assert json.loads(capfd.readouterr().out)["claims"] == shown["claims"]


@pytest.mark.parametrize(
    "text",
    [
        "<https://a.example/b> is a page.",
        "If a < b, then </b> closes it.",
        "<!-- a -->" * 3000 + "<p",
        "<p>An open tag.",
    ],
)
def test_what_only_looks_like_html_is_read_as_it_is(text: str) -> None:
    assert as_markdown(text) == text


def test_a_text_without_links_and_a_run_without_a_network_say_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", "Bees are insects. Birds are animals.", "--cited", "-q"]) == 2
    assert "cites no page" in capfd.readouterr().err
    text = "Bees are insects (https://a.example/bees)."
    command = ["check", text, "--cited", "--offline", "--method", "single-reader", "-q", "--json", "--no-record"]
    assert run(command) == 5
    (claim,) = json.loads(capfd.readouterr().out)["claims"]
    assert claim["citation"]["outcome"] == "not_fetched"
    assert "--offline" in claim["citation"]["why"]


@pytest.mark.slow
def test_a_url_is_fetched_only_if_asked(
    site: tuple[str, list[str]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    url, asked = site
    ground = ["ground", "--answer", LIT, "--context", f"{url}/lit", "--method", "single-reader", "-q", "--no-record"]
    assert run(ground) == 2
    assert "--fetch" in capfd.readouterr().err
    assert asked == []
    assert run([*ground, "--fetch", "--json"]) == 0
    report = json.loads(capfd.readouterr().out)
    assert report["outcome"] == "factual"
    assert report["claims"][0]["verdict"]["quotes"][0]["source"]["title"] == "A page"
    check = ["check", f"{url}/lit", "--fetch", "--store", "starter", "--method", "single-reader", "--no-record"]
    assert run([*check, "-q", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["text"] == LIT
    assert asked == ["/lit", "/lit"]
    question = tmp_path / "question.txt"
    question.write_text("When was it lit?")
    page = ["ground", "--answer", f"{url}/lit", "--context", LIT, "--question", str(question), "--fetch", "--as", "qa"]
    assert run([*page, "--method", "single-reader", "-q", "--no-record", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["context"] == "When was it lit?"
    assert run(["ground", "--answer", LIT, "--context", f"{url}/gone", "--fetch", "-q", "--no-record"]) == 5
    assert "404" in capfd.readouterr().err


def test_a_private_address_is_not_fetched(capfd: pytest.CaptureFixture[str]) -> None:
    code = run(["check", "http://127.0.0.1/a", "--fetch", "-q", "--no-record"])
    assert code == UsageError("x").exit_code
    assert "not an address of the public internet" in capfd.readouterr().err


def test_links_to_documents_beside_the_text_are_read_and_nothing_outside_of_its_folder(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder, secret = tmp_path / "article", tmp_path / "secret.txt"
    (folder / "sources").mkdir(parents=True)
    secret.write_text(LIT)
    (folder / "sources" / "museum.md").write_text(CLOSED)
    (folder / "sources" / "light house.eml").write_text(f"Subject: The light\nFrom: a@b.example\n\n{LIT}\n")
    (folder / "sources" / "empty.txt").write_text("")
    (folder / ".hidden.txt").write_text(LIT)
    (folder / "linked.txt").symlink_to(secret)
    targets = ["sources/light%20house.eml", "sources/museum.md", "sources/gone.pdf", "sources/empty.txt"]
    outside = ["../secret.txt", str(secret), ".hidden.txt", "linked.txt", "sources/%2e%2e/../../secret.txt"]
    said = {"sources/museum.md": "The museum at Orvell is open on Mondays"}
    lit = "The lighthouse at Cape Ansel was first lit in 1871"
    file = folder / "article.md"
    file.write_text(" ".join(f"{said.get(target, lit)} ([source]({target}))." for target in (*targets, *outside)))
    command = ["check", str(file), "--cited", "--offline", "--method", "single-reader", "--no-record", "-q", "--json"]
    assert run(command) == 0
    report = json.loads(capfd.readouterr().out)
    found = [(claim["citation"]["url"], claim["citation"]["outcome"]) for claim in report["claims"]]
    outcomes = ["supports", "contradicts", "dead_link", "not_fetched"]
    assert found == list(zip([*targets, *outside], [*outcomes, *["not_fetched"] * len(outside)], strict=True))
    assert "empty" in report["claims"][3]["citation"]["why"]
    assert all("only documents in the folder" in claim["citation"]["why"] for claim in report["claims"][4:])
    assert "Cape Ansel" in report["claims"][0]["verdict"]["quotes"][0]["text"]
    assert run(["check", file.read_text(), *command[2:]]) == 2  # no file that the user named
    assert "cites no page" in capfd.readouterr().err


def test_an_html_file_links_documents_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "museum.txt").write_text(CLOSED)
    (tmp_path / "a.html").write_text(
        '<p>The museum at Orvell is open on <a href="museum.txt">Mondays</a>. See <a href="b.exe">this</a>.</p>'
    )
    command = ["check", str(tmp_path / "a.html"), "--cited", "--offline", "--method", "single-reader", "--no-record"]
    assert run([*command, "-q", "--json"]) == 0
    (claim,) = json.loads(capfd.readouterr().out)["claims"]
    assert (claim["citation"]["page"], claim["citation"]["outcome"]) == ("museum.txt", "contradicts")


def test_a_refused_port_names_the_variable_that_allows_it(capfd: pytest.CaptureFixture[str]) -> None:
    text = "Bees are insects (http://127.0.0.1:1/bees)."
    run(["check", text, "--cited", "--method", "single-reader", "--no-record", "-q", "--json"])
    (claim,) = json.loads(capfd.readouterr().out)["claims"]
    assert f"{ALLOW}=127.0.0.1:1 allows it" in claim["citation"]["why"]


@pytest.mark.parametrize(
    ("address", "kind", "content"),
    [
        ("http://a.example/letter", "message/rfc822", b"Subject: A\n\nIt was lit in 1871.\n"),
        ("http://a.example/note.rtf", "application/rtf", rb"{\rtf1\ansi It was lit in 1871.}"),
        ("http://a.example/note.md", "application/octet-stream", b"# A\n\nIt was lit in 1871.\n"),
    ],
)
def test_a_linked_document_is_read_as_a_file_is(address: str, kind: str, content: bytes) -> None:
    if kind == "application/rtf":
        pytest.importorskip("striprtf")
    page = Page(url=address, content_type=kind, charset="", content=content)
    assert "It was lit in 1871." in fields_of(page)["text"]
    damaged = Page(url="http://a.example/a.odt", content_type="", charset="", content=b"PK\x03\x04")
    with pytest.raises(UnreadableFile):
        fields_of(damaged)
