"""``redargue view``: recorded runs and running debates in a browser."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from redargue.cli.parameters import Offline, option
from redargue.errors import UsageError
from redargue.registry import install
from redargue.service.commands.serve import Corpora, read_corpora


def view(
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="Run or bench folder, a name that runs ls lists, or last.")
    ] = None,
    port: Annotated[int, option("VIEW_PORT", "Port; 0 for a free one.", min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    offline: Offline = False,
    corpus: Corpora = None,
) -> None:
    """Open a run, or the list of runs, in a page on this machine.

    A run that is not finished is shown while it goes on. Only this machine can reach the page. Needs the extra serve.
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        hint = install("serve")
        raise UsageError(f"the page needs {error.name}, which is not installed", hint=hint) from error
    from redargue.reports.folders import kind_of
    from redargue.runs.folders import find_run, runs_folder

    given = (port, browser, offline, read_corpora(corpus))
    if run is None:
        _serve(runs_folder(), "", *given)
        return
    folder = find_run(run).resolve()
    if any((folder / name).is_file() for name in ("run.json", "check.json")):
        _serve(folder.parent, f"runs/{folder.name}", *given)
    elif kind_of(folder):
        _serve(folder, "report", *given)
    else:
        raise UsageError(f"{str(folder)!r} is neither a bench nor a run", hint="redargue runs ls lists runs")


def _serve(folder: Path, path: str, port: int, browser: bool, offline: bool, corpora: Mapping[str, str]) -> None:
    import webbrowser

    from redargue.cli.options import live_tool
    from redargue.files import home
    from redargue.service.page.viewer import create_viewer
    from redargue.service.server import Server, bound_socket, only_one
    from redargue.spec import RunSpec

    listener = bound_socket("127.0.0.1", port)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/{path}"
    own = home() / "view"

    def ready() -> None:
        typer.echo(f"redargue: {url}", err=True)
        if browser:
            webbrowser.open(url)

    with only_one(own, "redargue view"):
        application = create_viewer(
            folder, own, spec=RunSpec(offline=offline), live=live_tool(offline=offline), corpora=corpora
        )
        Server(application, ready).run(sockets=[listener])
