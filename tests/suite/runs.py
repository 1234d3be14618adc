"""Runs for tests: a library of small cases, and the executing of a suite on it."""

from __future__ import annotations

import resource
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

from evalkit.case.store import write_case
from evalkit.check.model import Check
from evalkit.forks import can_fork
from evalkit.suite.manifest import MANIFEST_NAME, start_run, suite_json
from evalkit.suite.model import Manifest, Selection, Suite
from evalkit.suite.results import read_samples
from evalkit.suite.run import OpenRun
from evalkit.suite.samples import RunSamples
from evalkit.suite.select import select_cases
from tests.build import a_case, a_trace, tool_step

CHECK = Check("called", {"name": "refund", "max": 1})


def library(root: Path, orders: list[int]) -> Path:
    """A case an order."""
    for order in orders:
        trace = a_trace(
            tool_step(0, "lookup", {"order": order}, {"amount": 5.0}),
            tool_step(1, "refund", {"order": order}, {"ok": True}, effect="write"),
            tool_step(2, "refund", {"order": order}, {"ok": True}, effect="write"),
            input={"order": order},
        )
        write_case(replace(a_case(trace, checks=[CHECK]), id=f"order-{order}"), root / "cases")
    return root


def run(root: Path, target: str, *, samples: int = 3, executor: str = "serial", **rest: object) -> RunSamples:
    """Runs all cases on an agent, one of `tests.suite.agents` or ``module:name``; continues a run that is there."""
    reference = target if ":" in target else f"tests.suite.agents:{target}"
    suite = Suite("test", reference, samples, **rest)  # type: ignore[arg-type]  # test options
    cases = select_cases(root / "cases", Selection())
    folder = root / "run"
    manifest = Manifest("r", suite_json(suite), tuple((c.id, c.version, c.digest, c.state) for c in cases), "now")
    if not (folder / MANIFEST_NAME).exists():
        start_run(folder, manifest)
    workers = 1 if executor == "serial" else 2
    if executor == "fork":
        _wait_for_threads()
    with OpenRun(folder, suite, cases, executor=executor, workers=workers) as opened:
        opened.up_to({case.id: samples for case in cases})
        opened.finish()
    return read_samples(folder)


def _wait_for_threads() -> None:
    """Those that an earlier test left; beside them nothing is forked, and another executor would be tested."""
    until = time.monotonic() + 20
    while not can_fork():
        assert time.monotonic() < until, f"threads of other tests go on: {threading.enumerate()}"
        time.sleep(0.05)


def main(root: str, target: str, samples: str, executor: str, largest_file: str = "") -> None:
    """A run in a process of its own; where a size is given, no file may grow beyond it, as on a full disk."""
    if largest_file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(largest_file), int(largest_file)))
    run(Path(root), target, samples=int(samples), executor=executor)


if __name__ == "__main__":
    main(*sys.argv[1:])


def alive(process: int) -> bool:
    """Whether a process goes on; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
