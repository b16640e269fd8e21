"""Batches over HTTP: the part of the service that needs the ledger of the workers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from redargue.cluster.service.batches import BatchStore
from redargue.cluster.service.routes import batches_router
from redargue.files import home
from redargue.parts import Parts

router = batches_router


@asynccontextmanager
async def opened(application: FastAPI, parts: Parts) -> AsyncIterator[None]:
    """Keeps ``app.state.batches`` open while the service is running."""
    settings, folder = application.state.settings, home() / "service"
    budgets = application.state.budgets
    async with BatchStore(settings.rules, parts, folder, budgets, where=settings.ledger) as batches:
        application.state.batches = batches
        yield
