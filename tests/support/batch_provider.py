"""A provider's batch endpoints, of OpenAI's shape; a loopback server answers the requests in the files."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Callable
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

Answered = tuple[int, dict[str, Any]]
ENDPOINT = "/v1/chat/completions"


class BatchProvider:
    """In a thread; everything but batches and their files goes to the server at ``upstream``.

    Attributes:
        opened: a batch ends once it is set.
        change: may replace the answer to a request: called with its line's number in the batch, the batch's number
            and the answer; None leaves the line out, as in a batch that has expired.
        end: the state in which a batch ends.
        refused: status and body of the answer to an upload, instead of a file.
        down: whether the state of a batch is answered with 503.
        direct: chat requests outside of batches.
        seen: bodies of all requests in batches.
    """

    def __init__(self, upstream: str) -> None:
        self.upstream, self.url = upstream, ""
        self.opened = threading.Event()
        self.opened.set()
        self.change: Callable[[int, int, Answered], Answered | None] = lambda line, batch, answered: answered
        self.end: Callable[[int], str] = lambda batch: "completed"
        self.refused: Answered | None = None
        self.down = False
        self.direct, self.seen = 0, list[dict[str, Any]]()
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self._say(*provider.post(self.path, dict(self.headers.items()), body))

            def do_GET(self) -> None:
                self._say(*provider.get(self.path.partition("?")[0]))

            def _say(self, status: int, content: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def post(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        with self._lock:
            if path == "/v1/files":
                return _json(*(self.refused or (200, self._file(headers, body))))
            if path == "/v1/batches":
                return _json(*self._batch(json.loads(body)))
        self.direct += path == ENDPOINT
        status, answer = self._forwarded(path, body)
        return _json(status, answer)

    def get(self, path: str) -> tuple[int, bytes]:
        with self._lock:
            if path == "/v1/batches":
                return _json(200, {"object": "list", "data": list(reversed(self.batches.values())), "has_more": False})
            kind, _, rest = path.removeprefix("/v1/").partition("/")
            if kind == "files":
                found = self.files.get(rest.removesuffix("/content"))
                return (200, found) if found is not None else _json(404, _error(f"No such File object: {rest}"))
            batch = self.batches.get(rest)
            if self.down:
                return _json(503, _error("The server is overloaded."))
            if batch is None:
                return _json(404, _error(f"No batch found with id '{rest}'."))
            if self.opened.is_set() and batch["status"] == "in_progress":
                self._finish(batch)
            return _json(200, batch)

    def _file(self, headers: dict[str, str], body: bytes) -> dict[str, Any]:
        kind = next(value for name, value in headers.items() if name.lower() == "content-type")
        form = BytesParser(EmailMessage, policy=HTTP).parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
        parts = {part.get_param("name", header="content-disposition"): part for part in form.iter_parts()}
        assert parts["purpose"].get_payload(decode=True) == b"batch"
        content = parts["file"].get_payload(decode=True)
        assert isinstance(content, bytes)
        id_ = f"file-{len(self.files) + 1}"
        self.files[id_] = content
        return {"id": id_, "object": "file", "bytes": len(content), "purpose": "batch", "status": "processed"}

    def _batch(self, asked: dict[str, Any]) -> Answered:
        if asked.get("completion_window") != "24h" or asked.get("endpoint") != ENDPOINT:
            return 400, _error("Invalid value.")
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        assert len({line["custom_id"] for line in lines}) == len(lines)
        assert {(line["method"], line["url"]) for line in lines} == {("POST", ENDPOINT)}
        assert len({line["body"]["model"] for line in lines}) == 1
        counts = {"total": len(lines), "completed": 0, "failed": 0}
        batch = {
            "id": f"batch_{len(self.batches) + 1}", "object": "batch", "endpoint": ENDPOINT, "errors": None,
            "input_file_id": asked["input_file_id"], "completion_window": "24h", "status": "in_progress",
            "output_file_id": None, "error_file_id": None, "request_counts": counts,
        }  # fmt: skip
        self.batches[batch["id"]] = batch
        self.seen += [line["body"] for line in lines]
        return 200, batch

    def _finish(self, batch: dict[str, Any]) -> None:
        number = len([each for each in self.batches.values() if each["status"] != "in_progress"])
        batch["status"] = self.end(number)
        if batch["status"] == "failed":
            batch["errors"] = {"object": "list", "data": [{"code": "invalid", "message": "too many enqueued tokens"}]}
            return
        output, errors = list[dict[str, Any]](), list[dict[str, Any]]()
        for at, line in enumerate(map(json.loads, self.files[batch["input_file_id"]].splitlines())):
            answered = self.change(at, number, self._forwarded(ENDPOINT, json.dumps(line["body"]).encode()))
            if answered is None:
                error = {"code": "batch_expired", "message": "This request could not be executed before the end."}
                errors.append({"id": f"r{at}", "custom_id": line["custom_id"], "response": None, "error": error})
                continue
            status, body = answered
            response = {"status_code": status, "request_id": f"q{at}", "body": body}
            row = {"id": f"r{at}", "custom_id": line["custom_id"], "response": response, "error": None}
            (output if status == 200 else errors).append(row)
        for name, rows in (("output", output), ("error", errors)):
            if rows:
                batch[f"{name}_file_id"] = id_ = f"file-{len(self.files) + 1}"
                self.files[id_] = "".join(json.dumps(row) + "\n" for row in reversed(rows)).encode()  # in any order
        batch["request_counts"] |= {"completed": len(output), "failed": len(errors)}

    def _forwarded(self, path: str, body: bytes) -> Answered:
        request = urllib.request.Request(self.upstream + path, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)


def _json(status: int, answer: dict[str, Any]) -> tuple[int, bytes]:
    return status, json.dumps(answer).encode()


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}
