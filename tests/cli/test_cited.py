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
from redargue.errors import UsageError
from redargue.net.fetch import ALLOW
from redargue.reports.render import render
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
        thread = threading.Thread(target=server.serve_forever)
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
    for words in ("the cited page supports it", "the cited page contradicts it", "does not support it", "dead link"):
        assert words in out
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
