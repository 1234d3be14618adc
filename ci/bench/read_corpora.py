"""What is read of each folder of the corpora, and what is not, with the reasons; prints JSON.

Usage: python ci/bench/read_corpora.py [--corpora FOLDER] [--list]

Files of a folder are counted apart: ``unreadable`` are files that a format claims, or that start like JSON and break;
``not_traces`` are those that no format claims (licences, policy texts, labels, schemas, expectations), by what they
are. Nothing is decided by a file's name. A summary over all folders stands last.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalkit.errors import EvalkitError, UnknownFormat, UnreadableTrace
from evalkit.trace.detection import shape_of
from evalkit.trace.evidence import evidence
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.json_input import parse_json
from evalkit.trace.modes import open_modes
from evalkit.trace.read import load_traces

_NO_AGENT = re.compile(r"^none of the \d+ spans is of a generative AI call$")
_CORPORA = Path(__file__).parents[3] / "shared" / "corpora"


def read_folder(folder: Path) -> dict[str, Any]:
    """All that one folder comes to."""
    report = ReadReport()
    traces, scores, opened, formats = 0, 0.0, Counter[str](), Counter[str]()
    began = time.perf_counter()
    for trace in load_traces(folder, report=report, keep_going=True):
        traces += 1
        formats[trace.dialect] += 1
        scores += evidence(trace).score
        opened.update(mode for mode, reason in open_modes(trace).items() if reason is None)
    seconds = time.perf_counter() - began
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    unreadable, not_traces = _sorted_out(report, folder)
    return {
        "files": len(files),
        "megabytes": round(sum(path.stat().st_size for path in files) / 1e6, 2),
        "seconds": round(seconds, 2),
        "files_of_traces": _files_of_traces(folder, {*unreadable, *not_traces}),
        "traces": traces,
        "formats": dict(formats),
        "steps": dict(report.steps),
        "unknown": dict(report.unknown),
        "skipped": dict(report.skipped),
        "evidence_mean": round(scores / traces, 3) if traces else None,
        "open_modes": dict(opened),
        "unreadable": unreadable,
        "not_traces": not_traces,
    }


def _files_of_traces(folder: Path, others: set[str]) -> int:
    """How many files gave at least a trace or a counted element; a bundle's files are all its own.

    Each is read once more, alone: that no file is passed over by accident is to be seen without the folder's reader.
    """
    count = 0
    for path in folder.rglob("*"):
        if not path.is_file() or str(path.relative_to(folder)) in others:
            continue
        bundle = path.parent if (path.parent / "manifest.json").is_file() else path
        report = ReadReport()
        traces = sum(1 for _ in load_traces(bundle, report=report, keep_going=True))
        count += bool(traces or report.skipped)
    return count


def _sorted_out(report: ReadReport, folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    unreadable: dict[str, str] = {}
    not_traces = {str(Path(where).relative_to(folder)): why for where, why in report.passed_over.items()}
    for error in report.unreadable:
        name = error.where.removeprefix(f"{folder}/")
        kind = _what_it_is(error)
        (not_traces if kind else unreadable)[name] = kind or error.what
    return unreadable, not_traces


def _what_it_is(error: EvalkitError) -> str:
    """What JSON that no format claims holds, or an export without an agent; empty for what is broken."""
    if _NO_AGENT.search(error.what):
        return f"spans of no agent: {error.what}"
    if not isinstance(error, UnknownFormat):
        return ""
    try:
        document = parse_json(Path(error.where).read_bytes(), error.where)
    except (UnreadableTrace, OSError):
        return ""
    return shape_of(document)


def read_corpora(corpora: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each folder by its name."""
    for folder in sorted(path for path in corpora.iterdir() if path.is_dir()):
        yield folder.name, read_folder(folder)


def _summary(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What all folders come to; no file is left over."""
    total: dict[str, Any] = {
        name: sum(each[name] for each in found.values()) for name in ("files", "traces", "files_of_traces")
    }
    total["not_traces"] = sum(len(each["not_traces"]) for each in found.values())
    total["unreadable"] = sum(len(each["unreadable"]) for each in found.values())
    total["files_unaccounted"] = total["files"] - sum(
        total[name] for name in ("files_of_traces", "not_traces", "unreadable")
    )
    for name in ("formats", "steps", "unknown"):
        total[name] = dict(sum((Counter(each[name]) for each in found.values()), Counter[str]()))
    return total


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, default=_CORPORA)
    parser.add_argument("--list", action="store_true", help="name every file, not only how many of each kind")
    options = parser.parse_args()
    found = dict(read_corpora(options.corpora))
    summary = _summary(found)
    if not options.list:
        for each in found.values():
            each["not_traces"] = dict(Counter(each["not_traces"].values()))
    found["all folders"] = summary
    print(json.dumps(found, indent=1, ensure_ascii=False))
