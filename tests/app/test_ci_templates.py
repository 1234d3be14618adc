"""The CI templates work as they stand: they keep to the services' schemas, and their own lines are run here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalkit.verdict.baseline import read_baseline
from tests.project import REPOSITORY, Project

TEMPLATES = REPOSITORY / "ci" / "templates"


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("github-release.yml", "vendor.github-workflows"),
        ("github-nightly.yml", "vendor.github-workflows"),
        ("gitlab.yml", "vendor.gitlab-ci"),
    ],
)
def test_the_services_read_them(name: str, schema: str) -> None:
    """By the schemas that editors and linters use."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(TEMPLATES / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder beside the project's."""
    return tmp_path_factory.mktemp("beside")


class Checkout:
    """A clone of a project with one permanent case, whose origin has the same main branch."""

    def __init__(self, project: Project, beside: Path, agent: str) -> None:
        project.promoted()
        project.suite(agent, "release", samples=5, policy='{ kind = "zero_failures" }')
        project.suite(agent, "nightly", samples=5, policy='{ kind = "zero_failures" }')
        self.root = project.root
        self.summary = beside / "summary.md"
        self.pulls = beside / "pulls"
        origin = beside / "origin.git"
        self.git("init", "-q", "-b", "main")
        (self.root / ".gitignore").write_text("reports/\n")
        self.git("add", ".")
        self.git("commit", "-qm", "first")
        self.git("clone", "-q", "--bare", str(self.root), str(origin))
        self.git("remote", "add", "origin", str(origin))
        self.git("fetch", "-q", "origin")
        self.tools = beside / "tools"
        self.tools.mkdir()
        gh = self.tools / "gh"
        gh.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {self.pulls}\n')
        gh.chmod(0o755)

    def git(self, *arguments: str) -> str:
        """A git command in the clone."""
        identity = ["-c", "user.name=ann", "-c", "user.email=ann@example.com"]
        done = subprocess.run(["git", *identity, *arguments], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout

    def shell(self, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """A script as a runner runs it."""
        path = os.pathsep.join([str(self.tools), str(Path(sys.executable).parent), os.environ["PATH"]])
        own = {"PATH": path, "PYTHONPATH": str(REPOSITORY), "GITHUB_STEP_SUMMARY": str(self.summary), **environment}
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.root, env={**os.environ, **own}, capture_output=True, text=True, check=False,
        )  # fmt: skip


def steps_of(name: str, job: str) -> dict[str, str]:
    """The scripts of a GitHub job by their steps' names."""
    body: Any = yaml.safe_load((TEMPLATES / name).read_text("utf-8"))
    return {step["name"]: step["run"] for step in body["jobs"][job]["steps"] if "run" in step}


def installing(name: str) -> str:
    """What a template's jobs do before anything else."""
    if name == "gitlab.yml":
        body: Any = yaml.safe_load((TEMPLATES / name).read_text("utf-8"))
        return "\n".join(body[".evalkit"]["before_script"])
    return steps_of(name, "gate" if "release" in name else "nightly")["Install"]


@pytest.mark.parametrize("name", ["github-release.yml", "github-nightly.yml", "gitlab.yml"])
def test_no_strangers_package_is_installed(project: Project, beside: Path, name: str) -> None:
    """On PyPI another project has this name: what the project does not name itself is not installed, and is missed."""
    checkout = Checkout(project, beside, "once")
    script = installing(name)
    assert "pip install evalkit" not in script
    assert checkout.shell(script).returncode == 0
    (beside / "evalkit").mkdir()
    (beside / "evalkit" / "__init__.py").touch()
    refused = checkout.shell(script, PYTHONPATH=str(beside))
    assert (refused.returncode, "must name evalkit" in refused.stdout) == (2, True)


@pytest.mark.parametrize(("agent", "code", "word"), [("once", 0, "PASS"), ("twice", 1, "BLOCKED")])
def test_github_blocks_and_passes(project: Project, beside: Path, agent: str, code: int, word: str) -> None:
    """The run's own verdict does not end the job: the gate does, annotates, and the summary is there either way."""
    checkout = Checkout(project, beside, agent)
    steps = steps_of("github-release.yml", "gate")
    assert checkout.shell(steps["The library holds"]).returncode == 0
    ran = checkout.shell(steps["Run"])
    assert ran.returncode == 0, ran.stderr
    gated = checkout.shell(steps["Gate"], BASE_REF="origin/main")
    assert gated.returncode == code, gated.stderr
    assert word in gated.stdout
    assert ("::error" in gated.stdout) == (word == "BLOCKED")
    assert checkout.shell(steps["Summary"]).returncode == 0
    assert "refund-twice" in checkout.summary.read_text("utf-8")


@pytest.mark.parametrize(("name", "job"), [("github-release.yml", "gate"), ("github-nightly.yml", "nightly")])
def test_githubs_runner_obeys_no_agent(project: Project, beside: Path, name: str, job: str) -> None:
    """Whatever agents print stands between the lines that stop and resume commands, by a word that nobody can guess."""
    project.write("loud.py", "def run(order):\n    print('::error::not ours')\n")
    checkout = Checkout(project, beside, "once")
    for suite in ("release", "nightly"):
        project.write(f"suites/{suite}.toml", 'target = "loud:run"\nsamples = 2\n[select]\ngate = true\n')
    words = set()
    for _ in range(2):
        lines = checkout.shell(f"rm -rf reports\n{steps_of(name, job)['Run']}").stdout.splitlines()
        word = lines[0].removeprefix("::stop-commands::")
        assert lines[0] != word
        assert lines[-1] == f"::{word}::"
        assert "::error::not ours" in lines[1:-1]
        words.add(word)
    assert len(words) == 2


def test_github_says_when_there_is_no_run(project: Project, beside: Path) -> None:
    """A suite that can't be read is no verdict: the job ends there."""
    checkout = Checkout(project, beside, "once")
    (project.root / "suites" / "release.toml").write_text("samples = 0\n")
    assert checkout.shell(steps_of("github-release.yml", "gate")["Run"]).returncode == 2


def test_github_blesses_a_baseline_by_pull_request(project: Project, beside: Path) -> None:
    """The new baseline is on a branch of its own, with the reason as it was given, whatever it holds."""
    checkout = Checkout(project, beside, "once")
    steps = steps_of("github-nightly.yml", "nightly")
    assert checkout.shell(steps["Run"]).returncode == 0
    why = 'new model; $(touch pwned) "quoted"'
    done = checkout.shell(steps["Baseline"], BLESS=why, GITHUB_RUN_ID="77", EVALKIT_ACTOR="ann")
    assert done.returncode == 0, done.stderr
    assert why in checkout.pulls.read_text("utf-8")
    assert not (project.root / "pwned").exists()
    assert "evalkit/baseline-77" in checkout.git("ls-remote", "origin")
    assert read_baseline(project.root / "suites" / "nightly.baseline.parquet").info.reason == why


@pytest.mark.parametrize("service", ["github", "gitlab"])
def test_a_later_night_is_blessed_too(project: Project, beside: Path, service: str) -> None:
    """Where there is a baseline already, it is blessed, and says what it was before."""
    checkout = Checkout(project, beside, "once")
    one = project.run("run", "suites/nightly.toml", "--out", "reports/before", "-n", "1")
    assert one.code == 0, one.err
    assert project.run("baseline", "set", "reports/before", "--reason", "the first").code == 0
    github = steps_of("github-nightly.yml", "nightly")
    script = gitlab("evalkit nightly") if service == "gitlab" else f"{github['Run']}\n{github['Baseline']}"
    server = {"CI_SERVER_HOST": "git.invalid", "CI_PROJECT_PATH": "shop", "BASELINE_PUSH_TOKEN": "secret"}
    checkout.git("config", f"url.{beside / 'origin.git'}.insteadOf", "https://evalkit:secret@git.invalid/shop.git")
    checkout.git("-C", str(beside / "origin.git"), "config", "receive.advertisePushOptions", "true")
    who = {"GITLAB_USER_NAME": "ann", "GITLAB_USER_EMAIL": "ann@example.com", "EVALKIT_ACTOR": "ann"}
    done = checkout.shell(script, BLESS="a new model", GITHUB_RUN_ID="77", CI_PIPELINE_ID="77", **server, **who)
    assert done.returncode == 0, done.stderr
    assert "evalkit/baseline-77" in checkout.git("ls-remote", "origin")
    info = read_baseline(project.root / "suites" / "nightly.baseline.parquet").info
    assert (info.reason, [former.reason for former in info.former]) == ("a new model", ["the first"])


def test_githubs_nights_are_kept_when_cases_fail() -> None:
    """The history's cache is saved whatever the night came to; `actions/cache` alone saves it after green jobs only."""
    body: Any = yaml.safe_load((TEMPLATES / "github-nightly.yml").read_text("utf-8"))
    steps = [step for step in body["jobs"]["nightly"]["steps"] if "cache" in step.get("uses", "")]
    restore, save = steps
    assert restore["uses"].startswith("actions/cache/restore@")
    assert save["uses"].startswith("actions/cache/save@")
    assert save["if"] == "always()"
    assert save["with"] == {key: restore["with"][key] for key in ("path", "key")}


def gitlab(job: str) -> str:
    """A GitLab job's script, without the lines before it that install."""
    body: Any = yaml.safe_load((TEMPLATES / "gitlab.yml").read_text("utf-8"))
    return "\n".join(body[job]["script"])


@pytest.mark.parametrize(("agent", "code"), [("once", 0), ("twice", 1)])
def test_gitlab_blocks_and_passes(project: Project, beside: Path, agent: str, code: int) -> None:
    """The gate's exit code is the job's."""
    checkout = Checkout(project, beside, agent)
    done = checkout.shell(gitlab("evalkit release gate"), CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main")
    assert done.returncode == code, done.stderr
    assert (project.root / "reports" / "release" / "junit.xml").exists()


def test_gitlab_nights_pass_on_the_verdict(project: Project, beside: Path) -> None:
    """A night on which a case fails ends with 1, and leaves its report."""
    checkout = Checkout(project, beside, "twice")
    assert checkout.shell(gitlab("evalkit nightly")).returncode == 1
    assert (project.root / "reports" / "nightly" / "report.html").exists()


def test_init_writes_them(project: Project) -> None:
    """As they stand; a GitLab file that exists is left to its owner, who is told what to add."""
    assert project.run("init", "--ci", "github").code == 0
    written = project.root / ".github" / "workflows" / "evalkit-release.yml"
    assert written.read_text("utf-8") == (TEMPLATES / "github-release.yml").read_text("utf-8")
    assert project.run("init", "--ci", "gitlab").code == 0
    assert yaml.safe_load((project.root / ".gitlab-ci.yml").read_text())["include"] == [
        {"local": ".gitlab/evalkit.yml"}
    ]
    project.write(".gitlab-ci.yml", "stages: [deploy]\n")
    told = project.run("init", "--ci", "gitlab").out
    assert "add to it: include" in told
    assert (project.root / ".gitlab-ci.yml").read_text() == "stages: [deploy]\n"
