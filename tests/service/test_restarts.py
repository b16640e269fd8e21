"""The service as a process, with real clients: restarts, kills, races, and a stop with open streams."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from redargue.runs.record import read_events
from support.serving import READY, Service

pytestmark = pytest.mark.slow
CLAIM = {"claim": "The lighthouse at Cape Ansel was lit in 1871."}
SOON = 10.0  # seconds; a service alone on a machine stops within one


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path / "home") as made:
        yield made


class Reader(threading.Thread):
    """An SSE client that reconnects as EventSource does: after ``retry``, with the last id."""

    def __init__(self, service: Service, path: str) -> None:
        super().__init__(daemon=True)
        self._service, self._path = service, path
        self.ids: list[int] = []
        self.kinds: list[str] = []
        self.connected, self.ended = 0, False
        self.some = threading.Event()

    def run(self) -> None:
        deadline = time.monotonic() + READY
        while not self.ended and time.monotonic() < deadline:
            try:
                self._read()
            except httpx2.TransportError:
                time.sleep(0.05)  # the service is being started again

    def _read(self) -> None:
        headers = {"Last-Event-ID": str(self.ids[-1])} if self.ids else {}
        with self._service.client() as http, http.stream("GET", self._path, headers=headers) as reply:
            self.connected += 1
            for line in reply.iter_lines():
                name, _, value = line.partition(": ")
                if name == "id":
                    self.ids.append(int(value))
                    self.some.set()
                elif name == "event" and value == "end":
                    self.ended = True
                elif name == "event":
                    self.kinds.append(value)


def start(service: Service) -> dict[str, str]:
    with service.client() as http:
        reply = http.post("/v1/checks", json=CLAIM)
        assert reply.status_code == 202, reply.text
        answer: dict[str, str] = reply.json()
        return answer


def wait(service: Service, id_: str) -> dict[str, str]:
    with service.client() as http:
        while True:
            answer: dict[str, str] = http.get(f"/v1/checks/{id_}").json()
            if answer["state"] not in ("queued", "running"):
                return answer
            time.sleep(0.05)


@pytest.mark.parametrize("stopped", [signal.SIGTERM, signal.SIGKILL])
def test_a_reader_gets_all_events_once_and_in_order_through_restarts_of_the_service(
    service: Service, stopped: int
) -> None:
    service.stop()
    service.start(calls=9)
    check = start(service)
    reader = Reader(service, f"/v1/checks/{check['id']}/events")
    reader.start()
    for calls in (7, 1_000):
        assert reader.some.wait(READY)
        service.stop(stopped)
        service.start(calls)
    reader.join(READY)
    assert reader.ended
    assert reader.connected >= 2
    log = (service.home / "runs" / check["id"] / "events.jsonl").read_text().splitlines()
    assert reader.ids == list(range(1, len(log) + 1))
    assert reader.kinds == [json.loads(line)["kind"] for line in log]
    assert wait(service, check["id"])["state"] == "done"


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_continues_json_lines_where_a_killed_service_ended_them(service: Service) -> None:
    service.stop()
    service.start(calls=15)
    check = start(service)
    url = f"/v1/checks/{check['id']}/events"
    curl = ["curl", "-sN", "-H", "Accept: application/x-ndjson"]
    with subprocess.Popen([*curl, service.url + url], stdout=subprocess.PIPE, text=True) as before:
        assert before.stdout
        first = [before.stdout.readline() for _ in range(6)]
        service.stop(signal.SIGKILL)
        first += [line for line in before.stdout if line.endswith("\n")]
    service.start()
    rest = subprocess.run(
        [*curl, f"{service.url}{url}?after={len(first)}"], capture_output=True, text=True, check=True, timeout=READY
    ).stdout
    log = (service.home / "runs" / check["id"] / "events.jsonl").read_text()
    assert "".join(first) + rest == log
    assert json.loads(log.splitlines()[-1])["kind"] == "claim_ended"


def test_a_killed_service_resumes_what_ran_and_has_what_was_finished(service: Service) -> None:
    finished = start(service)["id"]
    wait(service, finished)
    service.stop()
    service.start(calls=40)
    held = [start(service)["id"] for _ in range(6)]  # four run, two wait
    with service.client() as http:
        with http.stream("GET", f"/v1/checks/{held[0]}/events") as reply:
            next(line for line in reply.iter_lines() if line.startswith("id: "))
        service.stop(signal.SIGKILL)
    service.start()
    assert wait(service, finished)["state"] == "done"
    states = [wait(service, id_) for id_ in held]
    assert [state["state"] for state in states] == ["done"] * 6
    whole = sorted(event.kind for event in read_events(service.home / "runs" / finished))
    for id_ in held:
        kinds = sorted(event.kind for event in read_events(service.home / "runs" / id_))
        assert [kind for kind in kinds if kind != "call_failed"] == whole
    with service.client() as http:
        assert {each["id"] for each in http.get("/v1/checks").json()["checks"]} == {finished, *held}


def test_a_stop_ends_open_streams_and_the_process(service: Service) -> None:
    service.stop()
    service.start(calls=5)
    path = f"/v1/checks/{start(service)['id']}/events"
    opened, ends = threading.Barrier(6), []

    def follow(_: int) -> None:
        with service.client() as http, http.stream("GET", path) as reply:
            lines = reply.iter_lines()
            next(line for line in lines if line.startswith("id: "))
            opened.wait(READY)
            ends.append(list(lines)[-1:])

    with ThreadPoolExecutor(5) as readers:
        following = [readers.submit(follow, number) for number in range(5)]
        opened.wait(READY)
        began = time.monotonic()
        code = service.stop()
        seconds = time.monotonic() - began
        for each in following:
            each.result(READY)  # no stream was broken off
    assert code == 0
    assert seconds < SOON
    assert len(ends) == 5


def test_races_on_one_idempotency_key_start_one_run(service: Service) -> None:
    together = threading.Barrier(20)

    def post(_: int) -> str:
        with service.client() as http:
            together.wait(READY)
            reply = http.post("/v1/checks", json=CLAIM, headers={"Idempotency-Key": "once"})
        assert reply.status_code == 202
        id_: str = reply.json()["id"]
        return id_

    with ThreadPoolExecutor(20) as clients:
        ids = set(clients.map(post, range(20)))
    assert len(ids) == 1
    with service.client() as http:
        assert len(http.get("/v1/checks").json()["checks"]) == 1
