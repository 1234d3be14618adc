"""Real runs: everybody whom a run's database knows is found by name, e-mail and id, and is gone after erasing."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.sanitize.subject import Subject, claims_of
from evalkit.vault.index import sought, terms_of_traces
from tests.corpora import needs_corpora
from tests.sanitize.test_tau_bench import CORPUS, KEY, occurs, texts, trace_of

pytestmark = [pytest.mark.corpus, needs_corpora]


@pytest.mark.parametrize(
    ("file", "users"),
    [("gpt-4o-airline-even.json", "airline_users_old.json"), ("grok-3-retail-even.json", "users.json")],
    ids=["airline", "retail"],
)
def test_everybody_is_found_and_can_be_forgotten(file: str, users: str) -> None:
    """By index and by surrogates, for each of a user's names; who isn't there is not found."""
    traces = [trace_of(body) for body in json.loads((CORPUS / file).read_bytes())[:20]]
    people = json.loads((CORPUS / "env-db" / users).read_bytes())
    clean = Sanitizer(Policy(), KEY).sanitize(traces)
    known = terms_of_traces(traces, Policy(), KEY)
    found: Counter[str] = Counter()
    for trace, made, terms in zip(traces, clean, known, strict=True):
        raw, lines = texts(trace), texts(made.trace).split("\n")
        for user_id in (one for one in people if one in raw):
            person = people[user_id]
            name = f"{person['name']['first_name']} {person['name']['last_name']}"
            for called in (user_id, name, person["email"]):
                if occurs(called, raw):
                    subject = Subject.named([called], Policy(), KEY)
                    eraser = subject.eraser()
                    found["there"] += 1
                    found["in the index"] += sought(claims_of(called, Policy()), KEY).presence(terms) == "whole"
                    found["in the case"] += subject.presence(lines) == "whole"
                    found["left"] += subject.presence(map(eraser.text, lines)) != "none"
        absent = next(one for one in people if one not in raw and people[one]["name"]["last_name"] not in raw)
        found["absent"] += 1
        found["absent, found"] += sought(claims_of(absent, Policy()), KEY).presence(terms) == "whole"
    print(dict(found))
    assert found["there"] > 30
    assert found["in the index"] == found["in the case"] == found["there"]
    assert (found["left"], found["absent, found"]) == (0, 0)
