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
from xml.etree import ElementTree

import pytest

from evalkit.app.demo.server import ScriptedModel, serving
from evalkit.case.store import read_case, write_case
from tests.counting import CountingModel
from tests.demo import TARGET
from tests.house.test_surface import loaded_by
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
        ("sampels = 3\ntarget = 'x:y'\n", "sampels: Extra inputs are not permitted"),
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


def test_evalkits_own_use_of_xdist_is_not_disturbed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """`evalkit run --executor xdist` with the plug-in about, by pytest's own variable."""
    path = suite(project)
    monkeypatch.setenv("PYTEST_PLUGINS", "evalkit.pytest_plugin")
    done = project.spawn("run", path, "--executor", "xdist", "-n", "2")
    assert done.code == 0, done.out + done.err
    assert "2 passed, 0 failed" in done.out
