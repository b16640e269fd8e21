"""Two thousand claims on a Ray cluster of two nodes over one PostgreSQL ledger, with a node killed in the middle.

Debates of one round without scores (two queries, two searches, two answers: four calls, two deep) at 500 ms a call,
eight claims in flight a worker. First one process without a ledger; then two nodes of one ``ray.cluster_utils.Cluster``
with two workers each, undisturbed and with a node lost; or (``--namespaces``, as root) two nodes in network namespaces
with addresses of their own, undisturbed and with one of them killed. Requests are counted by the server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks import pool
from benchmarks.pool import BUILD
from benchmarks.speed import served
from redargue.cluster.queue import find_batch, progress
from redargue.cluster.store import open_ledger
from redargue.runs.record import read_events

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support import postgres
from support.loopback import LoopbackProcess

AT_ONCE, NODES, SLOTS = 8, 2, 2
CHAT_MS = 500
BRIDGE, NETWORK = "rdbr0", "10.77.0"
HOST = f"{NETWORK}.254"


def main(arguments: list[str]) -> None:
    """Prints a line a way."""
    parser = argparse.ArgumentParser(prog="cluster")
    parser.add_argument("--claims", type=int, default=2000)
    parser.add_argument("--alone", type=int, default=400, help="claims of one process")
    parser.add_argument("--namespaces", action="store_true", help="only the nodes in namespaces; needs root")
    parser.add_argument("--only-lost", action="store_true", help="not the undisturbed run")
    given = parser.parse_args(arguments)
    shutil.rmtree(BUILD / "cluster", ignore_errors=True)
    (BUILD / "cluster").mkdir(parents=True)
    os.environ |= {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": "benchmark" * 8,
        "REDARGUE_API_KEY": "sk-loopback-1",
        "TAVILY_API_KEY": "tvly-loopback-1",
        "SERPER_API_KEY": "serper-loopback-1",
        "REDARGUE_TAVILY_REQUESTS_PER_MINUTE": "1000000",
        "REDARGUE_TAVILY_IN_FLIGHT": "64",
        "REDARGUE_SERPER_IN_FLIGHT": "64",
        "NO_PROXY": "*",
    }
    with served("disagreeing") as server:
        server.set_behaviour(chat_ms=CHAT_MS)
        _at(server.url)
        alone = _alone(server, given.alone)
        print(json.dumps(alone), flush=True)
        ways = (_namespaces,) if given.namespaces else (_cluster,)
        for way in ways:
            for lose in (True,) if given.only_lost else (False, True):
                with way(server) as (command, environment, where, kill):
                    result = _on_ray(server, given.claims, command, environment, where, kill if lose else None)
                    result["against one process"] = f"{result['claims a second'] / alone['claims a second']:.2f}x"
                    name = way.__name__.strip("_") + (", a node killed" if lose else "")
                    print(json.dumps({"way": name} | result), flush=True)


def _at(url: str) -> None:
    os.environ |= {
        "REDARGUE_BASE_URL": f"{url}/v1",
        "REDARGUE_TAVILY_URL": f"{url}/tavily",
        "REDARGUE_SERPER_URL": f"{url}/serper",
    }


def _batch(count: int, out: Path) -> list[str]:
    file = out.with_suffix(".jsonl")
    texts = (f"The bridge at Orvell was opened in {1000 + number}." for number in range(count))
    file.write_text("".join(json.dumps({"claim": text}) + "\n" for text in texts))
    options = ["--model", "m", "--tool", "tavily", "--tool", "google", "--rounds", "1", "--concurrency", str(AT_ONCE)]
    options += ["--set", "scoring=label_only_stop", "--set", "judge_scores=false", "--response-format", "schema", "-q"]
    return [sys.executable, "-m", "redargue.cli.app", "batch", str(file), *options, "-o", str(out)]


def _alone(server: LoopbackProcess, count: int) -> dict[str, Any]:
    server.reset()
    out = BUILD / "cluster" / "alone"
    process, first = pool.started(_batch(count, out), stdout=subprocess.DEVNULL), 0.0
    while process.poll() is None:
        time.sleep(0.05)
        if not first and (out / "verdicts.jsonl").exists() and (out / "verdicts.jsonl").stat().st_size:
            first = time.perf_counter()
    assert process.returncode == 0
    seconds = time.perf_counter() - first
    return {"way": "one process", "claims": count, "claims a second": round(count / seconds, 2)} | _sound(
        server, out, count
    )


def _on_ray(
    server: LoopbackProcess,
    count: int,
    command: list[str],
    environment: dict[str, str],
    where: str,
    kill: Callable[[], None] | None,
) -> dict[str, Any]:
    """A batch from its command to its files, of which the first claim is waited for by nobody."""
    server.reset()
    out = BUILD / "cluster" / f"ray-{time.monotonic_ns()}"
    began = time.perf_counter()
    batch = [*_batch(count, out), "--engine", "ray", "--workers", str(NODES * SLOTS), "--ledger", where]
    process = pool.started([*command, *batch], env=os.environ | environment, stdout=subprocess.DEVNULL)
    figures: dict[str, Any] = {"claims": count}
    first = killed = 0.0
    while process.poll() is None:
        time.sleep(0.2)
        done = _done(where)
        if done and not first:
            first = time.perf_counter() - began
        if kill and not killed and done >= count * 0.4:
            kill()
            killed, figures["killed after claims"] = time.perf_counter() - began, done
    assert process.returncode == 0, process.returncode
    assert not kill or killed, "the batch ended before a node was killed"
    seconds = time.perf_counter() - began
    figures |= {"seconds": round(seconds, 1), "until the first claim": round(first, 1)}
    figures["claims a second"] = round(count / (seconds - first), 2)
    return figures | _sound(server, out, count)


def _done(where: str) -> int:
    try:
        ledger = open_ledger(where)
    except Exception:  # it is being made
        return 0
    try:
        return progress(ledger, find_batch(ledger).number)[0].done
    except Exception:
        return 0
    finally:
        ledger.close()


def _sound(server: LoopbackProcess, out: Path, count: int) -> dict[str, Any]:
    """Whether every claim is there once, without an error, and what was asked more often than it is on record."""
    verdicts = [json.loads(line) for line in (out / "verdicts.jsonl").read_text().splitlines()]
    assert [verdict["item"] for verdict in verdicts] == list(range(count)), "claims are missing, or there twice"
    assert not any(verdict["error"] for verdict in verdicts), [
        verdict["error"] for verdict in verdicts if verdict["error"]
    ][:3]
    keys = Counter((event.item, event.key) for event in read_events(out) if event.kind == "call_finished")
    asked = server.counts().requests["chat"]
    return {
        "labels": dict(Counter(verdict["label"] for verdict in verdicts)),
        "finished calls on record": keys.total(),
        "of them repeated": keys.total() - len(keys),
        "requests to the model": asked,
        "of them lost in flight": asked - keys.total(),
    }


Way = tuple[list[str], dict[str, str], str, Callable[[], None]]


@contextmanager
def _cluster(server: LoopbackProcess) -> Iterator[Way]:
    from ray.cluster_utils import Cluster

    with postgres.running(durable=True) as database:
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": SLOTS, "include_dashboard": False})
        second = made.add_node(num_cpus=SLOTS)
        try:
            where = database.create("cluster")
            yield [], {"RAY_ADDRESS": made.address}, where, lambda: made.remove_node(second, allow_graceful=False)
        finally:
            made.shutdown()


@contextmanager
def _namespaces(server: LoopbackProcess) -> Iterator[Way]:
    """A bridge with the ledger and the model on it, and two namespaces with a node each."""
    with ExitStack() as stack:
        _ip("link", "add", BRIDGE, "type", "bridge")
        stack.callback(_ip, "link", "del", BRIDGE)
        _ip("addr", "add", f"{HOST}/24", "dev", BRIDGE)
        _ip("link", "set", BRIDGE, "up")
        for number in range(1, NODES + 1):
            _ip("netns", "add", f"rd{number}")
            stack.callback(_ip, "netns", "del", f"rd{number}")
            stack.callback(_ip, "link", "del", f"rdv{number}")
            _ip("link", "add", f"rdv{number}", "type", "veth", "peer", "name", "eth0", "netns", f"rd{number}")
            _ip("link", "set", f"rdv{number}", "master", BRIDGE, "up")
            inside = ("-n", f"rd{number}")
            _ip(*inside, "addr", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                _ip(*inside, "link", "set", link, "up")
        database = stack.enter_context(postgres.running(durable=True, listen=HOST))
        database.create("cluster")
        port = stack.enter_context(_forwarded(int(server.url.rpartition(":")[2])))
        before = dict(os.environ)
        stack.callback(lambda: os.environ.update(before))
        _at(f"http://{HOST}:{port}")
        for number in range(1, NODES + 1):
            stack.callback(_kill, f"rd{number}")
        ray = str(Path(sys.executable).parent / "ray")
        for number in range(1, NODES + 1):
            head = ["--head", "--port=6379", "--include-dashboard=false"]
            role = head if number == 1 else [f"--address={NETWORK}.1:6379"]
            start = [ray, "start", *role, f"--node-ip-address={NETWORK}.{number}", f"--num-cpus={SLOTS}"]
            _ip("netns", "exec", f"rd{number}", *start)
        where = f"postgresql://redargue@{HOST}/cluster"
        yield ["ip", "netns", "exec", "rd1"], {"RAY_ADDRESS": f"{NETWORK}.1:6379"}, where, _switch_off


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, stdout=subprocess.DEVNULL)


def _switch_off() -> None:
    """Disconnects the second node, so that no other node is notified, and ends it."""
    _ip("link", "set", "rdv2", "down")
    _kill("rd2")


def _kill(namespace: str) -> None:
    while pids := subprocess.run(["ip", "netns", "pids", namespace], check=True, capture_output=True).stdout.split():
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.05)


@contextmanager
def _forwarded(target: int) -> Iterator[int]:
    """A port on the bridge that leads to a port of this host's loopback."""
    loop, ports = asyncio.new_event_loop(), list[int]()
    ready = threading.Event()

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while part := await reader.read(65536):
                writer.write(part)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(pipe(reader, there[1]), pipe(there[0], writer))

    async def serve() -> None:
        listening = await asyncio.start_server(joined, HOST, 0)
        ports.append(listening.sockets[0].getsockname()[1])
        ready.set()

    loop.create_task(serve())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    ready.wait(10)
    yield ports[0]
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
