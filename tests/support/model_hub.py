"""A model hub on 127.0.0.1: repositories of files with their commits, as huggingface_hub asks for them."""

from __future__ import annotations

import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urlsplit


class ModelHub:
    """Serves folders; ``commits`` has the files of each commit by repository, ``main`` the newest one.

    Attributes:
        downloads: the files that were sent whole.
    """

    def __init__(self) -> None:
        self.commits: dict[str, dict[str, dict[str, bytes]]] = {}
        self.main: dict[str, str] = {}
        self.downloads: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.answer(self, body=True)

            def do_HEAD(self) -> None:
                hub.answer(self, body=False)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def add(self, repository: str, folder: Path) -> str:
        """Adds a folder's files as the newest commit; its name."""
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
        commit = hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()
        self.commits.setdefault(repository, {})[commit] = files
        self.main[repository] = commit
        return commit

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(60)
        self._server.server_close()

    def answer(self, request: BaseHTTPRequestHandler, *, body: bool) -> None:
        parts = [unquote(part) for part in urlsplit(request.path).path.strip("/").split("/")]
        match parts:
            case ["api", "models", owner, name, "revision", revision]:
                commit = self._commit(f"{owner}/{name}", revision)
                found = {"id": f"{owner}/{name}", "sha": commit, "siblings": []}
                return self._send(request, json.dumps(found).encode() if commit else None, body=body)
            case ["api", "models", owner, name, "tree", revision]:
                files = self._files(f"{owner}/{name}", revision)
                rows = [
                    {"type": "file", "path": path, "size": len(data), "oid": _oid(data)} for path, data in files.items()
                ]
                return self._send(request, json.dumps(rows).encode(), body=body)
            case [owner, name, "resolve", revision, path]:
                data = self._files(f"{owner}/{name}", revision).get(path)
                if body:
                    self.downloads.append(path)
                commit = self._commit(f"{owner}/{name}", revision)
                headers = {"X-Repo-Commit": commit, "ETag": f'"{_oid(data or b"")}"'}
                return self._send(request, data, body=body, headers=headers)
        return self._send(request, None, body=body)

    def _commit(self, repository: str, revision: str) -> str:
        return self.main.get(repository, "") if revision == "main" else revision

    def _files(self, repository: str, revision: str) -> dict[str, bytes]:
        return self.commits.get(repository, {}).get(self._commit(repository, revision), {})

    def _send(
        self,
        request: BaseHTTPRequestHandler,
        data: bytes | None,
        *,
        body: bool,
        headers: dict[str, str] | None = None,
    ) -> None:
        request.send_response(404 if data is None else 200)
        for name, value in (headers or {}).items():
            request.send_header(name, value)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(data or b"")))
        request.end_headers()
        if body:
            request.wfile.write(data or b"")


def _oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
