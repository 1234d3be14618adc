"""`evalkit gate`: what holds a release though every sample passed, against which branch, and how it is told."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace

import orjson
import pyarrow.parquet as pq
import pytest

from evalkit.app.base_lock import compare_with_base
from evalkit.app.base_tree import base_tree
from evalkit.app.locks import refresh_lock
from evalkit.app.show_gate import gate_lines
from evalkit.case.model import LifeEvent
from evalkit.case.store import read_with_digest, write_case
from evalkit.case.tombstone import Tombstone, add_tombstone
from evalkit.errors import InputError
from tests.project import Project

USUAL = "acceptance (p_good 0.99, p_bad 0.9)"


@pytest.fixture
def gated(project: Project) -> Project:
    """A project with two permanent cases."""
    project.promoted("refund-twice")
    project.promoted("another", "--new", order=8)
    project.suite("once")
    return project


def ran(project: Project, target: str = "once", name: str = "a", *options: str) -> str:
    """A run of the release suite under zero failures; its folder."""
    suite = project.suite(target, samples=3)
    text = (project.root / suite).read_text("utf-8")
    project.write(suite, f'{text}[policy]\nkind = "zero_failures"\n')
    done = project.run("run", suite, "--out", f"reports/{name}", *options)
    assert done.code in (0, 1), done.out + done.err
    return f"reports/{name}"


def git(project: Project, *arguments: str) -> None:
    """A git command in the project, as somebody."""
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments]
    subprocess.run(command, cwd=project.root, check=True, capture_output=True)


def committed(project: Project, *more: str) -> None:
    """The project's cases and settings on branch main; a branch of one's own is current."""
    git(project, "init", "-b", "main")
    git(project, "add", "cases", "suites", *more)
    git(project, "commit", "-m", "cases")
    git(project, "switch", "-c", "mine")


def removed(project: Project, case_id: str) -> None:
    """A case taken out by hand, with its line of the lock."""
    for path in (project.root / "cases" / case_id).iterdir():
        path.unlink()
    (project.root / "cases" / case_id).rmdir()
    refresh_lock(project.root / "cases")


def changed_manifest(project: Project, folder: str, **keys: object) -> None:
    """The run's manifest with some keys changed; its samples no longer say whose they are, as those of earlier runs."""
    path, samples = (project.root / folder / name for name in ("run.json", "samples.parquet"))
    path.write_bytes(orjson.dumps({**json.loads(path.read_bytes()), **keys}))
    pq.write_table(pq.read_table(samples).replace_schema_metadata(None), samples)


# What holds a release


def test_a_case_that_the_suite_leaves_out_blocks(gated: Project) -> None:
    """And the reason says what the suite selects."""
    gated.write(
        "suites/some.toml",
        'target = "tests.suite.agents:once"\nsamples = 3\n[select]\nids = ["ref*"]\n[policy]\nkind = "zero_failures"\n',
    )
    gated.run("run", "suites/some.toml", "--out", "reports/a")
    done = gated.run("gate", "reports/a")
    assert done.code == 1
    assert "another: is a permanent gate and was not run: the suite selects ids ref*" in done.out
    part = ran(gated, "once", "b", "--filter", "refund-twice")
    done = gated.run("gate", part)
    assert (done.code, "the run was limited to --filter refund-twice" in done.out) == (1, True)


def test_samples_of_another_run_decide_nothing(gated: Project) -> None:
    """Two runs' files in one folder, as where the artifacts of two jobs are put together."""
    good, bad = ran(gated), ran(gated, "twice", "b")
    assert gated.run("gate", bad).code == 1
    shutil.copy(gated.root / good / "samples.parquet", gated.root / bad / "samples.parquet")
    for command in ("gate", "report"):
        done = gated.run(command, bad)
        assert (done.code, "these samples are another run's" in done.err) == (4, True)


def test_an_unsafe_replay_blocks(gated: Project) -> None:
    """Though every sample passed."""
    folder = ran(gated)
    assert gated.run("gate", folder).code == 0
    changed_manifest(gated, folder, layers=["in-process", "unsafe replay: too few kernel layers (landlock: old)"])
    done = gated.run("gate", folder)
    assert done.code == 1
    assert "2 permanent cases ran in an unsafe replay: too few kernel layers (landlock: old)" in done.out
    assert gated.run("report", folder).code == 0  # the run's own page says so, too
    assert "Blocked: this release must not go" in (gated.root / folder / "summary.md").read_text("utf-8")


def test_the_reports_tell_the_gates_decision(gated: Project) -> None:
    """The run knows no base branch: its own page says that the release may go, until the gate writes it again."""
    committed(gated)
    removed(gated, "another")
    folder = ran(gated)

    def told() -> list[str]:
        names = ("report.html", "summary.md", "junit.xml", "verdicts.json")
        return [(gated.root / folder / name).read_text("utf-8") for name in names]

    signs = ("this release must not go", "this release must not go", 'name="gate: another"', '"BLOCKED"')
    assert not any(sign in text for sign, text in zip(signs, told(), strict=True))
    assert gated.run("gate", folder, "--against", "main").code == 1
    assert not any(sign in text for sign, text in zip(signs, told(), strict=True))
    assert gated.run("gate", folder, "--against", "main", "--report").code == 1
    assert all(sign in text for sign, text in zip(signs, told(), strict=True))
    assert gated.run("report", folder).code == 0
    assert not any(sign in text for sign, text in zip(signs, told(), strict=True))


@pytest.mark.parametrize(
    ("select", "options", "left_out"),
    [
        ('ids = ["ref*"]', (), "the suite selects ids ref*"),
        ('ids = ["*"]', ("--filter", "ref*"), "the run was limited to --filter ref*"),
        ('ids = ["*"]', (), ""),
    ],
)
def test_the_page_of_a_run_that_left_a_gate_out_opens_nothing(
    gated: Project, select: str, options: tuple[str, ...], left_out: str
) -> None:
    """Before anybody asks the gate, which blocks: what passed may be all that was run, and not all that must pass."""
    gated.write("suites/some.toml", f'target = "tests.suite.agents:once"\n[select]\n{select}\n')
    assert gated.run("run", "suites/some.toml", "--out", "reports/a", *options).code == 0
    told = (gated.root / "reports/a/summary.md").read_text("utf-8")
    assert ("Passed: this release may go" in told) is (not left_out)
    if left_out:
        assert f"1 permanent case passed, but another was not run: {left_out}".replace("*", "&#42;") in told


def test_a_single_reason_is_told_once(gated: Project) -> None:
    """Several are listed below the sentence; one is the sentence."""
    several = gated.run("gate", ran(gated, "twice")).out.splitlines()
    assert [line.split(":")[0] for line in several] == ["BLOCKED", "  blocks", "  blocks"]
    assert gated.run("retire", "another", "--reason", "not sold any more").code == 0
    (line,) = [line for line in gated.run("gate", "reports/a").out.splitlines() if "samples failed" in line]
    assert line.startswith("BLOCKED: refund-twice: ")


def test_a_skipped_case_blocks(gated: Project) -> None:
    """The run names it and holds no sample of it."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    folder = ran(gated)
    path = gated.root / folder / "samples.parquet"
    table = pq.read_table(path)
    pq.write_table(table.filter(pc.not_equal(table["case_id"], "another")), path)
    done = gated.run("gate", folder)
    assert (done.code, "another: is a permanent gate and was skipped" in done.out) == (1, True)


def test_a_case_retired_since_the_run_blocks_nothing(gated: Project) -> None:
    """Who retired it and why is told; the run need not be made again."""
    folder = ran(gated, "twice")
    gated.run("retire", "another", "--reason", "the shop is closed")
    gated.run("retire", "refund-twice", "--reason", "money is never given back")
    done = gated.run("gate", folder)
    assert (done.code, "no permanent case was run" in done.out) == (3, True)
    assert "another was retired after it was run, by ann" in done.out
    assert "the shop is closed" in done.out
    done = gated.run("review", "another", "--accept-all", "--reason", "it opens again")
    assert done.code == 0, done.err
    done = gated.run("gate", folder)  # no gate until it is promoted, and no pass of one either
    assert (done.code, "no permanent case was run" in done.out) == (3, True)
    assert "another was retired after it was run, by ann" in done.out


def test_a_case_that_is_no_gate_any_more_and_was_not_retired_blocks(gated: Project) -> None:
    """A version written by hand, and its line taken from the lock: only the run still knows of it."""
    folder = ran(gated)
    case, digest = read_with_digest(gated.root / "cases/another")
    event = LifeEvent("reviewed", "eve", "x", "2026-01-01T00:00:00Z")
    write_case(replace(case, version=4, parent=digest, life=(*case.life, event)), gated.root / "cases")
    refresh_lock(gated.root / "cases")
    done = gated.run("gate", folder)
    assert (done.code, "another: was a permanent gate when it was run" in done.out) == (1, True), done.out


def test_a_file_that_was_changed_after_the_run_is_an_integrity_error(gated: Project) -> None:
    """Another file under the same version: exit code 4."""
    folder = ran(gated)
    path = gated.root / "cases" / "another" / "v0003.parquet"
    case, _ = read_with_digest(path)
    path.unlink()
    write_case(replace(case, title="something else"), gated.root / "cases")
    done = gated.run("gate", folder)
    assert (done.code, "is another file now" in done.err) == (4, True)
    gated.write("cases/gates.lock", "<<<<<<< HEAD\n")
    assert gated.run("gate", folder).code == 4


def test_a_gate_in_another_folder_says_what_may_be_wrong(gated: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """It blocks, as where somebody deleted all cases."""
    folder = gated.root / ran(gated)
    elsewhere = gated.root / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    done = gated.run("gate", str(folder))
    assert done.code == 1
    assert "there is no folder" in done.out + done.err


# Against a branch


@pytest.mark.parametrize(
    ("then", "now", "told"),
    [
        ('kind = "min_rate"\nmin_rate = 0.99', 'kind = "min_rate"\nmin_rate = 0.5', "min_rate 0.5 instead of 0.99"),
        ('kind = "zero_failures"', "p_bad = 0.5", "acceptance (p_good 0.99, p_bad 0.5) instead of zero_failures"),
        ('kind = "zero_failures"', "max_lost = 0.5", f"{USUAL} instead of zero_failures, max_lost 0.5 instead"),
        ("max_lost = 0.0", "max_lost = 0.5", "max_lost 0.5 instead of 0.0"),
        ("p_bad = 0.9", "", ""),
    ],
)
def test_a_suite_that_decides_otherwise_than_the_bases_says_so(gated: Project, then: str, now: str, told: str) -> None:
    """A weaker policy passes what the base's would not; one that says the same in fewer words is no other."""
    suite = gated.suite("once", samples=3)
    text = (gated.root / suite).read_text("utf-8")
    gated.write(suite, f"{text}[policy]\n{then}\n")
    committed(gated)
    gated.write(suite, f"{text}[policy]\n{now}\n")
    gated.run("run", suite, "--out", "reports/a")
    done = gated.run("gate", "reports/a", "--against", "main")
    assert (f"decides otherwise than in main: {told}" in done.out + done.err) is bool(told)


@pytest.mark.parametrize(
    ("then", "now", "options", "told"),
    [
        ("", "", (), ""),
        ("", "retries = 5\nhistory = false", (), ""),
        ("", "", ("--target", "tests.suite.agents:twice"), "target tests.suite.agents:twice instead of tests.suite.a"),
        ("samples = 9", "samples = 1", (), "samples 1 instead of 9"),
        ("strict = true", "", (), "strict False instead of True"),
        ("", '[on_miss]\n"*" = "error"', (), "another on_miss"),
        ("[baseline]\nmax_age_days = 3", "", (), "other baseline_rules"),
        (
            'mode = "live-model"\n[model]\nbase_url = "http://a/v1"',
            "",
            (),
            "mode exact instead of live-model",
        ),
        ('mode = "live-model"', "", (), "mode exact instead of live-model"),
    ],
)
def test_a_suite_that_measures_otherwise_than_the_bases_says_so(
    gated: Project, then: str, now: str, options: tuple[str, ...], told: str
) -> None:
    """An easier target passes what the base's would not, from the file or from the command line."""
    head = 'name = "release"\ntarget = "tests.suite.agents:once"\n'
    gated.write("suites/release.toml", head + then)
    committed(gated)
    gated.write("suites/release.toml", head + now)
    gated.run("run", "suites/release.toml", "--out", "reports/a", *options)
    done = gated.run("gate", "reports/a", "--against", "main")
    said = done.out + done.err
    assert (f"suite release is another one than in main: {told}" in said) is bool(told), said


def test_a_case_that_compares_less_than_the_bases_is_told(gated: Project) -> None:
    """An argument that matching leaves out may be an id that is new in every run, or the amount: somebody must look."""
    committed(gated)
    ran(gated, "once", "before")
    assert "compares less" not in gated.run("gate", "reports/before", "--against", "main").out
    done = gated.run("edit", "another", "--volatile", "refund=/order", "--reason", "ids are new")
    assert done.code == 0, done.err
    ran(gated)
    done = gated.run("gate", "reports/a", "--against", "main")
    assert done.code == 0, done.out
    assert "case another compares less than in main: of calls it leaves out refund=/order (evalkit history" in done.out
    gated.run("edit", "another", "--match", "refund=/order", "--reason", "no, they are not")
    ran(gated, "once", "after")
    assert "compares less" not in gated.run("gate", "reports/after", "--against", "main").out


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ('target = "tests.suite.agents:once"\n[on_miss]\n"find_*" = "error"\n', ""),
        (
            'target = "tests.suite.agents:twice"\n[on_miss]\n"find_*" = "error"\n',
            "target tests.suite.agents:once instead",
        ),
        ('target = "tests.suite.agents:once"\n', "another on_miss"),
    ],
)
def test_what_the_settings_add_to_a_suite_is_compared_with_what_the_bases_add(
    gated: Project, settings: str, told: str
) -> None:
    """A suite that leaves its target to them, and its baseline to the file beside it, is no other for that."""
    now = 'target = "tests.suite.agents:once"\n[on_miss]\n"find_*" = "error"\n'
    gated.write("evalkit.toml", now)
    gated.write("suites/release.toml", "[select]\ngate = true\n")
    gated.run("run", "release", "--out", "reports/first")
    assert gated.run("baseline", "set", "reports/first", "--reason", "x").code == 0
    gated.write("evalkit.toml", settings)
    committed(gated, "evalkit.toml")
    gated.write("evalkit.toml", now)
    gated.run("run", str(gated.root / "suites/release.toml"), "--out", "reports/a")
    done = gated.run("gate", "reports/a", "--against", "main")
    assert (done.code, "is another one than in main" in done.out) == (0, bool(told)), done.out
    assert told in done.out


def test_a_measure_that_is_not_the_bases_is_told(gated: Project) -> None:
    """Under `not_worse` a baseline of bad runs passes bad runs: who made it, when and why stands beside the pass."""
    policy = '[policy]\nkind = "not_worse"\nmargin = 0.2\n'
    suite = gated.suite("once")
    gated.write(suite, (gated.root / suite).read_text("utf-8") + policy)
    gated.run("run", suite, "--out", "reports/good")
    assert gated.run("baseline", "set", "reports/good", "--reason", "x").code == 0
    committed(gated)
    gated.run("run", suite, "--out", "reports/same")
    assert "must not be worse" not in gated.run("gate", "reports/same", "--against", "main").out
    bad = ("--target", "tests.suite.agents:twice")
    gated.run("run", suite, *bad, "--out", "reports/bad")
    assert gated.run("baseline", "bless", "reports/bad", "--reason", "it is so").code == 0
    gated.run("run", suite, *bad, "--out", "reports/a")
    done = gated.run("gate", "reports/a", "--against", "main")
    assert done.code == 0
    assert "release must not be worse than another baseline than in main (run 2" in done.out
    assert "set by ann" in done.out
    assert "it is so" in done.out
    (gated.root / "suites/release.baseline.parquet").rename(gated.root / "mine.parquet")
    gated.run("run", suite, *bad, "--baseline", "mine.parquet", "--out", "reports/b")
    told = gated.run("gate", "reports/b", "--against", "main").out
    assert "release must not be worse than another baseline than in main" in told


def test_a_suite_that_the_base_lacks_is_compared_with_nothing(gated: Project) -> None:
    """And a policy for some cases is another policy, too."""
    committed(gated)
    suite = gated.suite("once", samples=3)
    text = (gated.root / suite).read_text("utf-8")
    own = '[[policies]]\nkind = "min_rate"\nmin_rate = 0.1\nselect = {ids = ["another"]}\n'
    for name, content, told in (
        (suite, f"{text}{own}", "has other policies for some of its cases than in main"),
        ("suites/new.toml", text, "there is no suite new in main"),
    ):
        gated.write(name, content)
        gated.run("run", name, "--out", f"reports/{len(told)}")
        done = gated.run("gate", f"reports/{len(told)}", "--against", "main")
        assert told in done.out + done.err


def test_a_retired_copy_beside_a_case_excuses_nothing(gated: Project) -> None:
    """A case that failed would be let go because a copy of its folder was retired; the check names every such file."""
    folder, cases = ran(gated, "twice"), gated.root / "cases"
    shutil.copytree(cases / "another", gated.root / "kept")
    lock = (cases / "gates.lock").read_bytes()
    assert gated.run("retire", "another", "--reason", "superseded").code == 0
    (cases / "another").rename(cases / "zz-old")
    (gated.root / "kept").rename(cases / "another")
    (cases / "gates.lock").write_bytes(lock)
    done = gated.run("gate", folder)
    assert done.code == 4
    assert "zz-old/v0004.parquet" in done.err
    assert "the file holds case another version 4" in done.err
    checked = gated.run("check")
    assert checked.code == 4
    assert all(f"zz-old/v000{number}.parquet" in checked.err for number in range(1, 5))


def test_a_deleted_lock_hides_nothing(gated: Project) -> None:
    """The base's counts: a case that is gone with the whole lock is missed."""
    committed(gated)
    removed(gated, "another")
    (gated.root / "cases" / "gates.lock").unlink()
    folder = ran(gated)
    done = gated.run("gate", folder, "--against", "main")
    assert done.code == 1
    assert "another: gates.lock: is in the gate lock, but there is no such permanent case any more (main)" in done.out
    assert "refund-twice: gates.lock: is permanent, but not in the gate lock" in done.out


def test_a_moved_folder_hides_nothing(gated: Project) -> None:
    """The base's lock is found where it was."""
    committed(gated)
    removed(gated, "another")
    (gated.root / "cases").rename(gated.root / "incidents")
    gated.write("evalkit.toml", 'cases = "incidents"\n')
    done = gated.run("gate", ran(gated), "--against", "main")
    assert (done.code, "another: gates.lock: is in the gate lock, but" in done.out) == (1, True)


def test_a_project_below_the_top_is_compared_with_its_own_lock(gated: Project) -> None:
    """In a repository of several projects the others' locks don't count, wherever the folder moved."""
    other = gated.root / "other" / "cases"
    other.mkdir(parents=True)
    (other / "gates.lock").write_text("foreign v1 abc\n", "utf-8")
    committed(gated)
    git(gated, "add", "other")
    git(gated, "commit", "-m", "other")
    done = gated.run("gate", ran(gated), "--against", "mine")
    assert done.code == 0, done.out
    (gated.root / "cases").rename(gated.root / "third")
    (gated.root / "third" / "gates.lock").rename(gated.root / "third" / "x.lock")
    git(gated, "add", "-A")
    git(gated, "commit", "-m", "moved")
    (gated.root / "third" / "x.lock").rename(gated.root / "third" / "gates.lock")
    (gated.root / "other2").mkdir()
    (gated.root / "other2" / "gates.lock").write_text("foreign v1 abc\n", "utf-8")
    git(gated, "add", "other2")
    git(gated, "commit", "-m", "two")
    gated.write("evalkit.toml", 'cases = "third"\n')
    refused = gated.run("gate", "reports/a", "--against", "mine")
    assert (refused.code, "2 other gate locks" in refused.err) == (2, True)


def test_cases_beside_the_project_hide_nothing(gated: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project below the top may have its cases elsewhere in the repository, and may be moved itself."""
    root = gated.root
    gated.write("service/evalkit.toml", 'cases = "../cases"\n')
    (root / "suites").rename(root / "service" / "suites")
    git(gated, "init", "-b", "main")
    git(gated, "add", "cases", "service")
    git(gated, "commit", "-m", "cases")
    removed(gated, "another")
    monkeypatch.chdir(root / "service")
    told = "another: gates.lock: is in the gate lock, but there is no such permanent case any more (main)"
    monkeypatch.setattr(gated, "root", root / "service")
    done = gated.run("gate", ran(gated), "--against", "main")
    assert (done.code, told in done.out) == (1, True)
    (root / "service").rename(root / "moved")
    (root / "cases").rename(root / "moved" / "cases")
    (root / "moved" / "evalkit.toml").unlink()
    monkeypatch.chdir(root / "moved")
    done = gated.run("gate", "reports/a", "--against", "main")
    assert (done.code, told in done.out) == (1, True)


@pytest.mark.parametrize("how", ["settings", "link"])
def test_another_lock_of_the_base_hides_nothing(gated: Project, how: str) -> None:
    """The base's lock is the one that its own settings name, whatever folder this branch turned to."""
    shutil.copytree(gated.root / "cases", gated.root / "fixtures")
    committed(gated)
    git(gated, "add", "fixtures")
    git(gated, "commit", "-m", "fixtures")
    if how == "settings":
        gated.write("evalkit.toml", 'cases = "fixtures"\n')
    else:
        shutil.rmtree(gated.root / "cases")
        (gated.root / "cases").symlink_to("fixtures")
    shutil.rmtree(gated.root / "fixtures" / "another")
    refresh_lock(gated.root / "fixtures")
    git(gated, "add", "fixtures")
    git(gated, "commit", "-m", "fewer")
    shutil.rmtree(gated.root / "reports", ignore_errors=True)
    git(gated, "branch", "-f", "main", "mine~1")
    done = gated.run("gate", ran(gated), "--against", "main")
    assert (done.code, "another: gates.lock: is in the gate lock, but" in done.out) == (1, True)


def test_a_submodule_of_cases_is_no_empty_lock(gated: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Their lock is in another repository, which the base's commit does not hold."""
    other = tmp_path_factory.mktemp("other") / "cases"
    shutil.copytree(gated.root / "cases", other)
    subprocess.run(["git", "init", "-q"], cwd=other, check=True)
    subprocess.run(["git", "add", "."], cwd=other, check=True)
    author = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", *author, "commit", "-qm", "cases"], cwd=other, check=True)
    shutil.rmtree(gated.root / "cases")
    git(gated, "init", "-b", "main")
    git(gated, "-c", "protocol.file.allow=always", "submodule", "add", str(other), "cases")
    git(gated, "commit", "-m", "cases")
    done = gated.run("gate", ran(gated), "--against", "main")
    assert (done.code, "cases is a submodule in main" in done.err) == (2, True)


def test_a_base_without_a_lock_is_told(gated: Project) -> None:
    """A project's first case passes; that nothing was compared is said."""
    git(gated, "init", "-b", "main")
    git(gated, "commit", "--allow-empty", "-m", "empty")
    done = gated.run("gate", ran(gated), "--against", "main")
    assert done.code == 0
    assert "no case is locked in main: nothing was compared with it" in done.out


def test_a_run_of_another_commit_is_told(gated: Project) -> None:
    """An old run says nothing of what came after it."""
    committed(gated)
    folder = ran(gated)
    assert "the run is of commit" not in gated.run("gate", folder).out
    git(gated, "commit", "--allow-empty", "-m", "later")
    assert "the run is of commit" in gated.run("gate", folder).out


def test_a_run_of_what_nobody_committed_is_told(gated: Project) -> None:
    """A mended agent that is put aside again, say. What a run writes into the repository itself is no such change."""
    gated.write("agent/prompt.txt", "pay twice")
    gated.suite("once")
    gated.run("run", "release", "--out", "reports/first")
    assert gated.run("baseline", "set", "reports/first", "--reason", "x").code == 0
    committed(gated, "agent")
    gated.run("run", "release", "--out", "reports/a")
    gated.run("baseline", "bless", "reports/a", "--reason", "x")
    gated.run("run", "release", "--out", "reports/b")
    assert gated.run("gate", "reports/b").out == "PASS: all 2 permanent cases passed\n"
    gated.write("agent/prompt.txt", "pay once")
    gated.run("run", "release", "--out", "reports/c")
    git(gated, "checkout", "agent")
    assert "changes that were not committed, on top of" in gated.run("gate", "reports/c").out


@pytest.mark.parametrize("commits", [True, False])
def test_a_run_that_went_on_with_other_code_is_told(gated: Project, commits: bool) -> None:
    """Its samples are of two agents: of another commit, or of a tree that was changed since; by run, gate and page."""
    gated.write("agent/prompt.txt", "pay twice")
    committed(gated, "agent")
    suite = gated.suite("never_alike", samples=3)
    gated.run("run", suite, "--out", "reports/a")
    gated.run("run", suite, "--out", "reports/b")
    gated.write("agent/prompt.txt", "pay once")
    if commits:
        git(gated, "commit", "-am", "other prompt")
    said = "went on with other code"
    done = gated.run("run", "--resume", "reports/a", "--raise-samples", "5")
    assert said in done.out + done.err
    assert said in gated.run("gate", "reports/a", "--report").out
    assert said in (gated.root / "reports/a/report.html").read_text("utf-8")
    gated.run("run", "--resume", "reports/b")  # it is whole: nothing is run
    assert said not in gated.run("gate", "reports/b").out


def test_a_further_try_of_what_failed_is_told(gated: Project) -> None:
    """Though it is of all permanent cases, since all had failed: an agent that fails at times passes at some time."""
    failed = ran(gated, "twice")
    again = ran(gated, "once", "again", "--only-failing", failed)
    done = gated.run("gate", again)
    assert (done.code, "the run is another try of what failed in 2" in done.out) == (0, True)


def test_a_tombstone_of_another_file_excuses_nothing(gated: Project) -> None:
    """A forgotten version is the one with the locked digest."""
    committed(gated)
    path = gated.root / "cases" / "another" / "v0003.parquet"
    case, digest = read_with_digest(path)
    write_case(case.revised(digest), gated.root / "cases")
    refresh_lock(gated.root / "cases")
    path.unlink()
    add_tombstone(path.parent, Tombstone("2026-01-01T00:00:00Z", "mallory", "x", ((3, "00" * 32),), 4))
    done = gated.run("gate", ran(gated), "--against", "main")
    assert (done.code, "another: gates.lock: its locked version 3 is missing (main)" in done.out) == (1, True)


def test_a_renamed_case_is_a_missing_one(gated: Project) -> None:
    """Under another id it is another case; the old one was not retired."""
    committed(gated)
    removed(gated, "another")
    gated.promoted("renamed", "--new", order=8)
    done = gated.run("gate", ran(gated), "--against", "main")
    assert (done.code, "another: gates.lock: is in the gate lock, but" in done.out) == (1, True)


def test_a_retirement_that_nobody_answers_for_blocks(gated: Project) -> None:
    """Without a reason, or with the locked version changed; an ordinary one does not block."""
    committed(gated)
    cases = gated.root / "cases"
    case, digest = read_with_digest(cases / "another" / "v0003.parquet")
    event = LifeEvent("retired", "mallory", "x", "2026-01-01T00:00:00Z")
    retired = case.moved(digest, event)
    write_case(replace(retired, life=(*case.life, replace(event, reason=" "))), cases)
    refresh_lock(cases)
    folder = ran(gated)
    done = gated.run("gate", folder, "--against", "main")
    assert (done.code, "another: gates.lock: is retired, but nobody says why (main)" in done.out) == (1, True)
    (cases / "another" / "v0004.parquet").unlink()
    write_case(retired, cases)
    assert gated.run("gate", folder, "--against", "main").code == 0
    (cases / "another" / "v0003.parquet").unlink()
    done = gated.run("gate", folder, "--against", "main")
    assert (done.code, "its locked version 3 is missing" in done.out) == (1, True)


def test_a_branch_that_is_behind_is_told_so(gated: Project) -> None:
    """A case that the base locked after the branch had left it: merge, don't retire."""
    removed(gated, "another")
    committed(gated)
    git(gated, "switch", "main")
    gated.promoted("third", "--new", order=9)
    git(gated, "add", "cases")
    git(gated, "commit", "-m", "third")
    git(gated, "switch", "mine")
    done = gated.run("gate", ran(gated), "--against", "main")
    assert done.code == 1
    assert "which locked it after this branch had left it: merge main" in done.out


def test_what_git_can_not_read_is_no_empty_lock(gated: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A shallow clone without the base says how to get it; a strange reference is refused."""
    committed(gated)
    folder = ran(gated)
    for base in ("origin/main", "--output=x", "-h"):
        assert gated.run("gate", folder, "--against", base).code == 2
    assert not (gated.root / "x").exists()
    git(gated, "commit", "--allow-empty", "-m", "two")
    clone = tmp_path_factory.mktemp("shallow") / "clone"
    git(gated, "clone", "--depth", "1", "--branch", "mine", f"file://{gated.root}", str(clone))
    with pytest.raises(
        InputError, match=r"shallow clone: git fetch origin main:refs/remotes/origin/main, and pass .*fetch-depth: 0"
    ):
        compare_with_base(clone / "cases", [], base_tree(clone, "origin/main"))


# Under another policy


def test_a_run_is_gated_again_under_another_policy(gated: Project) -> None:
    """Printed as such, and without a call: three passes don't show a rate of 90 %, and no failure is a pass."""
    folder = ran(gated)
    assert gated.run("gate", folder).code == 0
    stricter = gated.run("gate", folder, "--policy", "kind=min_rate,min_rate=0.9", "--json")
    # deterministic replays need no rate to be shown: the policy is another one, the word is the same
    assert "gated under another policy than the run's: min_rate (min_rate 0.9)" in stricter.json()["notices"][0]
    gated.write("other.toml", '[policy]\nkind = "min_rate"\nmin_rate = 0.5\n')
    done = gated.run("gate", folder, "--policy-file", "other.toml")
    assert (done.code, "min_rate 0.5" in done.out) == (0, True)
    assert gated.run("gate", folder).out.count("another policy") == 0
    told = gated.run("gate", folder, "--policy", "kind=zero_failures,max_lost=0.9,alpha=0.1").out
    assert "another policy than the run's: alpha 0.1 instead of 0.05, max_lost 0.9 instead of 0.0" in told
    assert (
        "gated under the run's own policy, of all samples" in gated.run("gate", folder, "--policy", "zero_failures").out
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--policy", "lenient"], "kind"),
        (["--policy", "kind=min_rate,min_rate=2"], "min_rate"),
        (["--policy", "=,"], "not a policy"),
        (["--policy-file", "nowhere.toml"], "can't be read"),
        (["--policy-file", "suites/release.toml", "--policy", "zero_failures"], "not both"),
    ],
)
def test_what_is_no_policy_is_refused(gated: Project, options: list[str], told: str) -> None:
    """Exit code 2, and what is wrong."""
    done = gated.run("gate", ran(gated), *options)
    assert (done.code, told in done.out + done.err) == (2, True)


# How it is told


def test_the_decision_is_told_to_programs_and_people(gated: Project) -> None:
    """JSON, text and Markdown say the same."""
    folder = ran(gated, "twice")
    body = gated.run("gate", folder, "--format", "json").json()
    assert body == gated.run("gate", folder, "--json").json()
    assert (body["outcome"], len(body["blocking"])) == ("BLOCKED", 2)
    page = gated.run("gate", folder, "--format", "markdown")
    assert page.code == 1
    assert page.out.startswith("## ⛔ BLOCKED")
    assert "- <code>another</code>: " in page.out


def test_github_gets_an_annotation_a_case(gated: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the case's page, with the case in its title; more than ten are counted."""
    monkeypatch.setenv("GITHUB_WORKSPACE", str(gated.root))
    done = gated.run("gate", ran(gated, "twice"), "--format", "github")
    commands = [line for line in done.out.splitlines() if line.startswith("::error")]
    assert len(commands) == 2
    assert commands[0].startswith(
        "::error file=cases/another/case.md,line=1,title=another%3A blocks the release::2 of 2 samples failed"
    )
    assert done.out.splitlines()[0].startswith("BLOCKED: ")


def test_github_annotates_what_is_to_be_known(gated: Project) -> None:
    """A job that is green is not read: that a case was retired must be seen at the pull request all the same."""
    committed(gated)
    gated.run("retire", "another", "--reason", "it is a nuisance", "--actor", "bob")
    done = gated.run("gate", ran(gated), "--against", "main", "--format", "github")
    assert done.code == 0
    notes = [line for line in done.out.splitlines() if line.startswith("::notice title=evalkit gate%3A to know::")]
    assert any("case another, a permanent gate in main, was retired, by bob" in line for line in notes)


HOSTILE = "x\n::error::stolen\r::add-mask::a%0A::set-env name=A::b ##[set-env name=PATH]c, d: e"


def test_hostile_text_gives_no_commands(gated: Project) -> None:
    """However a case's failure is worded, the runner reads one command a line that is ours, and nothing else."""
    from evalkit.app.gate import gate_run
    from evalkit.app.settings_read import load_settings
    from evalkit.verdict.model import Decision

    settings = load_settings(gated.root, {})
    done = gate_run(gated.root / ran(gated), settings)
    entries = tuple((HOSTILE, HOSTILE) for _ in range(12))
    done = replace(
        done, decision=Decision("BLOCKED", HOSTILE, entries, entries), notices=(HOSTILE, "::stop-commands::token")
    )
    lines = list(gate_lines(done, "github", settings))
    assert not any("\n" in line or "\r" in line for line in lines)
    assert not any("##[" in line for line in lines)
    commands = [line for line in lines if line.lstrip().startswith("::")]
    assert [line.split()[0] for line in commands] == ["::error"] * 10 + ["::notice"] * 2
    for line in commands:
        properties, _, message = line.partition(" ")[2].partition("::")
        assert [part.partition("=")[0] for part in properties.split(",")] == ["title"]
        assert ":" not in properties
        assert "%0A::" not in message
    page = "\n".join(gate_lines(done, "markdown", settings))
    assert "\n::" not in page
    assert "<!-- -->" in page


def test_a_gate_whose_case_was_deleted_after_the_run_holds_the_release(gated: Project) -> None:
    """Nobody gets rid of a gate by deleting its case and its line of the lock, not even of all of them."""
    run = ran(gated)
    assert gated.run("gate", run).code == 0
    removed(gated, "another")
    done = gated.run("gate", run)
    assert done.code == 1
    assert "BLOCKED: another: is a permanent gate, and version 3 of it is gone" in done.out, done.out
    removed(gated, "refund-twice")
    done = gated.run("gate", run, "--json")
    assert done.code == 1
    assert {"another", "refund-twice"} <= {one["case"] for one in done.json()["blocking"]}


def test_a_case_that_guards_nothing_and_was_deleted_is_told_of(gated: Project) -> None:
    """The others decide."""
    gated.ingested("third", "--new", order=9)
    gated.write("suites/all.toml", 'target = "tests.suite.agents:once"\nsamples = 3\n')
    assert gated.run("run", "suites/all.toml", "--out", "all").code == 0
    removed(gated, "third")
    done = gated.run("gate", "all")
    assert done.code == 0
    assert "third was run, and version 1 of it is gone" in done.out, done.out
