"""Volatile arguments from the command line: stated or learnt at ingest, shown to the reviewer, edited, hinted at."""

from __future__ import annotations

import pytest

from evalkit.case.store import find_case, read_case
from evalkit.trace.model import Trace
from tests.build import a_trace, tool_step
from tests.project import Project

KEYS = [f"{digit * 8}-{digit * 4}-4{digit * 3}-8{digit * 3}-{digit * 12}" for digit in "1234"]
AGENT = """
import uuid
import evalkit

@evalkit.tool(effect="write")
def refund(order: int, key: str) -> dict:
    raise AssertionError

def buggy(order):
    refund(order, str(uuid.uuid4()))
    return {"done": refund(order, str(uuid.uuid4()))}

def mended(order):
    return {"done": refund(order, str(uuid.uuid4()))}
"""


def run_of(*keys: str) -> Trace:
    """A run that refunds once a key."""
    steps = [
        tool_step(at, "refund", {"order": 7, "key": key}, {"ok": True}, effect="write") for at, key in enumerate(keys)
    ]
    return a_trace(*steps, id=f"run-{keys[0][:3]}", input={"order": 7}, output={"done": {"ok": True}})


@pytest.fixture
def drawing(project: Project) -> Project:
    """An incident and a healthy run of an agent that draws idempotency keys."""
    project.write("drawing.py", AGENT)
    project.write("incident.trace", run_of(*KEYS[:2]))
    project.write("healthy.trace", run_of(KEYS[2]))
    return project


def ingested(project: Project, *options: str) -> str:
    """The case, made with the healthy run; what `ingest` said."""
    done = project.run(
        "ingest", "incident.trace", "--id", "twice", "--passing", "healthy.trace", "--no-verify", *options
    )
    assert done.code == 0, done.err
    return done.out


def volatile(project: Project) -> dict[str, tuple[str, ...]]:
    """What the newest version says."""
    return dict(read_case(find_case("twice", project.root / "cases")).volatile)


def replayed(project: Project, name: str) -> int:
    """The exit code of a replay."""
    return project.run("replay", "twice", "--target", f"drawing:{name}").code


def test_keys_are_learnt_shown_and_left_out(drawing: Project) -> None:
    """The buggy agent fails with new keys and the mended one passes; the reviewer sees what was taken for volatile."""
    said = "/key of refund is drawn anew in every run"
    assert said in ingested(drawing)
    assert volatile(drawing) == {"refund": ("/key",)}
    assert "/key of refund is drawn anew" in (drawing.root / "cases/twice/case.md").read_text()
    assert said in drawing.run("review", "twice").out
    assert (replayed(drawing, "buggy"), replayed(drawing, "mended")) == (1, 0)


def test_what_is_not_learnt_is_a_miss_that_says_how_to_declare_it(drawing: Project) -> None:
    """And declaring it by that command makes the replay possible; taking it back makes it a miss again."""
    ingested(drawing, "--no-learn")
    missed = drawing.run("replay", "twice", "--target", "drawing:mended")
    assert missed.code == 3
    assert "evalkit edit twice --volatile 'refund=/key' --reason WHY" in missed.out
    assert drawing.run("edit", "twice", "--volatile", "refund=/key", "--reason", "it is a uuid").code == 0
    assert (replayed(drawing, "buggy"), replayed(drawing, "mended")) == (1, 0)
    assert drawing.run("edit", "twice", "--match", "refund=/key", "--reason", "it is not").code == 0
    assert volatile(drawing) == {}
    assert replayed(drawing, "mended") == 3


def test_a_path_may_be_stated_at_ingest(drawing: Project) -> None:
    """Together with what is learnt."""
    ingested(drawing, "--volatile", "refund=/meta/*/at")
    assert volatile(drawing) == {"refund": ("/meta/*/at", "/key")}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--volatile", "refund"], "not of the form TOOL=/path"),
        (["--volatile", "refund=key"], "not of the form TOOL=/path"),
        (["--match", "refund=/order"], "/order of refund is not volatile"),
        ([], "pass one of --checks, --on-miss, or --volatile and --match"),
    ],
)
def test_what_names_no_path_is_refused(drawing: Project, options: list[str], said: str) -> None:
    """With the cure, and nothing is written."""
    ingested(drawing)
    done = drawing.run("edit", "twice", *options, "--reason", "a test")
    assert done.code == 2
    assert said in done.err
    assert read_case(find_case("twice", drawing.root / "cases")).version == 1


def test_a_tool_that_the_case_never_calls_is_no_place(drawing: Project) -> None:
    """A slip of the pen would leave out nothing, and look as if it did."""
    ingested(drawing)
    done = drawing.run("edit", "twice", "--volatile", "refunds=/key", "--reason", "it is a uuid")
    assert (done.code, "the case never calls refunds" in done.err, "refund" in done.err) == (2, True, True)
