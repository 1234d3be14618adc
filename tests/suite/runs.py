"""Runs for tests: a library of small cases, and the executing of a suite on it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from evalkit.case.store import write_case
from evalkit.check.model import Check
from evalkit.suite.manifest import MANIFEST_NAME, start_run, suite_json
from evalkit.suite.model import Manifest, Sample, Selection, Suite
from evalkit.suite.results import read_samples
from evalkit.suite.run import OpenRun
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


def run(
    root: Path, target: str, *, samples: int = 3, executor: str = "serial", **rest: object
) -> dict[str, list[Sample]]:
    """Runs all cases under `root` on an agent of `tests.suite.agents`; continues a run that is there."""
    suite = Suite("test", f"tests.suite.agents:{target}", samples, **rest)  # type: ignore[arg-type]  # test options
    cases = select_cases(root / "cases", Selection())
    folder = root / "run"
    manifest = Manifest("r", suite_json(suite), tuple((c.id, c.version, c.digest, c.state) for c in cases), "now")
    if not (folder / MANIFEST_NAME).exists():
        start_run(folder, manifest)
    workers = 1 if executor == "serial" else 2
    with OpenRun(folder, suite, cases, executor=executor, workers=workers) as opened:
        opened.up_to({case.id: samples for case in cases})
        opened.finish()
    return read_samples(folder)


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2], samples=int(sys.argv[3]), executor=sys.argv[4])
