"""Builds the documentation with Sphinx: ``make docs``. Pages are plain Markdown, which code hosts render as well."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import typer
from sphinx.application import Sphinx
from typer.cli import get_docs_for_click

from redargue.cli.app import app as command_line

project = "redargue"
author = "the redargue maintainers"
copyright = author
release = version = importlib.metadata.version("redargue")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["schemas"]
html_theme = "furo"
html_title = f"redargue {release}"
html_static_path: list[str] = []
html_extra_path = ["schemas"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
autodoc_typehints = "description"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
napoleon_google_docstring = True
napoleon_custom_sections = [("Class keywords", "params_style")]
nitpicky = False
suppress_warnings = [
    "myst.xref_missing"
]  # links to files outside docs/, which a code host resolves; a test checks them

FOLDER = Path(__file__).parent
GENERATED = FOLDER / "_generated"  # ignored by git


def write_command_line(app: Sphinx) -> None:
    """Writes the reference of the command line from its own help texts."""
    command = typer.main.get_command(command_line)
    context = typer.Context(command, info_name="redargue")
    GENERATED.mkdir(exist_ok=True)
    (GENERATED / "command-line.md").write_text(
        get_docs_for_click(obj=command, ctx=context, name="redargue", title="Command line"), encoding="utf-8"
    )


def write_llms(app: Sphinx, exception: Exception | None) -> None:
    """Writes ``llms.txt``, an index of the pages, and ``llms-full.txt``, all pages in one file."""
    if exception or app.builder.format != "html":
        return
    pages = [name for name in sorted(app.env.found_docs) if not name.startswith(("decisions/", "_generated/"))]
    texts = {name: Path(app.env.doc2path(name)).read_text(encoding="utf-8") for name in pages}
    titles = {name: app.env.titles[name].astext() for name in pages}
    lines = [f"- [{titles[name]}]({app.builder.get_target_uri(name)})" for name in pages]
    out = Path(app.outdir)
    heading = "# redargue\n\n> Verifies claims against evidence with published multi-agent protocols.\n\n"
    (out / "llms.txt").write_text(heading + "\n".join(lines) + "\n", encoding="utf-8")
    (out / "llms-full.txt").write_text("\n\n".join(texts.values()), encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", write_command_line)
    app.connect("build-finished", write_llms)
