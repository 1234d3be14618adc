"""1,000 cases x 10 samples of a stub agent, three frozen tool calls each, from a cold start to the written report.

    python ci/bench/run.py [--cases N] [--samples N] [--rounds N] [--peers NAME ...]

Every step, result, verdict and the report are written: one fsynced journal, then Parquet tables, HTML, JUnit, Markdown.
Equal replays are stored once, by digest. The scheme and the peers' scripts are those of ../shared/peerbench; a peer is
run where its packages are installed (`--peers control pydantic-evals`), in rounds interleaved with ours. Wall, CPU and
peak memory (of the largest process) are the operating system's accounting, start-up included; making the case library
is not measured.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PEERS = HERE.parents[2] / "shared" / "peerbench"
SCRIPTS = {"control": "b_control.py", "pydantic-evals": "b_pydevals.py", "langfuse": "b_langfuse.py"}

SUITE = """\
name = "bench"
samples = {samples}
keep_traces = "all"
"""


def measured(command: list[str], folder: Path, environment: dict[str, str]) -> dict[str, float]:
    """Wall seconds, CPU seconds and peak resident MB of a command and all its children."""
    began = time.perf_counter()
    child = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert child.stdout is not None
    output = child.stdout.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 1):  # 1: some cases fail, as they must
        raise SystemExit(f"{command} ended with {code}:\n{output[-3000:]}")
    return {
        "wall_s": round(wall, 2),
        "cpu_s": round(usage.ru_utime + usage.ru_stime, 2),
        "peak_mb": round(usage.ru_maxrss / 1024, 1),
    }


def ours(folder: Path, executor: str, environment: dict[str, str]) -> dict[str, float]:
    """One run of ours."""
    out = folder / "reports" / f"{executor}-{time.time_ns()}"
    command = [sys.executable, "-m", "evalkit", "run", "suites/bench.toml", "--out", str(out)]
    if executor != "auto":
        command += ["--executor", executor]
    return {**measured(command, folder, environment), **written(out)}


def written(out: Path) -> dict[str, float]:
    """What a run of ours left, counted from its files; in a process of its own, so that this one stays small."""
    done = subprocess.run([sys.executable, str(HERE / "count.py"), str(out)], capture_output=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def summary(rounds: list[dict[str, float]]) -> dict[str, Any]:
    """Medians of the measured figures; the rest as in the last round."""
    found: dict[str, Any] = dict(rounds[-1])
    for key in ("wall_s", "cpu_s", "peak_mb"):
        values = [one[key] for one in rounds]
        found[key] = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    return found


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--executors", nargs="*", default=["auto"], help="auto, serial, xdist")
    parser.add_argument("--peers", nargs="*", default=[], choices=list(SCRIPTS))
    given = parser.parse_args()
    rounds: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        making = [sys.executable, str(HERE / "library.py"), str(folder / "cases"), str(given.cases)]
        subprocess.run(making, check=True)
        (folder / "suites").mkdir()
        (folder / "suites" / "bench.toml").write_text(SUITE.format(samples=given.samples), "utf-8")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parents[1])]),
            "N_CASES": str(given.cases),
            "N_REP": str(given.samples),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode, ours and theirs
        ours(folder, "auto", environment)  # not counted: it may have to write that
        for _ in range(given.rounds):
            for executor in given.executors:
                rounds.setdefault(f"evalkit {executor}", []).append(ours(folder, executor, environment))
            for peer in given.peers:
                environment["PYTHONPATH"] = str(PEERS)
                command = [sys.executable, str(PEERS / SCRIPTS[peer])]
                rounds.setdefault(peer, []).append(measured(command, folder, environment))
                environment["PYTHONPATH"] = os.pathsep.join([str(HERE), str(HERE.parents[1])])
    cores = os.cpu_count()
    print(
        json.dumps(
            {
                "cases": given.cases,
                "samples_a_case": given.samples,
                "cores": cores,
                **{name: summary(several) for name, several in rounds.items()},
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
