"""The published schema of ``verdicts.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from evalkit.report.data import verdicts_json
from evalkit.report.schema import verdicts_schema
from evalkit.verdict.model import ManyRuns
from tests.project import REPOSITORY, Project
from tests.report.build import blocked_run
from tests.suite.runs import library

PUBLISHED = Path(REPOSITORY) / "docs" / "schema" / "verdicts-1.json"


def published() -> Any:
    """The schema as it is published."""
    return json.loads(PUBLISHED.read_text("utf-8"))


def test_the_published_schema_is_the_codes() -> None:
    """Whoever changes a verdict runs ci/schemas."""
    assert published() == verdicts_schema(), "run ci/schemas"
    jsonschema.Draft202012Validator.check_schema(published())


def test_a_runs_verdicts_keep_to_the_schema(project: Project) -> None:
    """What `evalkit run` writes, of cases that pass and that fail, with and without a baseline."""
    library(project.root, [1, 2])
    project.write("suites/s.toml", 'target = "tests.suite.agents:once"\nsamples = 3\n')
    for name, agent in (("one", "once"), ("two", "twice")):
        project.run("run", "suites/s.toml", "--target", f"tests.suite.agents:{agent}", "--out", name, "-n", "1")
        if name == "one":
            assert project.run("baseline", "set", "one", "--reason", "the measure").code == 0
        jsonschema.validate(json.loads((project.root / name / "verdicts.json").read_bytes()), published())


@pytest.mark.parametrize("key", ["verdict", "digest", "rate", "many_runs"])
def test_a_file_that_lacks_a_key_is_refused(key: str) -> None:
    """Every key is always there, also where it is null."""
    parts = blocked_run()
    body = json.loads(verdicts_json(parts.verdicts, parts.decision))
    jsonschema.validate(body, published())
    del body["cases"][0][key]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(body, published())


def test_keys_say_what_they_mean() -> None:
    """Descriptions come from the docstrings."""
    properties = published()["properties"]["cases"]["items"]["properties"]
    assert properties["p_adjusted"]["description"] == "after correction over the suite's cases."
    assert ManyRuns.__name__ in published()["$defs"]
