"""How long ingesting takes by a trace's length: load, then sanitize, propose, verify and write; prints JSON.

Usage: python ci/bench/ingest.py [--steps N ...] [--rounds R] [--library FOLDER] [FILE ...]

Generated traces are chats in the manner of tau-bench: a policy as the system's message, turns of a user, look-ups and
writes, each model call with the whole conversation before it; the last write goes wrong. Half of them hold a customer's
name, address, phone number and, again and again, e-mail address. Of each FILE (any format that evalkit reads), the
longest trace is ingested. With a library (`ci/bench/library.py FOLDER 1000 people`), the project has its cases already.
Expected is a sentence that nobody says, so that a case comes about.
Times are milliseconds of wall clock after start-up: medians over R rounds, each into a project of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from evalkit.app.ingest import ingest_trace
from evalkit.app.settings import Settings
from evalkit.trace.file import encode_trace
from evalkit.trace.model import Effect, Step, Trace
from evalkit.trace.read import load_traces

_WORDS = (
    "order refund item return policy address payment gift card change cancel because please check total price".split()
)
_MAIL = "olivia.hartmann@fastmail.example"
_CUSTOMER = {
    "name": {"first_name": "Olivia", "last_name": "Hartmann"},
    "email": _MAIL,
    "phone": "+1 415 555 0142",
    "address": {"street": "48 Larkspur Lane", "city": "Portland", "zip": "97205"},
}
_EXPECTED = "A sentence that no run says."


def prose(rng: random.Random, words: int) -> str:
    """Some text."""
    return " ".join(rng.choices(_WORDS, k=words))


def chat(steps: int, *, personal: bool = False) -> Trace:
    """A run with this many steps; `personal`: the customer's data are in it, at the start and in every third note."""
    rng = random.Random(steps)
    messages: list[Any] = [{"role": "system", "content": prose(rng, 1000)}, {"role": "user", "content": prose(rng, 40)}]
    found: list[Step] = []
    while len(found) < steps:
        at, call = len(found), f"call_{rng.getrandbits(64):016x}"
        name = "get_order_details" if at + 2 < steps else "cancel_order"
        effect: Effect = "read" if at + 2 < steps else "write"
        arguments: dict[str, Any] = {"order_id": f"#W{rng.randrange(10**7):07d}", "note": prose(rng, 5)}
        if personal and at % 6 == 0:
            arguments["note"] += f" {_MAIL}"
        calls = [{"id": call, "name": name, "arguments": arguments}]
        asks: dict[str, Any] = {"role": "assistant", "content": prose(rng, 20), "tool_calls": calls}
        items = [{"id": rng.randrange(10**9), "name": prose(rng, 3)} for _ in range(6)]
        result: dict[str, Any] = {"status": "ok", "items": items}
        if personal and not at:
            result["customer"] = _CUSTOMER
        given: dict[str, Any] = {"messages": [*messages], "tools": [], "params": {"temperature": 0}}
        found.append(Step(at, "model", "chat", given, asks, model="m", started_at=1e9 + at, ended_at=1e9 + at + 0.5))
        found.append(Step(at + 1, "tool", name, arguments, result, effect=effect, effect_source="configured"))
        messages += [asks, {"role": "tool", "content": json.dumps(result), "tool_call_id": call}]
    return Trace(f"chat-{steps}", "bench", "bench", tuple(found[:steps]), input=prose(rng, 40), status="completed")


def longest(path: str) -> Trace:
    """The trace with the most steps."""
    return max(load_traces(path), key=lambda trace: len(trace.steps))


def measure(trace: Trace, rounds: int, library: Path | None) -> dict[str, Any]:
    """Milliseconds of loading a trace from its file, and of making it a case."""
    loads, ingests, used, size = list[float](), list[float](), list[float](), 0
    for at in range(rounds + 1):  # the first is thrown away
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            path = root / "x.trace"
            path.write_bytes(b"".join(encode_trace(trace)))
            (root / "cases").mkdir()
            for case in () if library is None else library.resolve().iterdir():
                (root / "cases" / case.name).symlink_to(case)
            began = time.perf_counter()
            (loaded,) = load_traces(path)
            read, began_cpu = time.perf_counter(), time.process_time()
            made = ingest_trace(
                loaded, Settings(root=root, cases=root / "cases", pseudonym_key="22" * 32), expect=_EXPECTED
            )
            done = time.perf_counter()
            if at:
                loads.append((read - began) * 1000)
                ingests.append((done - read) * 1000)
                used.append((time.process_time() - began_cpu) * 1000)
            size = made.path.stat().st_size if made.path else 0
    return {
        "steps": len(trace.steps),
        "load_ms": round(statistics.median(loads), 1),
        "ingest_ms": round(statistics.median(ingests), 1),
        "ingest_ms_min": round(min(ingests), 1),
        "ingest_ms_max": round(max(ingests), 1),
        "ingest_cpu_ms": round(statistics.median(used), 1),
        "case_bytes": size,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*")
    parser.add_argument("--steps", nargs="*", type=int, default=[50, 200, 800])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--library", type=Path)
    asked = parser.parse_args()
    print(
        json.dumps(
            {
                "generated": [measure(chat(steps), asked.rounds, asked.library) for steps in asked.steps],
                "with personal data": [
                    measure(chat(steps, personal=True), asked.rounds, asked.library) for steps in asked.steps
                ],
                "real": {Path(path).name: measure(longest(path), asked.rounds, asked.library) for path in asked.files},
            },
            indent=1,
        )
    )
