"""The published schemas of ``verdicts.json`` and ``ab.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from evalkit.report.data import verdicts_json
from evalkit.report.schema import ab_schema, verdicts_schema
from evalkit.verdict.model import ManyRuns
from tests.cli.test_ab import AGENTS, SERIAL, ab, left_by, suite
from tests.project import REPOSITORY, Project
from tests.report.build import blocked_run
from tests.suite.runs import library

VERDICTS, AB = "verdicts-1.json", "ab-1.json"


def published(name: str) -> Any:
    """A schema as it is published."""
    return json.loads((Path(REPOSITORY) / "docs" / "schema" / name).read_text("utf-8"))


def nothing_more(schema: Any) -> Any:
    """The schema without leave for keys that it does not tell of."""
    if isinstance(schema, list):
        return [nothing_more(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: nothing_more(value) for key, value in schema.items()}
    return {"additionalProperties": False, **closed} if isinstance(schema.get("properties"), dict) else closed


@pytest.mark.parametrize(("name", "made"), [(VERDICTS, verdicts_schema()), (AB, ab_schema())])
def test_a_published_schema_is_the_codes(name: str, made: Any) -> None:
    """Whoever changes a verdict runs ci/schemas."""
    assert published(name) == made, "run ci/schemas"
    jsonschema.Draft202012Validator.check_schema(published(name))


def test_a_runs_verdicts_keep_to_the_schema(project: Project) -> None:
    """What `evalkit run` writes, of passing and failing cases, with and without a baseline; every key is told of."""
    library(project.root, [1, 2])
    project.write("suites/s.toml", 'target = "tests.suite.agents:once"\nsamples = 3\n')
    for name, agent in (("one", "once"), ("two", "twice")):
        project.run("run", "suites/s.toml", "--target", f"tests.suite.agents:{agent}", "--out", name, "-n", "1")
        if name == "one":
            assert project.run("baseline", "set", "one", "--reason", "the measure").code == 0
        body = json.loads((project.root / name / "verdicts.json").read_bytes())
        jsonschema.validate(body, nothing_more(published(VERDICTS)))


@pytest.mark.parametrize(("agent", "better"), [("twice", "a"), ("stray", "not compared")])
def test_an_ab_comparison_keeps_to_the_schema(project: Project, agent: str, better: str) -> None:
    """What `evalkit ab` writes and prints: compared, and where nothing could be; every key is told of."""
    done = ab(project, suite(project), "--b", f"target={AGENTS}:{agent}", "--json")
    assert left_by(project)["better"] == better
    schema = nothing_more(published(AB))
    jsonschema.validate(left_by(project), schema)
    jsonschema.validate(json.loads(done.out), schema)


def test_a_comparison_of_two_runs_keeps_to_the_schema(project: Project) -> None:
    """It has no folder of its own, and cases that only one of the runs has."""
    path = suite(project)
    for name, options in (("one", ()), ("two", ("--samples", "2"))):
        assert project.run("run", path, *options, "--out", name, *SERIAL).code == 0
    done = project.run("ab", "--from", "one", "two", "--json")
    jsonschema.validate(json.loads(done.out), nothing_more(published(AB)))


@pytest.mark.parametrize("key", ["verdict", "digest", "rate", "many_runs", "samples"])
def test_verdicts_that_lack_a_key_are_refused(key: str) -> None:
    """Every key is always there, also where it is null."""
    parts = blocked_run()
    body = json.loads(b"".join(verdicts_json(parts.verdicts, parts.decision)))
    jsonschema.validate(body, published(VERDICTS))
    del body["cases"][0][key]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, published(VERDICTS))


@pytest.mark.parametrize("path", ["sentence", "pass_rate.difference", "lost.a.share", "metrics.cost"])
def test_a_comparison_that_lacks_a_key_is_refused(project: Project, path: str) -> None:
    """Every key is always there, also deep inside."""
    assert ab(project, suite(project), "--b", f"target={AGENTS}:twice").code == 0
    body = left_by(project)
    *outer, last = path.split(".")
    inner = body
    for key in outer:
        inner = inner[key]
    del inner[last]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, published(AB))


def test_keys_say_what_they_mean() -> None:
    """Descriptions come from the docstrings, in the words of JSON."""
    properties = published(VERDICTS)["properties"]["cases"]["items"]["properties"]
    assert properties["p_adjusted"]["description"] == "after correction over the suite's cases."
    assert properties["p_value"]["description"].endswith("a change is a fact then.")
    assert ManyRuns.__name__ in published(VERDICTS)["$defs"]
    pair = published(AB)["$defs"]["CasePair"]["properties"]
    assert pair["reason"]["description"] == "why the case was not compared; empty for one that was."
