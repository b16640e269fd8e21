"""The templates of the page: those of the reports, and the page's own around them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from redargue.reports.html import environment as reports
from redargue.sanitize import printable, shortened
from redargue.service.checks import Check

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'self'",  # a check is started and stopped by a form, without a script too
        "frame-ancestors 'none'",
    )
)
_STYLES = (("redargue.reports", "html/report.css"), ("redargue.service.page", "static/page.css"))


OUTCOMES = {"not_enough": "not enough evidence", "unchecked": "not checked", "non_factual": "not factual"}
LAYOUT = {"layout": "page.html", "frames": "", "path": "", "signed_in": False}
_CLAIM_SHOWN = 400  # characters of a claim in a list


def outcome_words(outcome: str) -> str:
    """The outcome of a claim, a text or a check in words."""
    return OUTCOMES.get(outcome, outcome.replace("_", " "))


def outcomes_words(check: Check) -> str:
    """The outcome of a check; of several claims with different ones, how many have which."""
    if check.outcome:
        return outcome_words(check.outcome)
    return ", ".join(f"{count} {outcome_words(name)}" for name, count in sorted(check.outcomes.items()))


def claim_start(claim: str) -> str:
    return shortened(claim, _CLAIM_SHOWN)


@lru_cache(maxsize=1)
def page_environment() -> Environment:
    loaders = [PackageLoader("redargue.service.page", "templates"), PackageLoader("redargue.reports", "html")]
    shared = reports.environment().overlay(loader=ChoiceLoader(loaders))
    shared.globals = {
        **shared.globals,
        "claim_start": claim_start,
        "outcome_words": outcome_words,
        "outcomes_words": outcomes_words,
    }
    return shared


def render_page(template: str, **context: Any) -> str:
    """A whole page in the layout of the service."""
    return printable(page_environment().get_template(template).render({**LAYOUT, **context})) + "\n"


@lru_cache(maxsize=64)
def page_macro(template: str, name: str) -> Callable[..., Markup]:
    function: Callable[..., Markup] = getattr(page_environment().get_template(template).module, name)
    return function


@lru_cache(maxsize=1)
def style() -> str:
    return "\n".join(files(package).joinpath(name).read_text(encoding="utf-8") for package, name in _STYLES)


@lru_cache(maxsize=1)
def script() -> str:
    return files("redargue.service.page").joinpath("static/page.js").read_text(encoding="utf-8")
