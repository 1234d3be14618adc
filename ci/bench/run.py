"""A stub agent with three frozen tool calls through the whole runner, from a cold start to the written report.

    python ci/bench/run.py [--classes stub latency cores scale] [--rounds N] [--peers NAME ...]

Every step, result, verdict and the report are written: one fsynced journal, then Parquet tables, HTML, JUnit, Markdown.
Equal replays are stored once, by digest. The classes:

- ``stub``: cases x samples as they are;
- ``plan``: the same suite as it is by default: equal replays of a frozen case are told after two;
- ``latency``: as ``stub``, where each sample waits for 20 ms as for a model, 50 at once;
- ``cores``: ``stub`` on one worker and on two, as a quotient of wall time, with and without the start-up;
- ``scale``: one sample each of more and more cases: CPU a case and peak memory should not depend on their number;
- ``baseline``: the same once a run is their baseline, with what setting it, and gating the next run, takes.

The scheme and the peers' scripts are those of ../shared/peerbench; a peer is run in the classes ``stub`` and
``latency``, in rounds interleaved with ours, by `--peer-python` (and ``promptfoo`` by `--promptfoo`). Wall, CPU and
peak memory (of the largest process) are the operating system's accounting, start-up included; CPU a sample leaves out
what a run of a single sample costs. Making the case library is not measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

HERE = Path(__file__).parent
PEERS = HERE.parents[2] / "shared" / "peerbench"
SCRIPTS = {
    "control": "b_control.py",
    "pydantic-evals": "b_pydevals.py",
    "langfuse": "b_langfuse.py",
    "inspect": "b_inspect.py",
    "deepeval": "b_deepeval.py",
    "promptfoo": "",
}
CLASSES = ["stub", "plan", "latency", "cores", "scale", "baseline"]
LATENCY_S, AT_ONCE = "0.02", "50"

SUITE = """\
name = "bench"
samples = {samples}
sequential = {sequential}
keep_traces = "all"
[policy]
kind = "zero_failures"
"""

Figures: TypeAlias = dict[str, float]


@dataclass(frozen=True, slots=True)
class Bench:
    """Where and with what it is measured."""

    folder: Path
    cases: int
    samples: int
    rounds: int
    peers: tuple[str, ...]
    peer_python: str
    promptfoo: str

    def environment(self, *paths: Path, **more: str) -> dict[str, str]:
        """Of a process that is measured."""
        found = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), **more}
        found.update(N_CASES=str(self.cases), N_REP=str(self.samples))
        found.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode, ours and theirs
        return found

    def ours(self, *flags: str, suite: str = "bench", cases: str = "cases", **more: str) -> Figures:
        """One run of ours."""
        out = self.folder / "reports" / str(time.time_ns())
        command = ["run", f"suites/{suite}.toml", "--out", str(out), *flags]
        found = {**self.command(*command, cases=cases, **more), **written(out)}
        shutil.rmtree(out)
        return found

    def command(self, *arguments: str, cases: str, **more: str) -> Figures:
        """One command of ours."""
        environment = self.environment(HERE, HERE.parents[1], EVALKIT_CASES=cases, **more)
        return measured([sys.executable, "-m", "evalkit", *arguments], self.folder, environment)

    def peer(self, name: str, **more: str) -> Figures:
        """One run of a peer."""
        folder = self.folder / "peers"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(PEERS, folder)
        environment = self.environment(folder, **more)
        command = [self.peer_python, SCRIPTS[name]]
        if name == "promptfoo":
            subprocess.run([self.peer_python, "pf/gen.py", "js"], cwd=folder, env=environment, check=True)
            environment |= {"PROMPTFOO_CONFIG_DIR": str(folder / "state"), "PROMPTFOO_DISABLE_TELEMETRY": "1"}
            environment |= {"PROMPTFOO_DISABLE_UPDATE": "1"}
            flags = "--no-cache --no-table --no-share -o out.jsonl".split()
            command = [self.promptfoo, "eval", "-c", "pf/cfg_js.json", "--repeat", str(self.samples), "-j", AT_ONCE]
            command += flags
        return measured(command, folder, environment)


def measured(command: list[str], folder: Path, environment: dict[str, str]) -> Figures:
    """Wall seconds, CPU seconds and peak resident MB of a command and all its children."""
    began = time.perf_counter()
    child = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert child.stdout is not None
    output = child.stdout.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1, 100):  # 1, promptfoo 100: some cases fail, as they must
        raise SystemExit(f"{command} ended with {code}:\n{output[-3000:]}")
    return {
        "wall_s": round(wall, 2),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_mb": round(usage.ru_maxrss / 1024, 1),
    }


def written(out: Path) -> Figures:
    """What a run of ours left, counted from its files; in a process of its own, so that this one stays small."""
    done = subprocess.run([sys.executable, str(HERE / "count.py"), str(out)], capture_output=True, check=True)
    found: Figures = json.loads(done.stdout)
    return found


def summary(rounds: list[Figures]) -> dict[str, Any]:
    """Medians of the measured figures; the rest as in the last round."""
    found: dict[str, Any] = dict(rounds[-1])
    for key in ("wall_s", "cpu_s", "peak_mb"):
        values = [one[key] for one in rounds]
        found[key] = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    return found


def a_sample(rounds: list[Figures], start: Figures) -> float:
    """CPU milliseconds a sample, without the start-up; of the round that took least."""
    best = min(rounds, key=lambda one: one["cpu_s"])
    return round((best["cpu_s"] - start["cpu_s"]) / best["samples"] * 1000, 3)


def with_peers(bench: Bench, *flags: str, **more: str) -> dict[str, Any]:
    """Ours and the peers' in turns."""
    start = min((bench.ours(suite="one", cases="one", **more) for _ in range(3)), key=lambda one: one["cpu_s"])
    rounds: dict[str, list[Figures]] = {"evalkit": []}
    for _ in range(bench.rounds):
        rounds["evalkit"].append(bench.ours(*flags, **more))
        for peer in bench.peers:
            rounds.setdefault(peer, []).append(bench.peer(peer, **more))
    return {
        **{name: summary(several) for name, several in rounds.items()},
        "start_cpu_s": start["cpu_s"],
        "cpu_ms_a_sample": a_sample(rounds["evalkit"], start),
    }


def cores(bench: Bench) -> dict[str, Any]:
    """One worker and two, in turns; as a whole, and without what a run of a single sample takes."""
    start = min(bench.ours("-n", "1", suite="one", cases="one")["wall_s"] for _ in range(3))
    rounds: dict[str, list[Figures]] = {"1": [], "2": []}
    for _ in range(bench.rounds):
        for count, several in rounds.items():
            several.append(bench.ours("-n", count, "--executor", "fork"))
    best = {count: min(one["wall_s"] for one in several) for count, several in rounds.items()}
    return {
        **{f"{count} workers": summary(several) for count, several in rounds.items()},
        "start_wall_s": start,
        "times": round(best["1"] / best["2"], 2),
        "times_beyond_start": round((best["1"] - start) / (best["2"] - start), 2),
    }


def scale(bench: Bench, sizes: list[int]) -> dict[str, Any]:
    """One sample each of more and more cases."""
    found: dict[str, Any] = {}
    for size in sizes:
        make_library(bench.folder / f"cases-{size}", size)
        one = bench.ours(suite="one", cases=f"cases-{size}")
        shutil.rmtree(bench.folder / f"cases-{size}")
        found[f"{size:,} cases"] = {**one, "cpu_ms_a_case": round(one["cpu_s"] / size * 1000, 3)}
    return found


def with_baseline(bench: Bench, sizes: list[int]) -> dict[str, Any]:
    """One sample each of more and more cases, compared with another run of them."""
    found: dict[str, Any] = {}
    for size in sizes:
        cases, first, second = f"cases-{size}", f"reports/first-{size}", f"reports/second-{size}"
        who = "--actor", "bench", "--reason", "bench"
        make_library(bench.folder / cases, size)
        bench.command("run", "suites/one.toml", "--out", first, cases=cases)
        found[f"{size:,} cases"] = {
            "baseline set": bench.command("baseline", "set", first, *who, cases=cases),
            "run": bench.command("run", "suites/one.toml", "--out", second, cases=cases),
            "gate": bench.command("gate", second, cases=cases),
        }
        (bench.folder / "suites" / "one.baseline.parquet").unlink()
        shutil.rmtree(bench.folder / cases)
    return found


def make_library(root: Path, count: int) -> None:
    """A library of `count` cases of the stub agent."""
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    subprocess.run([sys.executable, str(HERE / "library.py"), str(root), str(count)], check=True, env=environment)


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--classes", nargs="*", default=["stub"], choices=CLASSES)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--executor", default="", help="serial, fork or xdist in the class stub; chosen otherwise")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 10_000, 100_000], help="of the class scale")
    parser.add_argument("--peers", nargs="*", default=[], choices=list(SCRIPTS))
    parser.add_argument("--peer-python", default=sys.executable, help="of the environment with the peers' packages")
    parser.add_argument("--promptfoo", default="promptfoo", help="its command")
    given = parser.parse_args()
    python = f"{platform.python_version()} in {sys.base_prefix}"  # a build without profiles takes a third longer
    found: dict[str, Any] = {"cases": given.cases, "samples_a_case": given.samples, "cores": os.cpu_count()}
    found["python"] = python
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bench = Bench(
            folder, given.cases, given.samples, given.rounds, tuple(given.peers), given.peer_python, given.promptfoo
        )
        make_library(folder / "one", 1)
        (folder / "suites").mkdir()
        suites = (("bench", given.samples, "false"), ("one", 1, "false"), ("plan", given.samples, "true"))
        for suite, samples, sequential in suites:
            text = SUITE.format(samples=samples, sequential=sequential)
            (folder / "suites" / f"{suite}.toml").write_text(text, "utf-8")
        if set(given.classes) - {"scale", "baseline"}:
            make_library(folder / "cases", given.cases)
            bench.ours()  # not counted: it may have to write bytecode
        executor = ["--executor", given.executor] if given.executor else []
        if "stub" in given.classes:
            found["stub"] = with_peers(bench, *executor)
        if "plan" in given.classes:
            found["plan"] = summary([bench.ours(suite="plan") for _ in range(given.rounds)])
        if "latency" in given.classes:
            found["latency"] = with_peers(bench, "-n", AT_ONCE, BENCH_LAT=LATENCY_S, BENCH_CONC=AT_ONCE)
        if "cores" in given.classes:
            found["cores"] = cores(bench)
        if "scale" in given.classes:
            found["scale"] = scale(bench, given.sizes)
        if "baseline" in given.classes:
            found["baseline"] = with_baseline(bench, given.sizes)
        found["load"] = os.getloadavg()
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
