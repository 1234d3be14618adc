"""What is read of each folder of the corpora, and what is not, with the reasons; prints JSON.

Usage: python ci/bench/read_corpora.py [--corpora FOLDER] [--list]

Files of a folder are counted apart: ``unreadable`` are files that a format claims, or that start like JSON and break;
``not_traces`` are those that no format claims (licences, policy texts, labels, schemas, expectations), by what they
are.
Nothing is decided by a file's name.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalkit.errors import EvalkitError, UnknownFormat, UnreadableTrace
from evalkit.trace.evidence import evidence
from evalkit.trace.formats.protocol import ReadReport
from evalkit.trace.json_input import parse_json
from evalkit.trace.modes import open_modes
from evalkit.trace.read import load_traces

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


def _sorted_out(report: ReadReport, folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    unreadable: dict[str, str] = {}
    not_traces = {str(Path(where).relative_to(folder)): why for where, why in report.passed_over.items()}
    for error in report.unreadable:
        name = error.where.removeprefix(f"{folder}/")
        kind = _what_it_is(error)
        (not_traces if kind else unreadable)[name] = kind or error.what
    return unreadable, not_traces


def _what_it_is(error: EvalkitError) -> str:
    """What JSON that no format claims holds; empty for what is broken, or claimed."""
    if not isinstance(error, UnknownFormat):
        return ""
    try:
        document = parse_json(Path(error.where).read_bytes(), error.where)
    except (UnreadableTrace, OSError):
        return ""
    if isinstance(document, list):
        first = document[0] if document else None
        return f"JSON: a list of {len(document)}" + (f", each with {_keys(first)}" if isinstance(first, dict) else "")
    if isinstance(document, dict) and ("$schema" in document or "$defs" in document):
        return "JSON: a schema"
    return f"JSON: an object with {_keys(document)}" if isinstance(document, dict) else "JSON: a value"


def _keys(value: dict[str, Any]) -> str:
    return ", ".join([*value][:4]) + (", ..." if len(value) > 4 else "")


def read_corpora(corpora: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each folder by its name."""
    for folder in sorted(path for path in corpora.iterdir() if path.is_dir()):
        yield folder.name, read_folder(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, default=_CORPORA)
    parser.add_argument("--list", action="store_true", help="name every file, not only how many of each kind")
    options = parser.parse_args()
    found = dict(read_corpora(options.corpora))
    if not options.list:
        for each in found.values():
            each["not_traces"] = dict(Counter(each["not_traces"].values()))
    print(json.dumps(found, indent=1, ensure_ascii=False))
