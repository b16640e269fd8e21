"""Batches of claims: start one, see its progress, read its verdicts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import StreamingResponse

from redargue.cluster.service.batches import BatchAnswer, BatchRequest, BatchStore
from redargue.service.context import Caller
from redargue.service.routes import STREAM_HEADERS, problems
from redargue.verdicts import Verdict

batches_router = APIRouter(prefix="/v1/batches", tags=["batches"])
_Id = Annotated[str, Path(alias="id", pattern="^[0-9a-f]{64}$", description="The id of a batch.")]


@batches_router.post("", status_code=202, responses=problems(402, 409, 429, 503))
async def start_batch(body: BatchRequest, request: Request, caller: Caller, response: Response) -> BatchAnswer:
    """Verify up to 10,000 claims; the same request again finds the same batch and tries its errors again."""
    answer = await _batches(request).submit(body, owner=caller.owner)
    response.headers["Location"] = f"/v1/batches/{answer.id}"
    return answer


@batches_router.get("/{id}", responses=problems(404, 409, 503))
async def read_batch(id_: _Id, request: Request, caller: Caller) -> BatchAnswer:
    """How many claims of a batch are finished."""
    return await asyncio.to_thread(_batches(request).get, id_, owner=caller.owner)


@batches_router.get(
    "/{id}/results",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "A line for each finished claim: its number and its verdict, in the order of the claims.",
            "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
        },
        **problems(404, 409, 503),
    },
)
async def read_results(id_: _Id, request: Request, caller: Caller) -> StreamingResponse:
    """The verdicts of a batch so far, as JSON Lines."""
    batches = _batches(request)
    await asyncio.to_thread(batches.get, id_, owner=caller.owner)  # an error has to come before the first line
    return StreamingResponse(
        _lines(batches.verdicts(id_, owner=caller.owner)), headers=STREAM_HEADERS, media_type="application/x-ndjson"
    )


async def _lines(verdicts: AsyncIterator[tuple[int, Verdict]]) -> AsyncIterator[str]:
    async for number, verdict in verdicts:
        yield json.dumps({"number": number, "verdict": verdict.model_dump(mode="json")}) + "\n"


def _batches(request: Request) -> BatchStore:
    store: BatchStore = request.app.state.batches
    return store
