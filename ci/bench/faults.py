"""Faults around a run: what is done to it, and what is lost by that. Prints JSON; ``lost`` and ``twice`` must be 0.

    python ci/bench/faults.py [--tries N] [--cases N] [--samples N] [--down-s 60] [--only NAME ...]

Each kind of fault meets a run of the command line on its way, ``--resume`` finishes it, and its samples are held
against those of an undisturbed run: ``lost`` are not there, ``twice`` are there more than once, ``other`` came to
something else (outcome or trace). The full disk is a small tmpfs where this process may mount one, else a limit on the
size of files.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from evalkit import record
from evalkit.app.demo import agent
from evalkit.app.demo.server import Answer, ChatHandler, ScriptedModel, listening, serving

HERE = Path(__file__).parent
MESSAGE = "Hi, order A-1001 arrived broken. Please refund the 129.0 EUR and tell me when the money is on its way."
SUITE = 'samples = {samples}\nsequential = false\nkeep_traces = "all"\n[policy]\nkind = "zero_failures"\n'
LIVE = """\
target = "evalkit.app.demo.agent:run_fixed"
mode = "live-model"
sequential = false
[model]
base_url = "{url}"
concurrency = 8
"""
AT_ONCE = 8
JUMPING = """\
import random, time
real, draws = time.time, random.Random(7)
time.time = lambda: real() + draws.uniform(-1e6, 1e6)
"""

Rows: TypeAlias = Counter[tuple[str, int, str, str]]
Figures: TypeAlias = dict[str, Any]


class Bench:
    """A project with a library, and runs in it."""

    def __init__(self, root: Path, given: argparse.Namespace) -> None:
        self.root = root
        self.tries: int = given.tries
        self.samples: int = given.samples
        self.down_s: float = given.down_s
        self.draws = random.Random(20261130)
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parents[1])]),
            "BENCH_LAT": "0.01",
            "EVALKIT_PSEUDONYM_KEY": "00" * 32,
            "EVALKIT_ACTOR": "bench",
        }
        (root / "suites").mkdir()
        (root / "suites" / "s.toml").write_text(SUITE.format(samples=given.samples), "utf-8")
        making = [sys.executable, str(HERE / "library.py"), str(root / "cases"), str(given.cases)]
        subprocess.run(making, check=True, env=self.environment)
        self.finish(root / "calm")
        self.wanted = rows(root / "calm")

    def begin(self, out: Path, **more: Any) -> subprocess.Popen[str]:
        """A run, or its continuation, on its way."""
        what = ["--resume", str(out)] if (out / "run.json").exists() else ["suites/s.toml", "--out", str(out)]
        command = [sys.executable, "-m", "evalkit", "run", *what, "-n", "4", "--executor", "fork"]
        more.setdefault("env", self.environment)
        return subprocess.Popen(
            command, cwd=self.root, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more
        )

    def finish(self, out: Path, **more: Any) -> tuple[int, str]:
        """The same to its end: exit code, and what was said."""
        child = self.begin(out, **more)
        _, said = child.communicate(timeout=600)
        return child.returncode, said

    def compared(self, out: Path) -> Figures:
        """What is lost, there twice, or other than in the undisturbed run."""
        return against(self.wanted, rows(out))


def rows(out: Path) -> Rows:
    """A finished run's samples, as often as they stand there."""
    data = pa.BufferReader((out / "samples.parquet").read_bytes())  # no file of a disk that is unmounted stays open
    table = pq.read_table(data, columns=["case_id", "index", "outcome", "trace"])
    return Counter(zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True))


def against(wanted: Rows, got: Rows) -> Figures:
    """How two runs' samples differ."""
    want, have = Counter(key[:2] for key in wanted), Counter(key[:2] for key in got.elements())
    return {
        "samples": sum(want.values()),
        "lost": len(want.keys() - have.keys()),
        "twice": sum(count - 1 for count in have.values()),
        "other": sum(key not in wanted for key in got if key[:2] in want),
    }


def at_work(out: Path, child: subprocess.Popen[str]) -> None:
    """Waits until the run has a journal with something in it, or is over."""
    journal = out / "journal.jsonl"
    while child.poll() is None and not (journal.exists() and journal.stat().st_size):
        time.sleep(0.005)


def kill_controller(bench: Bench) -> Figures:
    """SIGKILL of the controller at random moments, until it came to its end between two of them."""
    out, kills = bench.root / "killed", 0
    for _ in range(bench.tries):
        child = bench.begin(out)
        at_work(out, child)
        time.sleep(bench.draws.uniform(0.0, 0.4))
        if child.poll() is None:
            kills += 1
            child.kill()
        child.communicate()
    code, _ = bench.finish(out)
    return {"done": f"{kills} kills", "exit_code": code, **bench.compared(out)}


def kill_workers(bench: Bench) -> Figures:
    """SIGKILL of a worker at random moments: its sample is replayed again."""
    out, kills = bench.root / "widowed", 0
    child = bench.begin(out)
    at_work(out, child)
    while child.poll() is None and kills < bench.tries:
        workers = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
        if workers:
            os.kill(int(bench.draws.choice(workers)), signal.SIGKILL)
            kills += 1
        time.sleep(bench.draws.uniform(0.05, 0.2))
    child.communicate()
    return {"done": f"{kills} kills", "exit_code": child.returncode, **bench.compared(out)}


def half_written(bench: Bench) -> Figures:
    """A journal cut anywhere, beside files that were being written: as a lost page of a crashed machine leaves them."""
    found: list[Figures] = []
    for number in range(bench.tries):
        out = bench.root / f"torn-{number}"
        child = bench.begin(out)
        at_work(out, child)
        time.sleep(0.3)
        child.kill()
        child.communicate()
        journal = out / "journal.jsonl"
        if journal.exists():
            os.truncate(journal, bench.draws.randrange(journal.stat().st_size))
        for name in ("samples.parquet", "traces.parquet", "report.html", "run.json", "journal.jsonl"):
            (out / f".{name}.writing").write_bytes(b"PAR1 half")
        bench.finish(out)
        found.append(bench.compared(out))
    return {"done": f"{bench.tries} torn journals", **summed(found)}


def full_disk(bench: Bench) -> Figures:
    """Disks of several sizes, that fill up in the journal or in the tables; then there is room again."""
    journal = bench.root / "whole"
    child = bench.begin(journal)
    most = 0
    while child.poll() is None:
        at = journal / "journal.jsonl"
        most = max(most, at.stat().st_size if at.exists() else 0)
        time.sleep(0.01)
    child.communicate()
    found: list[Figures] = []
    where: Counter[str] = Counter()
    for number in range(bench.tries):
        size = int(most * (0.1 + 1.1 * number / max(1, bench.tries - 1))) + 8192
        with disk(bench.root / f"disk-{number}", size) as (folder, limit, room):
            out = folder / "run"
            code, said = bench.finish(out, preexec_fn=limit)
            if code == 2:
                told = next((line for line in said.splitlines() if "disk is full" in line), said)
                where[Path(told.split(":")[1].strip()).name] += 1
            room()
            bench.finish(out)
            found.append({**bench.compared(out), "exit 2": code == 2, "exit other": code not in (0, 1, 2)})
    return {"done": f"{bench.tries} sizes up to {most} bytes", "full in": dict(where), **summed(found)}


@contextmanager
def disk(folder: Path, size: int) -> Iterator[tuple[Path, Callable[[], None] | None, Callable[[], None]]]:
    """A folder that holds so many bytes, what limits a child where that is none, and what makes room."""
    folder.mkdir()
    if os.geteuid() != 0:
        yield folder, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)), lambda: None
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield (
            folder,
            None,
            lambda: _room(folder),
        )
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _room(folder: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=256m", str(folder)], check=True)


def clock_jumps(bench: Bench) -> Figures:
    """A wall clock that is somewhere else, up to twelve days, whenever it is looked at."""
    (bench.root / "jumping").mkdir()
    (bench.root / "jumping" / "sitecustomize.py").write_text(JUMPING, "utf-8")
    path = os.pathsep.join([str(bench.root / "jumping"), bench.environment["PYTHONPATH"]])
    out = bench.root / "jumped"
    code, _ = bench.finish(out, env={**bench.environment, "PYTHONPATH": path})
    return {"done": "each look", "exit_code": code, **bench.compared(out)}


class Storm(ScriptedModel):
    """The demo's model behind a server that refuses some requests, in bursts.

    Args:
        share: of the requests that are refused.
    """

    def __init__(self, share: float) -> None:
        super().__init__(error_rate=0.0)
        self.share = share
        self.asked = self.refused = self.replies = 0
        self.draws = random.Random(1)

    def reply(self, messages: list[Figures]) -> Figures:
        """As the demo's; counted."""
        with self._lock:
            self.replies += 1
        return super().reply(messages)

    def refuses(self) -> bool:
        """Whether it is too much just now."""
        with self._lock:
            self.asked += 1
            burst = (self.asked // 20) % 2 == 0
            said = burst and self.draws.random() < self.share
            self.refused += said
            return said


class StormHandler(ChatHandler):
    """429 with a short Retry-After where the model refuses."""

    model: Storm

    def answer(self, body: Figures) -> Answer:
        """The model's reply, or that it is too much."""
        if self.model.refuses():
            return Answer({"error": {"message": "slow down"}}, 429, {"Retry-After": "0.1"})
        return super().answer(body)


def storms(bench: Bench) -> Figures:
    """Half of the requests are refused with 429, in bursts of twenty."""
    model = Storm(0.5)
    with listening(partial(StormHandler, model)) as url, live(bench, url) as (project, wanted):
        code, _ = live_run(bench, project)
    return {"done": f"{model.refused} of {model.asked} requests refused", **told(project, wanted, code)}


def endpoint_down(bench: Bench) -> Figures:
    """The endpoint is gone in the middle of a run; nothing listens for a while."""
    model = Storm(0.0)
    with serving(model) as url:
        port = int(url.rpartition(":")[2].partition("/")[0])
    up, over = threading.Event(), threading.Event()

    def serve() -> None:
        with serving(model, port):
            up.set()
            while model.replies < 3 * AT_ONCE and not over.is_set():
                time.sleep(0.01)
        time.sleep(bench.down_s)
        with serving(model, port):
            over.wait()

    thread = threading.Thread(target=serve)
    thread.start()
    up.wait()
    try:
        with live(bench, url) as (project, wanted):
            code, _ = live_run(bench, project)
    finally:
        over.set()
        thread.join()
    return {"done": f"gone for {bench.down_s:g} s, in the middle", **told(project, wanted, code)}


@contextmanager
def live(bench: Bench, url: str) -> Iterator[tuple[Path, int]]:
    """A project with one case of the demo's agent and a suite with a live model; how many samples it wants."""
    project = Path(tempfile.mkdtemp(dir=bench.root))
    (project / "suites").mkdir()
    count = 20 * bench.samples
    (project / "suites" / "s.toml").write_text(f"samples = {count}\n{LIVE.format(url=url)}", "utf-8")
    with serving(ScriptedModel(1.0)) as scripted:
        os.environ |= {"OPENAI_BASE_URL": scripted, "OPENAI_API_KEY": "none"}
        recording = record(project / "incident.trace", input={"message": MESSAGE})
        with recording as incident:
            incident.output = agent.run_buggy(MESSAGE)
    making = [sys.executable, "-m", "evalkit", "ingest", "incident.trace", "--id", "refund-twice", "--no-verify"]
    subprocess.run(making, cwd=project, env=bench.environment, check=True, stdout=subprocess.DEVNULL)
    yield project, count


def live_run(bench: Bench, project: Path) -> tuple[int, str]:
    """The live suite to its end."""
    command = [sys.executable, "-m", "evalkit", "run", "suites/s.toml", "--out", "run", "--reason", "bench"]
    done = subprocess.run(command, cwd=project, env=bench.environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(done.stderr)
    return done.returncode, done.stdout


def told(project: Path, wanted: int, code: int) -> Figures:
    """What a live run came to."""
    got = rows(project / "run")
    indices = Counter(index for _, index, _, _ in got.elements())
    attempts = project / "run" / "attempts.parquet"
    return {
        "exit_code": code,
        "samples": wanted,
        "lost": len(set(range(wanted)) - indices.keys()),
        "twice": sum(count - 1 for count in indices.values()),
        "outcomes": dict(Counter(outcome for _, _, outcome, _ in got.elements())),
        "replayed again": pq.read_metadata(attempts).num_rows if attempts.exists() else 0,
    }


def summed(found: list[Figures]) -> Figures:
    """The sums over several tries."""
    return {key: sum(int(one[key]) for one in found) for key in found[0]}


KINDS: dict[str, Callable[[Bench], Figures]] = {
    "kill -9 of the controller": kill_controller,
    "kill -9 of workers": kill_workers,
    "half-written files": half_written,
    "disk full": full_disk,
    "clock jumps": clock_jumps,
    "429 storms": storms,
    "endpoint down": endpoint_down,
}


def main() -> None:
    """Prints the table; exits with 1 where something was lost or done twice."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tries", type=int, default=10)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--down-s", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", default=list(KINDS), choices=list(KINDS))
    given = parser.parse_args()
    os.environ["EVALKIT_PSEUDONYM_KEY"], os.environ["EVALKIT_ACTOR"] = "00" * 32, "bench"
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name), given)
        found = {}
        for kind in given.only:
            found[kind] = KINDS[kind](bench)
            print(f"{kind}: {found[kind]}", file=sys.stderr)
    print(json.dumps(found, indent=2))
    sys.exit(any(one["lost"] or one["twice"] or one.get("other") for one in found.values()))


if __name__ == "__main__":
    main()
