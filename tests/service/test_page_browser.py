"""The page in Chromium: a debate is watched through a crash, loaded again and stopped; strangers' words run nothing."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support import chromium
from support.payloads import ALL, MARKUP
from support.reported import run_of, text_of
from support.serving import Service

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.extra,
    pytest.mark.skipif(bool(chromium.missing()), reason=chromium.missing() or "there is a browser"),
]
CLAIM = "The lighthouse at Cape Ansel was lit in 1871."
WORDS = ["one here", "two here", "three here", "four here"]
BATCH, TEXT, HOSTILE, ONE, LONG = (f"20260101-00000{at}-run" for at in range(5))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium.browser() as made:
        yield made


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home = tmp_path_factory.mktemp("service")
    runs = home / "runs"
    run_of(runs / BATCH, WORDS)
    text_of(runs / TEXT, WORDS)
    run_of(runs / HOSTILE, ALL)
    run_of(runs / ONE, ["".join(ALL)])
    run_of(runs / LONG, [f"The {'Donaudampfschiff' * 20} sank.", "It sank."])
    with Service(home) as made:
        yield made


def begin(page: Page, service: Service, claim: str = CLAIM, document: str = "") -> None:
    """Starts a check by keyboard alone."""
    page.goto(f"{service.url}/")
    page.get_by_label("Claim or text").focus()
    page.keyboard.type(claim)
    page.get_by_label("one claim with one verdict").check()
    if document:
        page.get_by_text("Or paste a document", exact=True).click()
        page.get_by_label("Document that is the only evidence").fill(document)
    page.get_by_role("button", name="Start the check").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/runs/"))


def held(service: Service, calls: int) -> None:
    """Has the service answer so many calls from now on, and then wait."""
    service.shut()
    if service.process:
        service.stop(signal.SIGKILL)
    service.start(calls)


def content(page: Page) -> str:
    return re.sub(r"\s+", " ", page.locator("main > div:not(.control)").inner_text())


def test_a_debate_is_watched_through_a_crash_of_the_service_to_its_verdict(browser: Browser, service: Service) -> None:
    held(service, 12)
    with chromium.opened(browser) as seen:
        page = seen.page
        begin(page, service)
        page.locator("section.round .turn").nth(1).wait_for()
        assert page.get_by_text("No verdict is shown while the claim is argued.").is_visible()
        assert page.locator(".verdict").count() == 0
        assert page.locator("aside ol.read li").count() == 1
        assert "calls" in page.locator("ul.cost").inner_text()
        page.get_by_text("Connected").wait_for()
        page.evaluate("window.notLoadedAgain = true")
        service.stop(signal.SIGKILL)
        page.get_by_text("The connection is lost").wait_for()
        service.start(0)
        service.open()
        page.locator(".finished .verdict").wait_for()
        page.get_by_text("This check has finished.").wait_for()
        assert page.evaluate("window.notLoadedAgain")
        assert page.locator(".sides > section").count() == 2
        assert page.get_by_text("redargue replay").is_visible()
        watched = content(page)
        page.reload()
        assert content(page) == watched
        assert page.locator("script").count() == 0
    assert seen.hosts == {"127.0.0.1"}


def test_a_check_is_stopped_and_loaded_again_as_it_was(browser: Browser, service: Service) -> None:
    held(service, 12)
    with chromium.opened(browser) as seen:
        page = seen.page
        begin(page, service)
        page.locator("section.round .turn").nth(1).wait_for()
        before = content(page)
        page.reload()
        page.locator("section.round .turn").nth(1).wait_for()
        assert content(page) == before
        page.get_by_role("button", name="Stop this check").press("Enter")
        page.get_by_text("This check was stopped before it finished.").wait_for()
        assert page.locator(".verdict").count() == 0
        page.goto(f"{service.url}/")
        assert "cancelled" in page.locator("tbody tr").first.inner_text()


def test_a_text_shows_its_claims_in_place_and_each_leads_to_its_page_without_a_script(
    browser: Browser, service: Service
) -> None:
    with chromium.opened(browser, script=False) as seen:
        page = seen.page
        page.goto(f"{service.url}/runs/{TEXT}")
        assert page.locator("#text mark").all_inner_texts() == WORDS
        page.locator("#text a").nth(1).click()
        assert page.locator("h1").inner_text() == WORDS[1]
        assert page.locator(".finished .verdict").count() == 1


def test_claims_are_filtered_without_a_script(browser: Browser, service: Service) -> None:
    with chromium.opened(browser, script=False) as seen:
        page = seen.page
        page.goto(f"{service.url}/runs/{BATCH}")
        assert page.locator("#rows tr").count() == len(WORDS)
        page.get_by_label("Outcome").select_option("refuted")
        page.get_by_role("button", name="Filter").press("Enter")
        assert "two here" in page.locator("#rows").inner_text()
        assert page.locator("#rows tr").count() == 1
        page.get_by_role("link", name="two here").click()
        assert page.locator("h1").inner_text() == "two here"


def test_a_long_word_leaves_the_other_columns_in_sight(browser: Browser, service: Service) -> None:
    with chromium.opened(browser) as seen:
        for address in ("/", f"/runs/{LONG}"):
            seen.page.goto(service.url + address)
            table = seen.page.get_by_role("region").filter(has_text="Donau").last
            assert table.evaluate("each => each.scrollWidth <= each.clientWidth"), address


def test_strangers_words_run_nothing_and_load_nothing(browser: Browser, service: Service) -> None:
    held(service, 12)
    with chromium.opened(browser) as seen:
        page = seen.page
        page.add_init_script("window.alert = () => { window.ran = true }")
        for path in (
            f"/runs/{HOSTILE}",
            f"/runs/{ONE}",
            f"/runs/{HOSTILE}/claims/1",
            f"/compare?run={ONE}&run={HOSTILE}",
        ):
            page.goto(service.url + path)
            assert page.evaluate("window.ran") is None
        begin(page, service, f"A lighthouse {' '.join(MARKUP[:20])}", "\n".join(MARKUP))
        page.locator("section.round .turn").first.wait_for()
        page.get_by_text("Connected").wait_for()
        assert page.evaluate("window.ran") is None
        assert page.locator("main iframe, main img, main object, main embed, main base, main script").count() == 0
        page.get_by_role("button", name="Stop this check").click()
    assert seen.hosts == {"127.0.0.1"}
    assert seen.said == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_axe_finds_nothing(browser: Browser, service: Service, width: int, dark: bool) -> None:
    from axe_playwright_python.sync_playwright import Axe

    if not service.process:
        service.start()
    found: dict[str, object] = {}
    with chromium.opened(browser, dark=dark, width=width) as seen:
        page = seen.page
        page.emulate_media(reduced_motion="reduce")
        begin(page, service)
        live = page.url
        paths = ("/", f"/runs/{BATCH}", f"/runs/{TEXT}", f"/runs/{BATCH}/claims/1", "/sign-in")
        for address in (live, *(service.url + path for path in (*paths, f"/compare?run={BATCH}&run={TEXT}"))):
            page.goto(address)
            tags = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag22aa"]}}
            result = Axe().run(page, options=tags)
            if violations := result.response["violations"]:
                found[address] = [
                    (violation["id"], violation["nodes"][0]["html"][:200], violation["nodes"][0]["failureSummary"])
                    for violation in violations
                ]
            assert page.evaluate("document.documentElement.scrollWidth") <= width, address
    assert found == {}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_files_are_uploaded_and_those_that_cannot_be_read_are_named(
    browser: Browser, service: Service, tmp_path: Path, width: int, dark: bool
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    if not service.process:
        service.start()
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "notes.md").write_text(CLAIM)
    (tmp_path / "press.txt").write_text(f"{CLAIM} It stands on a reef.")
    with chromium.opened(browser, dark=dark, width=width) as seen:
        page = seen.page
        page.goto(f"{service.url}/")
        page.get_by_label("Claim or text").fill(CLAIM)
        page.get_by_label("Or only these files").set_input_files([tmp_path / "empty.txt", tmp_path / "notes.md"])
        page.get_by_role("button", name="Start the check").press("Enter")
        assert page.get_by_role("alert").get_by_role("listitem").all_inner_texts() == ["empty.txt: the file is empty"]
        assert page.get_by_label("Claim or text").input_value() == CLAIM
        assert page.get_by_label("notes.md").is_checked()
        assert page.get_by_label("empty.txt: the file is empty").is_checked()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        tags = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag22aa"]}}
        assert Axe().run(page, options=tags).response["violations"] == []
        page.get_by_label("Claim or text").fill("")
        page.get_by_label("Or a file with the text").set_input_files(tmp_path / "press.txt")
        page.get_by_role("button", name="Start the check").press("Enter")
        page.wait_for_url(re.compile("/runs/"))
        page.goto(f"{service.url}/")
        assert page.locator("tbody tr").first.get_by_role("link").inner_text() == "press.txt"


def test_a_finished_page_prints_all_that_is_folded(browser: Browser, service: Service, tmp_path: Path) -> None:
    from pypdf import PdfReader

    with chromium.opened(browser, script=False) as seen:
        seen.page.goto(f"{service.url}/runs/{BATCH}/claims/1")
        seen.page.pdf(path=str(tmp_path / "page.pdf"))
    text = "".join(page.extract_text() for page in PdfReader(tmp_path / "page.pdf").pages)
    assert "Best case for" in text
    assert '"rounds": 2' in text  # folded settings
    assert "Skip to the content" not in text
