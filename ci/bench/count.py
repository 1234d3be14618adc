"""Counts what a run wrote, from its files; prints JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq


def count(out: Path) -> dict[str, float]:
    """Samples, steps of all samples, results, verdicts, and sizes in MB."""
    samples = pq.read_table(out / "samples.parquet", columns=["case_id", "outcome", "trace", "checks"])
    traces = pq.read_table(out / "traces.parquet", columns=["digest", "trace"])
    steps = {row["digest"]: len(json.loads(row["trace"])["steps"]) for row in traces.to_pylist()}
    return {
        "samples": samples.num_rows,
        "passed": samples.column("outcome").to_pylist().count("passed"),
        "steps": sum(steps[digest] for digest in samples.column("trace").to_pylist()),
        "distinct_traces": traces.num_rows,
        "results": sum(len(checks) for checks in samples.column("checks").to_pylist()),
        "verdicts": len(json.loads((out / "verdicts.json").read_bytes())["cases"]),
        "report_mb": round((out / "report.html").stat().st_size / 1e6, 2),
        "folder_mb": round(sum(file.stat().st_size for file in out.iterdir()) / 1e6, 2),
    }


if __name__ == "__main__":
    print(json.dumps(count(Path(sys.argv[1]))))
