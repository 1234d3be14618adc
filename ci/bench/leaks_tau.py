"""What of tau-bench's true personal values is left in case files, and whether the recorded calls still match.

Used by ``leaks.py --tau``. The values are those of the database's users that occur in a run (looked for as words of
their own, JSON in strings taken apart): names, e-mails, addresses, birth dates, postcodes, payment ids, user ids.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

from evalkit.app.ingest import ingest_trace
from evalkit.app.settings import Settings
from evalkit.capture.seam import Call
from evalkit.case.store import read_case
from evalkit.playback.fixtures import FixtureIndex, Frozen, ReplayHalt
from evalkit.playback.keys import requested_model
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.trace.model import Kind, Trace
from evalkit.trace.read import load_traces

__all__ = ["tau"]

DOMAINS = {
    "airline": ("gpt-4o-airline-even.json", "airline_users_old.json"),
    "retail": ("grok-3-retail-even.json", "users.json"),
}
KEY = "5eed" * 16


def tau(folder: Path) -> dict[str, Any]:
    """The figures of both domains."""
    orders = json.loads((folder / "env-db" / "orders.json").read_bytes())
    found = {}
    for domain, (runs, users) in DOMAINS.items():
        traces = list(load_traces(folder / runs))
        people = json.loads((folder / "env-db" / users).read_bytes())
        values = {user_id: set(true_values(user_id, user, orders)) for user_id, user in people.items()}
        found[domain] = {
            "runs": len(traces),
            "one by one": one_by_one(traces, values),
            "one batch": batch(traces, values),
        }
    return found


def one_by_one(traces: Sequence[Trace], values: dict[str, set[tuple[str, str]]]) -> dict[str, Any]:
    """Every run made a case of its own, from file to file."""
    count = Survivors(values)
    calls = matched = told = 0
    with tempfile.TemporaryDirectory() as root:
        settings = Settings(root=Path(root), cases=Path(root) / "cases", pseudonym_key=KEY)
        for number, trace in enumerate(traces):
            done = ingest_trace(
                trace, settings, expect={"state": "never"}, new=True, keep_all=True, case_id=f"tau-{number}"
            )
            assert done.path is not None
            incident = read_case(done.path).incident
            count.add(trace, incident)
            asked, hit = replayed(incident, incident, Sanitizer(Policy(), bytes.fromhex(KEY)).value)
            calls, matched = calls + asked, matched + hit
            told += replayed(trace, incident, Sanitizer(Policy(), bytes.fromhex(KEY)).value)[1]
    return {
        **count.figures(),
        "calls": calls,
        "calls matched": matched,
        "raw calls matched by a sanitizer that has not seen the run": told,
    }


def batch(traces: Sequence[Trace], values: dict[str, set[tuple[str, str]]]) -> dict[str, Any]:
    """All runs sanitized together."""
    count = Survivors(values)
    sanitizer = Sanitizer(Policy(), bytes.fromhex(KEY))
    calls = matched = 0
    for trace, clean in zip(traces, sanitizer.sanitize(traces), strict=True):
        count.add(trace, clean.trace)
        asked, hit = replayed(trace, clean.trace, sanitizer.value)
        calls, matched = calls + asked, matched + hit
    return {**count.figures(), "calls": calls, "calls matched": matched}


class Survivors:
    """Counts values that occur in raw traces, and those left in the sanitized ones."""

    def __init__(self, values: dict[str, set[tuple[str, str]]]) -> None:
        self._values = values
        self._present: Counter[str] = Counter()
        self._left: Counter[str] = Counter()

    def add(self, raw: Trace, clean: Trace) -> None:
        """Count one run."""
        before, after = texts(raw), texts(clean)
        for user_id, values in self._values.items():
            if occurs(user_id, before):
                for kind, value in values:
                    if occurs(value, before):
                        self._present[kind] += 1
                        self._left[kind] += occurs(value, after)

    def figures(self) -> dict[str, Any]:
        """The counts and the share that is left."""
        total, left = self._present.total(), self._left.total()
        return {"values": total, "left": left, "left %": round(100 * left / total, 2), "by kind": dict(+self._left)}


def replayed(raw: Trace, clean: Trace, sanitize: Callable[[Any], Any]) -> tuple[int, int]:
    """How many dependency calls there are, and how many of them a frozen world answers when made again.

    The calls' arguments go through the sanitizer first, as in a replay. There they hold surrogates, because the case's
    input and answers do (one by one); a batch's own sanitizer also brings the raw ones to the same fixtures.
    """
    kinds: frozenset[Kind] = frozenset({"tool", "model"})
    index = FixtureIndex(clean.steps, kinds)
    frozen = Frozen(index)
    asked = hit = 0
    for step in raw.steps:
        if step.kind not in kinds or step.output is None:
            continue
        asked += 1
        call = Call(step.kind, step.name, sanitize(step.input), model=requested_model(step))
        with suppress(ReplayHalt):
            hit += frozen.answer(call) is not None
    return asked, hit


def true_values(user_id: str, user: dict[str, Any], orders: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The personal values of one user, by kind."""
    name = user["name"]
    yield from (("user id", user_id), ("name", f"{name['first_name']} {name['last_name']}"), ("email", user["email"]))
    for person in (name, *user.get("saved_passengers", ()), user):
        yield from (("name", person[key]) for key in ("first_name", "last_name") if key in person)
        if "dob" in person:
            day = date.fromisoformat(person["dob"])
            yield from (("birth date", person["dob"]), ("birth date", f"{day:%B} {day.day}, {day.year}"))
    for home in (user["address"], *(orders[order]["address"] for order in user.get("orders", ()))):
        yield from (("address", home["address1"]), ("address", home["address2"]), ("zip", home["zip"]))
    yield from (("payment id", payment) for payment in user["payment_methods"])


def texts(trace: Trace) -> str:
    """All texts of a trace, JSON in strings taken apart."""
    found: list[str] = []

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            found.extend(node)
            node = list(node.values())
        if isinstance(node, list):
            for item in node:
                walk(item)
        elif isinstance(node, str) and node[:1] in ("{", "["):
            try:
                walk(json.loads(node))
            except ValueError:
                found.append(node)
        else:
            found.append(str(node))

    walk([trace.input, trace.output, dict(trace.attributes)])
    for step in trace.steps:
        walk([step.input, step.output, dict(step.attributes), step.error and step.error.message])
    return "\n".join(dict.fromkeys(found))


def occurs(value: str, text: str) -> bool:
    """Whether `value` stands in `text` as a word of its own."""
    return value in text and re.search(rf"(?<![0-9A-Za-z]){re.escape(value)}(?![0-9A-Za-z])", text) is not None
