"""`evalkit export`: a test that fails on the incident and passes when it is mended, YAML to be read, a trace."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from evalkit.case.export_pytest import render_pytest
from evalkit.case.store import read_case
from evalkit.check.model import Check
from evalkit.trace.read import load_traces
from tests.build import a_case
from tests.demo import TARGET
from tests.project import REPOSITORY, Outcome, Project

AGENTS = "tests.suite.agents"
GUARDED = '''\
"""The demo's agent, mended in code: it refunds an order once, and then answers."""
import json
from evalkit.app.demo import agent

paid = set()

def run(message):
    paid.clear()
    call = agent._call
    def once(function):
        if function.name == "refund_order":
            if function.arguments in paid:
                raise Paid
            paid.add(function.arguments)
        return call(function)
    agent._call = once
    try:
        return agent.run_buggy(message)
    except Paid:
        return {"answer": "Your refund is on its way."}
    finally:
        agent._call = call

class Paid(Exception):
    pass
'''


def run_test(project: Project, path: str, *more: str) -> Outcome:
    """pytest on an exported file: no key, no plug-ins, and a folder that is not the project's settings' business."""
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "EVALKIT_PSEUDONYM_KEY")
    environment = {name: value for name, value in os.environ.items() if name not in keys}
    environment |= {"PYTHONPATH": str(REPOSITORY), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "HOME": str(project.root)}
    return project.python("pytest", "-q", path, *more, env=environment)


def test_one_form_at_a_time(project: Project, case_id: str) -> None:
    """The second one would be left out."""
    assert project.run("export", case_id, "--pytest", "--yaml").code == 2
    assert project.run("export", case_id).code == 2


def test_the_exported_test_fails_on_the_incident_and_passes_when_it_is_mended(project: Project, case_id: str) -> None:
    """The demo's agent with its model's calls: offline, without a key."""
    done = project.run("export", case_id, "--pytest", "--out", "tests/test_twice.py")
    assert done.code == 0, done.err
    failing = run_test(project, "tests/test_twice.py")
    assert failing.code == 1, failing.out
    assert "refund_order" in failing.out
    project.write("guarded.py", GUARDED)
    mended = project.run("export", case_id, "--pytest", "--target", "guarded:run", "--out", "tests/test_mended.py")
    assert mended.code == 0, mended.err
    passing = run_test(project, "tests/test_mended.py")
    assert passing.code == 0, passing.out + passing.err


def test_an_agent_without_a_model_likewise(project: Project) -> None:
    """The case's own target is what runs, where none is said."""
    project.ingested("refund-twice", "--target", f"{AGENTS}:twice")
    project.run("export", "refund-twice", "--pytest", "--out", "test_a.py")
    project.run("export", "refund-twice", "--pytest", "--target", f"{AGENTS}:once", "--out", "test_b.py")
    assert run_test(project, "test_a.py").code == 1
    assert run_test(project, "test_b.py").code == 0


def test_a_miss_is_no_pass_of_the_test(project: Project) -> None:
    """It fails with the sentence that names the nearest recorded call."""
    project.ingested("refund-twice")
    project.run("export", "refund-twice", "--pytest", "--target", f"{AGENTS}:stray", "--out", "test_a.py")
    done = run_test(project, "test_a.py")
    assert done.code == 1
    assert "not measured: call 1: tool lookup has no recorded answer" in done.out


@pytest.mark.parametrize("agent", ["raises", "skips"])
def test_an_agent_that_breaks_off_is_no_pass_of_the_test(project: Project, agent: str) -> None:
    """It repeats nothing, and so keeps every check that says what must not be; a run fails it, too."""
    body = "def raises(order):\n    raise RuntimeError('down')\ndef skips(order):\n    pytest.skip('not today')\n"
    project.write("broken.py", f"import pytest\n{body}")
    project.ingested("refund-twice")
    project.run("export", "refund-twice", "--pytest", "--target", f"broken:{agent}", "--out", "test_a.py")
    done = run_test(project, "test_a.py")
    assert done.code == 1, done.out
    assert "test_the_run_comes_to_its_end_without_an_error" in done.out


def test_the_test_says_in_words_what_must_hold(project: Project) -> None:
    """A function a gating check, named by its sentence, and that the run ends well; observations are not asserted."""
    project.ingested("refund-twice", "--target", f"{AGENTS}:once")
    source = project.run("export", "refund-twice", "--pytest").out
    tree = ast.parse(source)
    case = read_case(project.root / "cases" / "refund-twice" / "v0001.parquet")
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    assert len(names) == len(case.gating) + 1
    assert names[-1] == "test_the_run_comes_to_its_end_without_an_error"
    assert "test_the_agent_does_not_make_a_change_twice" in names
    assert 'Path(__file__).parent / "cases" / "refund-twice" / "v0001.parquet"' in source


def test_the_test_is_formatted_as_people_format(project: Project) -> None:
    """Nothing for ruff to change or to complain of, also where a check has much to say."""
    expected: dict[str, Any] = {
        "effects": [{"name": "refund", "arguments": {"order": number, "note": "x" * 30}} for number in range(3)]
    }
    checks = [Check("effects_equal", expected), Check("output_contains", {"text": 'say "it\'s done"', "from": "x"})]
    source = render_pytest(a_case(checks=checks), PurePosixPath("../cases/a/v0001.parquet"), "agent:run")
    path = project.write("test_a.py", source)
    for arguments in (["format", "--check"], ["check", "--select", "E,F,I,UP,PT"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--isolated", "--line-length", "100", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr + source


@pytest.mark.parametrize("text", ['"""\nimport os\n"""', "\\", "\\N{BULLET}", 'ends with "', "\u202eevil\r\nimport os"])
def test_text_of_a_case_is_never_code(text: str) -> None:
    """Titles, notes, names and arguments come from traces."""
    checks = [
        Check("not_called", {"name": text}, note=text),
        Check("called", {"name": text, "arguments": {text: text}}),
    ]
    source = render_pytest(a_case(checks=checks, title=text), PurePosixPath("x.parquet"), text)
    tree = ast.parse(source)
    assert not any(
        "os" in [alias.name for alias in node.names] for node in ast.walk(tree) if isinstance(node, ast.Import)
    )
    literals = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert text in literals


@pytest.mark.parametrize("params", [{"replay": 1}, {"class": 1}, {"a-b": 1}])
def test_parameters_that_are_no_names_are_passed_all_the_same(params: dict[str, Any]) -> None:
    """Python would not take them by keyword."""
    source = render_pytest(a_case(checks=[Check("step_limit", params)]), PurePosixPath("x.parquet"), "a:b")
    call, _ = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and _named(node) == "holds"]
    (unpacked,) = call.keywords
    assert unpacked.arg is None
    assert ast.literal_eval(unpacked.value) == params


def _named(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def test_the_yaml_says_what_the_case_holds(project: Project) -> None:
    """Any YAML reader reads it: checks with their sentences, the path's steps, the answers beside it."""
    project.promoted()
    text = project.run("export", "refund-twice", "--yaml").out
    assert text.startswith("# The case refund-twice@3, for reading")
    body = yaml.safe_load(text)
    case = read_case(project.root / "cases" / "refund-twice" / "v0003.parquet")
    assert (body["case"], body["version"], body["state"]) == ("refund-twice", 3, "permanent")
    assert [one["check"] for one in body["must_hold"]] == [check.type for check in case.gating]
    assert all(one["says"] for one in body["must_hold"])
    steps = {one["step"]: one for one in [*body["steps"], *body["further_answers"]]}
    for step in case.incident.steps:
        assert (steps[step.seq]["input"], steps[step.seq]["output"]) == (step.input, step.output)
    assert [event["reason"] for event in body["life"]] == [event.reason for event in case.life]


@pytest.mark.parametrize(
    "text", ["two\nlines", "- no: [list]", "# no comment", "\x00\x1b[31m", "\ud800", "null", " a "]
)
def test_yaml_keeps_every_text(text: str) -> None:
    """Also those that look like YAML, and those that can't be shown."""
    from evalkit.case.export_yaml import render_yaml

    rendered = render_yaml(replace(a_case(), title=text))
    assert yaml.safe_load(rendered.encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass"))["title"] == text
    assert "\x1b" not in rendered


def test_the_trace_is_read_again(project: Project) -> None:
    """The same steps, by the same reader as any trace; what was pruned or sanitized stays so."""
    project.ingested("refund-twice")
    done = project.run("export", "refund-twice", "--trace", "--out", "out/case.trace")
    assert (done.code, done.out) == (0, "wrote out/case.trace\n"), done.err
    (trace,) = load_traces(project.root / "out" / "case.trace")
    case = read_case(project.root / "cases" / "refund-twice" / "v0001.parquet")
    assert trace.steps == case.incident.steps
    assert (trace.input, trace.output, trace.status) == (
        case.incident.input,
        case.incident.output,
        case.incident.status,
    )
    assert "lena.vogt" not in (project.root / "out" / "case.trace").read_text("utf-8")
    assert project.run("judge", "refund-twice", "out/case.trace").code == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none", "--yaml"], "no case 'none'"),
        (["refund-twice"], "say which form"),
        (["refund-twice", "--yaml", "--target", "a:b"], "--target is for --pytest"),
        (["refund-twice", "--pytest"], "nothing says what to run"),
        (["refund-twice", "--pytest", "--target", "agent.run"], "not of the form module:function"),
        (["refund-twice", "--yaml", "--out", "there"], "there is a file already"),
    ],
)
def test_what_can_not_be_exported_is_refused(project: Project, arguments: list[str], said: str) -> None:
    """Exit code 2, and nothing is written over."""
    project.ingested("refund-twice")
    project.write("there", "mine")
    done = project.run("export", *arguments)
    assert done.code == 2
    assert said in done.err
    assert Path("there").read_text("utf-8") == "mine"


def test_yaml_without_its_package_says_how_to_get_it(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    project.ingested("refund-twice")
    monkeypatch.setitem(sys.modules, "yaml", None)
    done = project.run("export", "refund-twice", "--yaml")
    assert (done.code, 'pip install "evalkit[yaml]"' in done.err) == (2, True)


def test_the_demos_target_is_the_cases_own(project: Project, case_id: str) -> None:
    """What `ingest --target` noted."""
    assert f'TARGET = "{TARGET}"' in project.run("export", case_id, "--pytest").out
