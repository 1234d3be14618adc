"""A suite's replays in the kernel's sandbox: the agent of the project works, and reaches nothing else."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from typing import Any

import pytest

from evalkit.playback.sandbox.run import probe_layers
from evalkit.suite.results import read_samples, read_traces
from evalkit.trace.read import load_traces
from tests.project import Project

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the kernel's layers are Linux's"),
    pytest.mark.skipif(not probe_layers().safe, reason=f"this kernel lacks layers: {probe_layers().missing}"),
]

AGENT = """
import os
from pathlib import Path
from evalkit.capture.tools import tool
from wording import DONE

@tool(effect="read")
def lookup(order):
    raise AssertionError("a body ran")

@tool(effect="write")
def refund(order):
    raise AssertionError("a body ran")

def once(order):
    lookup(order)
    return {DONE: refund(order)}

def thief(order):
    found = []
    for path in (ROOT + "/.env", ".env", "/etc/passwd", ROOT + "/agent.py"):
        try:
            found.append(Path(path).read_text())
        except OSError:
            pass
    try:
        Path(ROOT + "/breach").write_text("x")
    except OSError:
        pass
    if os.system("true") == 0:
        found.append("a program ran")
    found += [value for value in os.environ.values() if "live" in value]
    Path("scratch").write_text("a working copy may be written")
    lookup(order)
    if found:
        refund(order)  # the incident again: it shows in the verdict
    return {"done": refund(order)}

def lister(order):
    print("sees", sorted(os.listdir("reports")))
    return once(order)

def leaver(order):
    os._exit(0)

def forger(order):
    import evalkit.suite.work as work
    made = work.encode_batch
    forgeries = {
        "other case": lambda line: line.replace(b'"refund-twice"', b'"refund-thrice"'),
        "head": lambda line: line.replace(b'"failed"', b'"passed"', 1),
        "trace": lambda line: line.replace(b'\\\\"refund\\\\"', b'\\\\"refusal\\\\"'),
        "line": lambda line: line + b"\\n" + line,
        "none": lambda line: b"",
        "nothing": lambda line: line,
    }
    forged = forgeries[Path("forgery.txt").read_text()]
    work.encode_batch = lambda *given: forged(made(*given))
    lookup(order)
    return {"done": refund(order), "again": refund(order)}

def told(order):
    lookup(order)
    refund(order)
    return sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith(("SHOP_", "OTHER_")))
"""


def a_suite(project: Project, target: str, **keys: object) -> str:
    project.write("agent.py", f"ROOT = {str(project.root)!r}\n{AGENT}")
    project.write("wording.py", "DONE = 'done'\n")
    project.write(".env", "KEY=sk-live-in-a-file")
    more = "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
    text = f'name = "s"\ntarget = "agent:{target}"\nsamples = 3\nsandbox = true\n{more}'
    return str(project.write("suites/s.toml", text))


@pytest.mark.parametrize("target", ["once", "thief"])
def test_an_agent_works_and_takes_nothing(project: Project, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It imports its own modules from the copy, writes there, and finds no secret, no program and no way out."""
    monkeypatch.setenv("STRIPE_KEY", "sk-live-in-the-environment")
    project.promoted()
    done = project.spawn("run", a_suite(project, target), "--out", str(project.root / "reports" / "r"), "-n", "2")
    assert done.code == 0, done.out + done.err
    assert not (project.root / "breach").exists()
    assert not (project.root / "scratch").exists()
    assert "seccomp" in done.out
    manifest = json.loads((project.root / "reports" / "r" / "run.json").read_bytes())
    assert any(layer.startswith("landlock") for layer in manifest["layers"])


@pytest.mark.parametrize("target", ["once", "thief"])
def test_from_a_folder_of_the_project_it_is_the_same(project: Project, target: str) -> None:
    """The working copy is the whole project's, and the cases are not in it."""
    project.promoted()
    project.write("evalkit.toml", "")
    suite = a_suite(project, target)
    path = project.root / "agent.py"
    path.write_text(path.read_text("utf-8").replace('".env", "/etc/passwd"', '"cases/gates.lock"'), "utf-8")
    (project.root / "tests").mkdir()
    command = [sys.executable, "-m", "evalkit", "run", suite, "-n", "1"]
    done = subprocess.run(command, cwd=project.root / "tests", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    command = [sys.executable, "-m", "evalkit", "replay", "refund-twice", "--target", f"agent:{target}", "--sandbox"]
    done = subprocess.run(command, cwd=project.root / "tests", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_the_sandbox_it_takes_much(project: Project) -> None:
    """The same agent, so that the test above says something."""
    project.promoted()
    done = project.spawn("run", a_suite(project, "thief"), "--no-sandbox")
    assert done.code == 1, done.out + done.err
    assert (project.root / "breach").exists()


@pytest.mark.parametrize("forgery", ["other case", "head", "trace", "line", "none", "nothing"])
def test_what_an_agent_forged_is_not_kept(project: Project, forgery: str) -> None:
    """It may change all that its process says of its own samples; not what is said of others, or in two ways."""
    project.write("forgery.txt", forgery)
    project.promoted()
    project.spawn("run", a_suite(project, "forger"), "--out", "reports/x", "--samples", "1")
    (sample,) = read_samples(project.root / "reports" / "x")["refund-twice"]
    assert sample.outcome == ("failed" if forgery == "nothing" else "errored")
    assert "Error" not in sample.reason


def test_an_agent_that_leaves_is_errored(project: Project) -> None:
    """Its process is gone, its samples count for nothing, the run goes on."""
    project.promoted()
    done = project.spawn("run", a_suite(project, "leaver"), "--json")
    assert done.code == 3, done.out + done.err


def test_the_copy_holds_no_runs_and_what_is_printed_is_seen(project: Project) -> None:
    """Earlier runs grow without end, and each item copies; what an agent says stands in a job's log, too."""
    project.promoted()
    suite = a_suite(project, "lister")
    project.write("reports/daily.py", "")
    command = [sys.executable, "-m", "evalkit", "run", suite, "--samples", "1"]
    for _ in range(2):
        done = subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=False)
    assert len([*(project.root / "reports").glob("*/run.json")]) == 2, done.stderr
    assert "sees ['daily.py']" in done.stdout + done.stderr
    replay = ["replay", "refund-twice", "--target", "agent:lister", "--sandbox"]
    done = subprocess.run([*command[:3], *replay], cwd=project.root, capture_output=True, text=True, check=False)
    assert "sees ['daily.py']" in done.stdout, done.stderr


NO_LANDLOCK = """
from evalkit.cli.main import main
from evalkit.playback.sandbox import confine

def no_landlock(*_):
    raise OSError(95, "not supported")

confine.restrict_files = no_landlock
main()
"""


def without_landlock(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line on a kernel without one layer; a process of its own, as a fork must have no threads."""
    command = [sys.executable, "-c", NO_LANDLOCK, *arguments]
    return subprocess.run(command, cwd=project.root, capture_output=True, text=True, timeout=120)


def test_missing_layers_are_refused_or_shown(project: Project) -> None:
    """Refused by itself; with --unsafe-replay the run's end and the gate say what did not hold."""
    project.promoted()
    suite, folder = a_suite(project, "once"), project.root / "reports" / "u"
    refused = without_landlock(project, "run", suite, "--out", str(folder))
    assert refused.returncode == 2
    assert "--unsafe-replay" in refused.stderr
    assert not folder.exists()
    done = without_landlock(project, "run", suite, "--out", str(folder), "--unsafe-replay")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "unsafe replay" in done.stdout
    assert "unsafe replay" in project.run("gate", str(folder)).out


def test_listed_variables_stay_in_the_sandbox(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """`keep_env` says so for every replay; what is not listed goes, here as in a replay without a sandbox."""
    project.promoted()
    project.write("evalkit.toml", '[world]\nkeep_env = ["SHOP_*"]\n')
    suite = a_suite(project, "told", keep_traces="all")
    for name in ("SHOP_CITY", "SHOP_KEY", "OTHER_CITY"):
        monkeypatch.setenv(name, "x")
    kept = ["SHOP_CITY=x", "SHOP_KEY=x"]
    for flags in (["--sandbox"], []):
        done = project.spawn("replay", "refund-twice", "--target", "agent:told", *flags, "--out", "replayed.trace")
        assert done.code in (0, 1), done.err
        (trace,) = load_traces(project.root / "replayed.trace")
        assert trace.output == kept
        (project.root / "replayed.trace").unlink()
    done = project.spawn("run", suite, "--out", "r")
    assert done.code in (0, 1), done.err
    samples = read_samples(project.root / "r")["refund-twice"]
    (trace,) = read_traces(project.root / "r", [samples[0].trace]).values()
    assert trace.output == kept


def test_run_and_replay_name_the_same_layers(project: Project) -> None:
    """Those that hold, and why one does not."""
    project.promoted()
    suite = a_suite(project, "once")
    for flags in ([], ["--unsafe-replay"]):
        spawn: Any = functools.partial(without_landlock, project) if flags else project.spawn
        spawn("replay", "refund-twice", "--target", "agent:once", "--sandbox", "--out", "replayed.trace", *flags)
        spawn("run", suite, "--out", "r", *flags)
        (trace,) = load_traces(project.root / "replayed.trace")
        layers = json.loads((project.root / "r" / "run.json").read_bytes())["layers"]
        assert trace.attributes["replay"]["layers"] == layers
        assert ("unsafe replay: too few kernel layers (landlock: [Errno 95] not supported)" in layers) == bool(flags)
        (project.root / "replayed.trace").unlink()
        shutil.rmtree(project.root / "r")
