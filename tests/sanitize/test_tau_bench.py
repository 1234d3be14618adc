"""Real runs: what survives of the true personal values, and whether fixtures still match."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from evalkit.canonical import canonical
from evalkit.errors import SanitizationFailed
from evalkit.sanitize.model import SanitizedTrace
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.sanitize.verify import verify
from evalkit.trace.model import Step, Trace
from tests.corpora import CORPORA, needs_corpora

CORPUS = CORPORA / "tau-bench"
KEY = b"tau-bench test key, 32 bytes...."
MOST_SURVIVORS = 0.02

pytestmark = [pytest.mark.corpus, needs_corpora]


def message(raw: dict[str, Any]) -> dict[str, Any]:
    """A chat message in normal form."""
    kept = {key: raw[key] for key in ("role", "content", "name", "tool_call_id") if raw.get(key) is not None}
    calls = raw.get("tool_calls") or []
    if calls:
        kept["tool_calls"] = [
            {"id": c["id"], "name": c["function"]["name"], "arguments": json.loads(c["function"]["arguments"])}
            for c in calls
        ]
    return kept


def trace_of(run: dict[str, Any]) -> Trace:
    """A run as a trace: model, tool and user steps."""
    steps: list[Step] = []
    said: list[Any] = []
    calls: dict[str, dict[str, Any]] = {}
    for made in (message(raw) for raw in run["traj"]):
        number = len(steps)
        if made["role"] == "assistant":
            steps.append(Step(number, "model", "chat", {"messages": list(said)}, made))
            calls.update({call["id"]: call for call in made.get("tool_calls", ())})
        elif made["role"] == "tool":
            call = calls[made["tool_call_id"]]
            steps.append(Step(number, "tool", call["name"], call["arguments"], made.get("content")))
        elif made["role"] == "user":
            steps.append(Step(number, "other", "user_message", None, made))
        said.append(made)
    return Trace(f"{run['task_id']}-{run['trial']}", "agent", "tau_bench", tuple(steps))


def true_values(user_id: str, user: dict[str, Any], orders: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The personal values of one user in the database, by kind. Payment ids count as personal."""
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
            walk(json.loads(node))
        else:
            found.append(str(node))

    for step in trace.steps:
        walk([step.output, None if step.kind == "model" else step.input])
    return "\n".join(found)


def written(trace: Trace) -> bytes:
    """A trace's values as bytes."""
    return canonical([[step.input, step.output] for step in trace.steps])


def occurs(value: str, text: str) -> bool:
    """Whether `value` stands in `text` as a word of its own."""
    return value in text and re.search(rf"(?<![0-9A-Za-z]){re.escape(value)}(?![0-9A-Za-z])", text) is not None


Run = tuple[list[Trace], Sanitizer, list[SanitizedTrace], dict[str, Any]]


@pytest.fixture(
    scope="module",
    params=[("gpt-4o-airline-even.json", "airline_users_old.json"), ("grok-3-retail-even.json", "users.json")],
    ids=["airline", "retail"],
)
def run(request: pytest.FixtureRequest) -> Run:
    """All runs of one domain sanitized as one batch, and the domain's users."""
    file, users = request.param
    traces = [trace_of(body) for body in json.loads((CORPUS / file).read_bytes())]
    sanitizer = Sanitizer(Policy(), KEY)
    return traces, sanitizer, sanitizer.sanitize(traces), json.loads((CORPUS / "env-db" / users).read_bytes())


def test_true_personal_values_do_not_survive(run: Run) -> None:
    """Of the values of every user that occur in a run, at most 2 % are left after sanitizing."""
    traces, _, made, users = run
    orders = json.loads((CORPUS / "env-db" / "orders.json").read_bytes())
    present: Counter[str] = Counter()
    survived: Counter[str] = Counter()
    for trace, clean in zip(traces, made, strict=True):
        raw, after = texts(trace), texts(clean.trace)
        for user_id, user in users.items():
            if occurs(user_id, raw):
                for kind, value in set(true_values(user_id, user, orders)):
                    present[kind] += occurs(value, raw)
                    survived[kind] += occurs(value, raw) and occurs(value, after)
    print("present", dict(present), "survived", dict(+survived))
    assert present.total() > 500
    assert survived.total() <= MOST_SURVIVORS * present.total()


def test_fixture_keys_still_match(run: Run) -> None:
    """Every call's arguments, sanitized again on their own, are those of the sanitized trace; surrogates stay."""
    traces, sanitizer, made, _ = run
    stranger = Sanitizer(Policy(), b"a machine without the project key")
    for trace, clean in zip(traces, made, strict=True):
        for before, after in zip(trace.steps, clean.trace.steps, strict=True):
            if before.kind == "tool":
                assert canonical(sanitizer.value(before.input)) == canonical(after.input)
                assert canonical(stranger.value(after.input)) == canonical(after.input)


def test_what_would_be_written_passes_the_last_look(run: Run) -> None:
    """No original is found in the sanitized traces as bytes, while the raw ones are refused."""
    traces, sanitizer, made, _ = run
    for clean in made:
        verify(written(clean.trace), sanitizer.harvested)
    telling = [trace for trace, clean in zip(traces, made, strict=True) if "email" in clean.record.counts]
    assert telling
    for trace in telling:
        with pytest.raises(SanitizationFailed):
            verify(written(trace), sanitizer.harvested)


def test_structure_is_untouched(run: Run) -> None:
    """Steps, tools, roles and amounts are as they were: only values of persons change."""
    traces, _, made, _ = run
    for trace, clean in zip(traces, made, strict=True):
        assert [(s.seq, s.kind, s.name) for s in clean.trace.steps] == [(s.seq, s.kind, s.name) for s in trace.steps]
        for before, after in zip(trace.steps, clean.trace.steps, strict=True):
            if before.kind == "tool" and isinstance(before.output, str) and before.output.startswith("[{"):
                assert before.output == after.output  # lists of flights hold no personal data
