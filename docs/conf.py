"""Builds the documentation with Sphinx: ``make docs``. Pages are plain Markdown, which code hosts render as well."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import typer
from sphinx import addnodes
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
    """Writes ``llms.txt``, an index of the pages (https://llmstxt.org), and ``llms-full.txt``, all pages in one file."""
    if exception or app.builder.format != "html":
        return
    lines = ["# redargue", "", "> Verifies claims against evidence with published multi-agent protocols."]
    texts = []
    for tree in app.env.get_doctree("index").findall(addnodes.toctree):
        lines += ["", f"## {tree['caption']}", ""]
        for name in _with_subpages(app, tree["includefiles"]):
            lines.append(f"- [{app.env.titles[name].astext()}](_sources/{name}.md.txt)")
            texts.append(Path(app.env.doc2path(name)).read_text(encoding="utf-8"))
    out = Path(app.outdir)
    (out / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (out / "llms-full.txt").write_text("\n\n".join(texts), encoding="utf-8")


def _with_subpages(app: Sphinx, names: list[str]) -> list[str]:
    """Pages in the order of the tables of contents; of the decisions, the list alone."""
    found: list[str] = []
    for name in names:
        below = [] if name.startswith("decisions/") else app.env.toctree_includes.get(name, [])
        found += [name, *_with_subpages(app, below)]
    return found


def setup(app: Sphinx) -> None:
    app.connect("builder-inited", write_command_line)
    app.connect("build-finished", write_llms)
