"""The application behind ``redargue view``: the page alone, for the user of this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

from redargue.errors import RedargueError, UsageError
from redargue.net.services import limiter
from redargue.net.transport import Transport
from redargue.parts import Parts
from redargue.reports.folders import kind_of
from redargue.runs.folders import runs_folder
from redargue.service.checks import CheckStore
from redargue.service.context import MAX_BODY, MAX_UPLOAD
from redargue.service.guard import LOOPBACK, Guard
from redargue.service.keys import Keys
from redargue.service.page.frames import LAYOUT, page_environment
from redargue.service.page.routes import failed, page_router, shown
from redargue.service.problems import handle_problems
from redargue.service.rules import RequestRules


def create_viewer(folder: Path, own: Path, rules: RequestRules | None = None) -> FastAPI:
    """The page of the run folders in ``folder``; ``own`` is a folder for itself, in which there are no keys.

    A bench folder holds a run folder for each of its systems; ``/report`` compares them.
    """
    rules = rules or RequestRules()

    @asynccontextmanager
    async def lifespan(application: FastAPI) -> AsyncIterator[None]:
        resumes = folder == runs_folder()
        async with (
            Transport(limiter(), offline=rules.spec.offline) as transport,
            CheckStore(
                rules, parts=Parts(transport=transport), folder=folder, name="view", resumes=resumes
            ) as application.state.store,
        ):
            yield

    application = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False, lifespan=lifespan)
    application.state.keys = Keys(own)
    handle_problems(application)

    @application.get("/report")
    def report() -> HTMLResponse:
        kind = kind_of(folder)
        try:
            if kind is None:
                raise UsageError(f"{str(folder)!r} has no report", hint="redargue report RUN writes that of a run")
            return shown(kind.page(folder, page_environment(), **LAYOUT))
        except RedargueError as error:
            return failed(error)

    application.include_router(page_router)
    application.add_middleware(Guard, hosts=LOOPBACK, origins=(), max_body=MAX_BODY, larger={"/checks": MAX_UPLOAD})
    return application
