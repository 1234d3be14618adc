"""pytest collects suites and cases, and nothing else; what could not be measured is never green."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

from evalkit.app.demo.server import ScriptedModel, serving
from evalkit.case.model import LifeEvent
from evalkit.case.store import read_case, write_case
from tests.counting import CountingModel
from tests.demo import TARGET
from tests.house.test_surface import loaded_by
from tests.loaded import Loaded
from tests.project import REPOSITORY, Outcome, Project
from tests.suite.runs import library

AGENTS = "tests.suite.agents"
NONE_COLLECTED, WRONG_USE = 5, 4


def run(project: Project, *arguments: str, plugins: tuple[str, ...] = ()) -> Outcome:
    """pytest in a process of its own, with this plug-in and some others of the environment's."""
    loaded = [word for name in ("evalkit.pytest_plugin", *plugins) for word in ("-p", name)]
    return project.python("pytest", *loaded, *arguments, env=environment())


def environment() -> dict[str, str]:
    """The variables of pytest's process."""
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def suite(project: Project, target: str = "once", name: str = "nightly", orders: tuple[int, ...] = (1, 2)) -> str:
    """A suite of small cases."""
    if not (project.root / "cases").exists():
        library(project.root, list(orders))
    project.write(f"suites/{name}.toml", f'target = "{AGENTS}:{target}"\nsamples = 3\n')
    return f"suites/{name}.toml"


def test_the_plug_in_is_an_entry_point_of_pytest() -> None:
    """Installing evalkit is all that there is to do."""
    declared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]
    assert import_module(declared["pytest11"]["evalkit"]).__name__ == "evalkit.pytest_plugin"


def test_the_plug_in_loads_nothing() -> None:
    """Every pytest of the environment imports it."""
    assert loaded_by("import evalkit.pytest_plugin") == {"pytest"}


def test_a_suite_is_an_item_a_case(project: Project) -> None:
    """Named by the case's id, so that `-k` finds it."""
    path = suite(project)
    done = run(project, path, "-v")
    assert done.code == 0, done.out
    assert f"{path}::order-1 PASSED" in done.out
    assert f"{path}::order-2 PASSED" in done.out
    assert "1 passed, 1 deselected" in run(project, path, "-k", "order-2").out
    assert "1 passed" in run(project, f"{path}::order-2").out


@pytest.mark.parametrize("option", ["--setup-plan", "--setup-only", "--collect-only"])
def test_what_tries_no_test_replays_nothing(project: Project, option: str) -> None:
    """A live model would be asked, for nothing."""
    path = suite(project, "stray")
    assert run(project, path).code == 1
    done = run(project, path, option)
    assert (done.code, "error" in done.out, "failed" in done.out) == (0, False, False), done.out


def test_a_failing_case_says_all_that_one_needs(project: Project) -> None:
    """Verdict, broken check, divergence, and the command; no trace of evalkit's own code."""
    project.promoted(order=7)
    project.write("suites/s.toml", f'target = "{AGENTS}:twice"\n[select]\ngate = true\n')
    done = run(project, "suites/s.toml")
    assert done.code == 1, done.out
    for wanted in (
        "FAIL [permanent gate]: ",
        "refund-twice@3: ",
        "broken in 2 of 2 samples: ",
        "first divergence: none from the incident, step by step",
        "sample 1 failed: ",
        f"reproduce: evalkit replay refund-twice@3 --target {AGENTS}:twice",
    ):
        assert wanted in done.out
    assert "pytest_plugin.py" not in done.out


def test_what_could_not_be_measured_is_an_error(project: Project) -> None:
    """Neither green nor skipped, and told apart from a failure; also where there is nothing to run at all."""
    done = run(project, suite(project, "stray"))
    assert (done.code, "2 errors" in done.out) == (1, True)
    assert re.search(r"not measured: .*tool lookup has no recorded answer", done.out)
    done = run(project, suite(project, "nowhere"))
    assert (done.code, "2 errors" in done.out) == (1, True)
    assert "not measured: target tests.suite.agents:nowhere: module tests.suite.agents has no nowhere" in done.out


def test_an_agent_that_ends_its_process_ends_its_case_alone(project: Project) -> None:
    """By an exit without notice or a crash: an error that says how, and the session goes on."""
    done = run(project, suite(project, "ends_its_process", orders=(12, 13, 14, 15)))
    assert "2 passed, 2 errors" in done.out, done.out + done.err
    assert "the worker's process died during this replay: exit code 3" in done.out
    assert "signal SIGSEGV" in done.out
    assert "at work on order 13" in done.out
    cases = run(project, "cases", "--evalkit-target", f"{AGENTS}:ends_its_process")
    assert "2 passed, 2 errors" in cases.out, cases.out + cases.err


def test_a_sample_that_infrastructure_spoiled_is_replayed_again(project: Project) -> None:
    """As in a run, as often as the suite's retries say; the last attempt is told."""
    path = suite(project, "dies_twice", orders=(12, 13))
    body = (project.root / path).read_text("utf-8")
    for retries, said in ((1, "2 passed"), (0, "1 passed, 1 error")):
        (project.root / "deaths").unlink(missing_ok=True)
        project.write(path, f"{body}retries = {retries}\n")
        done = run(project, path, "--junitxml", "out.xml")
        assert said in done.out, done.out + done.err
        told = {one.get("name"): one.get("value") or "" for one in ElementTree.parse(project.root / "out.xml").iter()}
        assert (told["errored"] == "0") is (retries > 0)


TRIED_AGAIN = """
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):  # what pytest-rerunfailures does
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if any(report.failed for report in reports):
        item._initrequest()
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    return True
"""
BETTER_LATER = """
from pathlib import Path
from tests.suite.agents import once, twice

def better_later(order):
    mark = Path("tried")
    known = mark.exists()
    mark.touch()
    return once(order) if known else twice(order)
"""


def test_no_case_is_measured_until_it_passes(project: Project) -> None:
    """A plug-in that tries failures again gets the verdict that there is, told once."""
    project.write("conftest.py", TRIED_AGAIN)
    project.write("better.py", BETTER_LATER)
    path = suite(project, orders=(1,))
    project.write(path, 'target = "better:better_later"\n[policy]\nkind = "zero_failures"\n')
    done = run(project, path, "--junitxml", "out.xml")
    assert "1 failed" in done.out, done.out + done.err
    names = [one.get("name") for one in ElementTree.parse(project.root / "out.xml").iter("property")]
    assert "sample 1" in names
    assert len(names) == len(set(names))


def test_what_infrastructure_spoiled_may_be_tried_again(project: Project) -> None:
    """Nothing was measured yet."""
    project.write("conftest.py", TRIED_AGAIN)
    path = suite(project, "dies_twice", orders=(12, 13))
    project.write(path, (project.root / path).read_text("utf-8") + "retries = 0\n")
    done = run(project, path, "--junitxml", "out.xml")
    assert "2 passed" in done.out, done.out + done.err
    told = [one.get("value") for one in ElementTree.parse(project.root / "out.xml").iter("property")]
    assert not [value for value in told if (value or "").startswith("errored in")]


def test_a_debugger_sees_the_agent(project: Project) -> None:
    """In pytest's own process, where that is asked for."""
    begin = "import os\nfrom pathlib import Path\n"
    project.write("here.py", f"{begin}def agent(order):\n    Path('agent').write_text(str(os.getpid()))\n")
    project.write("conftest.py", f"{begin}Path('pytest').write_text(str(os.getpid()))\n")
    path = suite(project)
    target = ("--evalkit-target", "here:agent")
    for options, same in (((), False), (("--evalkit-in-process",), True), (("--trace",), True)):
        run(project, path, *target, *options)
        pids = [(project.root / who).read_text("utf-8") for who in ("agent", "pytest")]
        assert (pids[0] == pids[1]) is same, options


def test_the_first_failure_ends_it_and_the_last_failures_come_again(project: Project) -> None:
    """`-x` and `--lf` as with any item."""
    path = suite(project, orders=(1, 2, 3))
    body = "    return (twice if order == 2 else once)(order)\n"
    project.write("own.py", f"from tests.suite.agents import once, twice\ndef two(order):\n{body}")
    project.write(path, 'target = "own:two"\nsamples = 2\n')
    first = run(project, path, "-x")
    assert "1 failed, 1 passed" in first.out
    again = run(project, path, "--lf")
    assert "1 failed" in again.out
    assert "passed" not in again.out


def test_workers_of_xdist_share_the_cases(project: Project) -> None:
    """Ids are the same in all of them; a suite's failures and passes are what they are in one process."""
    path = suite(project, orders=tuple(range(1, 9)))
    done = run(project, path, "-n", "2", plugins=("xdist.plugin",))
    assert done.code == 0, done.out
    assert "8 passed" in done.out
    done = run(project, suite(project, "twice"), "-n", "2", plugins=("xdist.plugin",))
    assert "8 failed" in done.out


def test_junit_has_a_testcase_a_case_with_its_samples(project: Project) -> None:
    """As properties: the verdict, the counts, each sample with its reason; an unmeasured case is an error."""
    for target, tag in (("twice", "failure"), ("stray", "error")):
        run(project, suite(project, target), "--junitxml", "out.xml")
        cases = list(ElementTree.parse(project.root / "out.xml").getroot().iter("testcase"))
        assert [case.get("name") for case in cases] == ["order-1", "order-2"]
        found = {one.get("name"): one.get("value") for one in cases[0].iter("property")}
        assert found["case"] == "order-1@1"
        assert found["verdict"] == {"failure": "FAIL", "error": "INCONCLUSIVE"}[tag]
        assert re.match(r"(failed|missed) in \d+\.\d{3} s: ", found["sample 1"] or "")
        assert cases[0].find(tag) is not None


def test_a_folder_of_cases_runs_each_on_its_own_target(project: Project) -> None:
    """The newest version of each; retired ones are left out, and an older version runs where it is named."""
    project.ingested("first", "--target", f"{AGENTS}:once", order=7)
    project.ingested("second", "--target", f"{AGENTS}:twice", "--new", order=8)
    case = read_case(project.root / "cases" / "first" / "v0001.parquet")
    write_case(replace(case, version=2), project.root / "cases")
    done = run(project, "cases/", "-v")
    assert "cases/first/v0002.parquet::first PASSED" in done.out
    assert "cases/second/v0001.parquet::second FAILED" in done.out
    assert "v0001.parquet::first" not in done.out
    assert "1 passed" in run(project, "cases/first").out
    assert "v0001.parquet::first PASSED" in run(project, "cases/first/v0001.parquet", "-v").out
    assert project.run("retire", "second", "--reason", "gone").code == 0
    assert "second" not in run(project, "cases/", "-v").out


def test_a_project_is_found_from_its_files_wherever_pytest_is_started(project: Project, tmp_path: Path) -> None:
    """From a folder of it, and from outside: its cases, its settings, its agent."""
    project.write("evalkit.toml", 'target = "own_agent:once"\n')
    project.write("own_agent.py", "from tests.suite.agents import once\n")
    library(project.root, [1, 2])
    project.write("suites/nightly.toml", "samples = 2\n")
    for folder, suites in ((project.root / "tests", "suites"), (tmp_path / "elsewhere", "suites/nightly.toml")):
        folder.mkdir()
        named = [str(project.root / name) for name in (suites, "cases")]
        command = [sys.executable, "-m", "pytest", "-p", "evalkit.pytest_plugin", *named]
        done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
        assert "4 passed" in done.stdout, done.stdout


def test_options_choose_another_target_and_number(project: Project) -> None:
    """For suites and cases alike."""
    path = suite(project)
    assert "2 failed" in run(project, path, "--evalkit-target", f"{AGENTS}:twice").out
    done = run(project, "cases/", "--evalkit-target", f"{AGENTS}:once", "--evalkit-samples", "1", "--junitxml", "x.xml")
    assert done.out.count("sample 2") == 0
    assert "sample 2" not in (project.root / "x.xml").read_text("utf-8")


def test_an_empty_target_is_refused(project: Project) -> None:
    """A variable that nobody set is not taken for the suite's own target."""
    done = run(project, suite(project), "--evalkit-target", "")
    assert (done.code, "--evalkit-target: is empty" in done.err) == (4, True)


def test_a_bare_pytest_collects_and_loads_nothing_of_evalkit(project: Project) -> None:
    """Suites may ask paid models: they run where they are named, by file, folder or ``testpaths``."""
    suite(project)
    project.write("test_own.py", "def test_own():\n    pass\n")
    told = "print('loaded', sorted(name for name in sys.modules if name.startswith('evalkit')))"
    project.write("conftest.py", f"import sys\ndef pytest_unconfigure():\n    {told}\n")
    command = [sys.executable, "-m", "pytest", "-p", "evalkit.pytest_plugin"]
    done = subprocess.run(command, cwd=project.root, env=environment(), capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout
    assert "loaded ['evalkit', 'evalkit.pytest_plugin']" in done.stdout
    project.write(
        "pytest.ini", "[pytest]\ntestpaths = . suites cases\naddopts = --evalkit-target=tests.suite.agents:once\n"
    )
    assert "5 passed" in run(project).out


@pytest.mark.parametrize("named", ["suites", "suites/nightly.toml"])
def test_a_suite_that_says_only_its_name_is_one(project: Project, named: str) -> None:
    """As `evalkit init` writes it; and one that can't be read is an error, never passed over."""
    project.promoted()
    project.write("suites/nightly.toml", '# Watches every case.\nname = "nightly"\n')
    assert "1 passed" in run(project, named, "--evalkit-target", f"{AGENTS}:once").out
    project.write("suites/nightly.toml", 'name = "nightly\n')
    assert "not TOML" in run(project, named).out


@pytest.mark.parametrize("folder", ["suites", "suites/payments"])
def test_suites_in_folders_of_the_folder_are_suites_too(project: Project, folder: str) -> None:
    """A gate that is not run looks like a passed one; a broken one is an error, and other TOML files are left alone."""
    suite(project)
    (project.root / "suites" / "nightly.toml").unlink()
    project.write("suites/payments/release.toml", f'target = "{AGENTS}:twice"\nsamples = 2\n')
    project.write("suites/payments/deep/data.toml", "[package]\nname = 'x'\n")
    assert "2 failed" in run(project, folder).out
    project.write("suites/payments/release.toml", 'name = "release"\n')
    assert "2 passed" in run(project, folder, "--evalkit-target", f"{AGENTS}:once").out
    project.write("suites/payments/release.toml", 'name = "release')
    assert "not TOML" in run(project, folder).out


@pytest.mark.parametrize("named", [".", "nightly.toml"])
def test_a_suite_is_one_for_who_stands_in_its_folder(project: Project, loaded: Loaded, named: str) -> None:
    """Though it has only a name, as `evalkit init` writes the night's; the project's settings above are none."""
    suite(project)
    project.write("evalkit.toml", f'target = "{AGENTS}:once"\n')
    project.write("suites/nightly.toml", 'name = "nightly"\n')
    plugin = ("-p", "evalkit.pytest_plugin")
    done = loaded.run("pytest", *plugin, named, cwd=project.root / "suites", env=environment())
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_the_keys_of_a_suite_are_all_known() -> None:
    """By them suites are told from other programs' files, before anything of evalkit is loaded."""
    from evalkit import pytest_plugin
    from evalkit.suite.config import _SuiteFile

    assert _SuiteFile.model_fields.keys() == pytest_plugin._TELLING_KEYS | pytest_plugin._OTHER_KEYS


def test_no_case_is_left_out_for_its_name(project: Project) -> None:
    """pytest looks into no folder called build, dist or venv; a case may have that id, unless one asks to ignore it."""
    library(project.root, [1])
    case = read_case(project.root / "cases" / "order-1" / "v0001.parquet")
    for name in ("build", "dist", "venv", "node_modules", "a.egg"):
        write_case(replace(case, id=name), project.root / "cases")
    target = ("--evalkit-target", f"{AGENTS}:once")
    assert "6 passed" in run(project, "cases", *target).out
    assert "4 passed" in run(project, "cases", *target, "--ignore=cases/build", "--ignore-glob=*/di*").out
    project.write("cases/dist/test_x.py", "def test_x():\n    pass\n")
    assert "6 passed" in run(project, "cases", "-k", "not test_x", *target).out


@pytest.mark.parametrize("state", ["proposed", "retired"])
def test_what_lies_in_a_cases_place_is_that_case_or_an_error(project: Project, state: Any) -> None:
    """Another case's file, or one that a program wrote again without its header, does not stand for it."""
    suite(project)
    place = project.root / "cases" / "order-2" / "v0001.parquet"
    other = read_case(project.root / "cases" / "order-1" / "v0001.parquet")
    event = LifeEvent(state, "ann", "a copy", "2026-01-01T00:00:00Z")
    copied = write_case(replace(other, id="copied", life=(event,)), project.root / "other")
    place.chmod(0o644)
    place.write_bytes(copied.read_bytes())
    done = run(project, "cases", "--evalkit-target", f"{AGENTS}:once")
    assert (done.code, "the file holds case copied version 1" in done.out) == (2, True), done.out
    place.write_bytes(b"PAR1")
    pq.write_table(pq.read_table(copied).replace_schema_metadata({}), place)
    done = run(project, "cases", "--evalkit-target", f"{AGENTS}:once")
    assert (done.code, "not a case" in done.out) == (2, True), done.out


def test_other_files_are_left_alone(project: Project) -> None:
    """TOML and Parquet files of other programs are no suites and no cases, even where they are named."""
    suite(project)
    project.write("pyproject.toml", '[project]\nname = "x"\n[tool.ruff]\ntarget-version = "py311"\n')
    project.write("data/one/v0001.parquet", b"PAR1 no case")
    project.write("data/ruff.toml", "line-length = 100\n")
    assert run(project, "data").code == NONE_COLLECTED
    assert run(project, "pyproject.toml").code == WRONG_USE
    project.write("elsewhere/s.toml", f'target = "{AGENTS}:once"\n')
    assert run(project, "elsewhere").code == NONE_COLLECTED
    assert run(project, "elsewhere/s.toml").code == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sampels = 3\ntarget = 'x:y'\n", "sampels: there is no such key; samples is meant?"),
        ("target = 'x:y'\n[select]\nids = ['none']\n", "there is no such case"),
    ],
)
def test_a_suite_that_can_not_be_used_is_an_error_of_collecting(project: Project, text: str, said: str) -> None:
    """In words, and not a run of zero tests."""
    suite(project)
    project.write("suites/s.toml", text)
    done = run(project, "suites/s.toml")
    assert done.code == 2
    assert said in done.out
    assert "Traceback" not in done.out


def test_a_sandboxed_suite_is_sent_to_its_own_command(project: Project) -> None:
    """pytest's process can't be confined; the suite must not run without its sandbox."""
    path = suite(project)
    project.write(path, f'target = "{AGENTS}:once"\nsandbox = true\n')
    done = run(project, path)
    assert done.code == 1
    assert "a sandboxed suite can't be run inside of another process" in done.out


def test_a_broken_case_is_an_error(project: Project) -> None:
    """A file that was cut or changed is not passed over."""
    suite(project)
    path = project.root / "cases" / "order-1" / "v0001.parquet"
    (path.parent / "case.md").write_text("# order-1\n", "utf-8")
    path.write_bytes(path.read_bytes()[:-40])
    done = run(project, "cases/")
    assert done.code == 2
    assert "not a case" in done.out


def test_warnings_as_errors_are_pytests_and_not_the_agents(project: Project) -> None:
    """A case has one verdict, whatever filters the project's own tests use."""
    path = suite(project)
    body = "    warnings.warn('old')\n    return once(order)\n"
    project.write("own.py", f"import warnings\nfrom tests.suite.agents import once\ndef warns(order):\n{body}")
    project.write(path, 'target = "own:warns"\nsamples = 2\n')
    done = run(project, path, "-W", "error")
    assert done.code == 0, done.out
    assert "old" in done.out


def test_a_case_is_not_worse_by_chance_because_it_is_judged_alone(project: Project) -> None:
    """7 of 10 against 10 of 10 is a regression at 0.05 for a single case (p = 0.044), and none for one of two."""
    path = suite(project)
    body = "    calls.append(order)\n    bad = order == 1 and calls.count(1) in (1, 4, 7)\n"
    body += "    return (twice if bad else once)(order)\n"
    project.write("own.py", f"from tests.suite.agents import once, twice\ncalls = []\ndef some(order):\n{body}")
    rest = 'samples = 10\nsequential = false\nscreening = false\n[policy]\nkind = "min_rate"\nmin_rate = 0.3\n'
    project.write(path, f'target = "{AGENTS}:once"\n{rest}')
    assert project.run("run", path, "--out", "r", "-n", "1").code == 0
    assert project.run("baseline", "set", "r", "--reason", "x").code == 0
    for more, told in (("", False), ('[select]\nids = ["order-1"]\n', True)):
        project.write(path, f'target = "own:some"\n{rest}{more}')
        run(project, path, "--junitxml", "out.xml")
        assert ("worse than the baseline: 7 of 10" in (project.root / "out.xml").read_text("utf-8")) == told


def test_a_budget_holds_over_all_workers(project: Project, case_id: str) -> None:
    """One account for the session: the cases that it does not reach are errors, and the model is asked no more."""
    case = read_case(project.root / "cases" / "twice" / "v0001.parquet")
    for number in range(2, 5):
        write_case(replace(case, id=f"twice-{number}"), project.root / "cases")
    model = CountingModel()
    with serving(model) as url:
        head = f'target = "{TARGET}"\nmode = "live-model"\nsamples = 2\n'
        project.write("suites/p.toml", f'{head}[budget]\ncalls = 10\n[model]\nbase_url = "{url}"\n')
        done = run(project, "suites/p.toml", "-n", "2", plugins=("xdist.plugin",))
    assert model.asked == 10, done.out
    assert done.code == 1
    assert "budget reached: 10 of 10 model calls" in done.out


def test_the_sessions_account_is_removed(
    project: Project, case_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left in the temporary folder."""
    with serving(ScriptedModel(error_rate=0.0)) as url:
        text = f'target = "{TARGET}"\nmode = "live-model"\nsamples = 1\n[policy]\nkind = "zero_failures"\n'
        text += f'[model]\nbase_url = "{url}"\n'
        project.write("suites/p.toml", text)
        (tmp_path / "temporary").mkdir()
        monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
        done = run(project, "suites/p.toml")
    assert "1 passed" in done.out, done.out
    assert not list((tmp_path / "temporary").glob("evalkit-pytest-*"))


@pytest.fixture
def neighbours(project: Project) -> tuple[str, str]:
    """Two projects whose agents' modules have one name; the second one's agent refunds twice."""
    for name, agent in (("a", "once"), ("b", "twice")):
        library(project.root / name, [1])
        project.write(f"{name}/evalkit.toml", 'target = "own_agent:run"\n')
        project.write(f"{name}/own_agent.py", f"import own_tools\nrun = own_tools.{agent}\n")
        project.write(f"{name}/own_tools.py", "from tests.suite.agents import once, twice\n")
        project.write(f"{name}/suites/s.toml", "samples = 2\n")
    return "a", "b"


@pytest.mark.parametrize("named", ["suites", "cases"])
@pytest.mark.parametrize("options", [(), ("-n", "1")])
def test_a_project_is_not_judged_by_its_neighbours_agent(
    project: Project, neighbours: tuple[str, str], named: str, options: tuple[str, ...]
) -> None:
    """Python has one module of a name: the second project's cases are errors, and say so."""
    plugins = ("xdist.plugin",) if options else ()
    assert run(project, "b/" + named).out.count("own_agent is loaded") == 0
    done = run(project, f"a/{named}", f"b/{named}", *options, plugins=plugins)
    assert ("1 passed" in done.out, "1 error" in done.out) == (True, True), done.out
    assert re.search(r"not measured: .*b: module own_(agent|tools) is loaded from .*a.own_", done.out)


PROMPTED = """
from pathlib import Path
from tests.suite.agents import once, twice
run = {"careful": once, "hasty": twice}[(Path(__file__).parent / "prompt.txt").read_text("utf-8")]
"""


@pytest.mark.parametrize("options", [(), ("--evalkit-in-process",)])
@pytest.mark.parametrize(
    ("target", "files"),
    [
        ("own_agent", {"a": {"own_agent.py": PROMPTED}, "b": {"own_agent.py": PROMPTED}}),
        ("own_agents.two", {"a": {"own_agents/__init__.py": ""}, "b": {"own_agents/__init__.py": ""}}),
    ],
    ids=["data", "package"],
)
def test_modules_of_two_projects_that_are_alike_are_two(
    project: Project, options: tuple[str, ...], target: str, files: dict[str, dict[str, str]]
) -> None:
    """Each reads what lies beside it, and a package's modules are its folder's: an empty __init__.py says nothing."""
    for name, agent, prompt, first in (("a", "once", "careful", "own_agents.one"), ("b", "twice", "hasty", target)):
        library(project.root / name, [1])
        taken = first if target.startswith("own_agents.") else target
        project.write(f"{name}/evalkit.toml", f'target = "{taken}:run"\n')
        project.write(f"{name}/prompt.txt", prompt)
        for file, text in files[name].items():
            project.write(f"{name}/{file}", text)
        for module in ("one", "two"):
            project.write(f"{name}/own_agents/{module}.py", f"from tests.suite.agents import {agent} as run\n")
        project.write(f"{name}/suites/s.toml", "samples = 2\n")
    assert "1 failed" in run(project, "b/suites", *options).out
    done = run(project, "a/suites", "b/suites", *options)
    assert ("1 passed" in done.out, "1 error" in done.out) == (True, True), done.out
    assert re.search(r"not measured: .*b: module own_agents? is loaded from .*a.own_agent", done.out)


def test_a_script_that_is_called_as_a_module_of_pythons_is_no_clash(project: Project) -> None:
    """Every process has loaded the standard library's, whoever asks."""
    path = project.root / suite(project)
    for name in ("code", "statistics"):
        project.write(f"{name}.py", "x = 1\n")
    project.write("conftest.py", "import sys\nsys.path.append(sys.path.pop(0))\nimport code, statistics\n")
    assert "2 passed" in run(project, str(path)).out


@pytest.mark.parametrize(("installed", "outcome"), [("once", "1 passed"), ("twice", "1 error")])
def test_an_installed_copy_is_as_good_where_all_of_it_is_like_its_source(
    project: Project, installed: str, outcome: str
) -> None:
    """A module of it that nothing has loaded yet counts as well; its tests, which are often not installed, don't."""
    library(project.root, [1])
    project.write("own_agents/tests/test_two.py", "")
    project.write("evalkit.toml", 'target = "own_agents.two:run"\n')
    project.write("suites/s.toml", "samples = 2\n")
    for folder, agent in (("", "once"), ("venv/site-packages/", installed)):
        project.write(f"{folder}own_agents/__init__.py", "")
        project.write(f"{folder}own_agents/two.py", f"from tests.suite.agents import {agent} as run\n")
    load = "import sys\nsys.path.insert(0, 'venv/site-packages')\nimport own_agents\n"
    project.write("conftest.py", load)
    done = run(project, "suites")
    assert outcome in done.out, done.out


def test_a_folder_that_is_called_as_a_package_is_none(project: Project) -> None:
    """Such as `docker/` with scripts in it: nothing of it is what an agent gets by that name, here or elsewhere."""
    project.write("pydantic/main.py", "")
    assert "2 passed" in run(project, suite(project)).out
    project.write("pydantic/__init__.py", "")
    assert "module pydantic is loaded from " in run(project, suite(project)).out


def test_modules_of_another_project_do_not_hide_the_agents_own(project: Project, neighbours: tuple[str, str]) -> None:
    """Each looks into its own folder first, also for what it loads as it goes."""
    for name in neighbours:
        project.write(f"{name}/agent_{name}.py", "def run(order):\n    import late\n    return late.run(order)\n")
        project.write(f"{name}/evalkit.toml", f'target = "agent_{name}:run"\n')
    project.write("a/late.py", "from tests.suite.agents import once as run\n")
    project.write("b/late.py", "from tests.suite.agents import twice as run\n")
    done = run(project, "a/suites", "b/suites", "a/cases", "b/cases")
    assert "2 failed, 2 passed" in done.out, done.out
    done = run(project, "a/suites", "b/suites", "a/cases", "b/cases", "--evalkit-in-process")
    assert "2 passed, 2 errors" in done.out, done.out


def test_what_an_agent_says_is_cut_and_shown_as_it_is(project: Project) -> None:
    """Readers of JUnit XML take ten megabytes of text at most; and no terminal obeys an agent."""
    loud = r"raise RuntimeError('\x1b[31m\n::error::x \u202e' + 'y' * 3_000_000)"
    project.write("loud.py", f"def run(order):\n    {loud}\n")
    done = run(project, suite(project, orders=(1,)), "--evalkit-target", "loud:run", "--junitxml", "out.xml")
    told = (project.root / "out.xml").read_text("utf-8")
    for text in (done.out, told):
        assert len(text) < 30_000
        assert r"\x1b[31m\n::error::x \u202eyyy" in text
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_errors_show_what_a_case_holds_as_it_is(project: Project) -> None:
    """A case may come from elsewhere: its texts begin no line, in which a CI service would look for commands."""
    library(project.root, [1])
    case = read_case(project.root / "cases" / "order-1" / "v0001.parquet")
    write_case(replace(case, version=2, target="\x1b[31m\n::error::x:y"), project.root / "cases")
    done = run(project, "cases")
    assert r"not measured: target \x1b[31m\n::error::x:y: importing" in done.out
    assert "\x1b" not in done.out
    assert "\n::error" not in done.out


@pytest.mark.parametrize("named", ["suites", "suites/nightly.toml", "cases"])
def test_settings_that_can_not_be_used_are_an_error_in_words(project: Project, named: str) -> None:
    """And no trace of evalkit's own code."""
    suite(project)
    project.write("evalkit.toml", "cases = 3\n")
    done = run(project, named)
    assert done.code in (2, WRONG_USE)
    assert "evalkit.toml: cases: " in done.out
    assert "Traceback" not in done.out
    assert "settings.py" not in done.out


def test_a_session_leaves_nothing_where_a_worker_was_ended(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent that ends its worker leaves the folder that its replays had."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    done = run(project, suite(project, "leaves"), "-n", "1", plugins=("xdist.plugin",))
    assert "2 failed" in done.out, done.out
    assert not list((tmp_path / "temporary").glob("evalkit-*"))


def test_evalkits_own_use_of_xdist_is_not_disturbed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """`evalkit run --executor xdist` with the plug-in about, by pytest's own variable."""
    path = suite(project)
    monkeypatch.setenv("PYTEST_PLUGINS", "evalkit.pytest_plugin")
    done = project.spawn("run", path, "--executor", "xdist", "-n", "2")
    assert done.code == 0, done.out + done.err
    assert "2 passed, 0 failed" in done.out
