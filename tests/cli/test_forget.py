"""`evalkit evidence`, `forget` and `retention`: kept by choice, read by the recipients, and gone when asked."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from evalkit.case.lock import read_lock
from evalkit.case.store import case_versions, read_case
from evalkit.case.tombstone import read_tombstones
from evalkit.sanitize.policy import Policy
from evalkit.sanitize.sanitizer import Sanitizer
from evalkit.trace.read import load_traces
from evalkit.vault.audit import read_audit
from tests.project import Project, healthy, incident

pyrage = pytest.importorskip("pyrage", reason="needs the extra vault")

EMAIL = "lena.vogt@posteo-mail.de"
KEY = bytes.fromhex("11" * 32)


class Vaulted:
    """A project that keeps raw evidence, and the identity that may read it."""

    def __init__(self, project: Project, folder: Path) -> None:
        self.project = project
        self.folder = folder
        identity = pyrage.x25519.Identity.generate()
        self.identity = folder.with_suffix(".key")
        self.identity.write_text(f"# made for a test\n{identity}\n", "ascii")
        self.configure(identity)

    def configure(self, identity: object, more: str = "") -> None:
        """Names another recipient, or more settings."""
        public = identity.to_public()  # type: ignore[attr-defined]
        self.project.write("evalkit.toml", f'[evidence]\nfolder = "{self.folder}"\nrecipients = ["{public}"]\n{more}')

    def ids(self) -> list[str]:
        """The evidence that is kept."""
        return [one["id"] for one in self.project.run("evidence", "list", "--json").json()]

    def bytes(self) -> bytes:
        """All that lies in the evidence folder, and in the project but for the source traces."""
        files = [*self.folder.rglob("*"), *self.project.root.rglob("*")]
        return b"\n".join(path.read_bytes() for path in files if path.is_file() and path.suffix != ".trace")

    def forget(self, *more: str) -> object:
        """Forgets the customer of the incident."""
        done = self.project.run("forget", EMAIL, "--reason", "ticket 12", "--json", *more)
        assert done.code == 0, done.err
        return done.json()


@pytest.fixture
def vaulted(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Vaulted:
    """A project with an evidence folder elsewhere."""
    return Vaulted(project, tmp_path_factory.mktemp("elsewhere") / "evidence")


def surrogate() -> str:
    """What the customer's address is in the project's cases."""
    return str(Sanitizer(Policy(), KEY).value({"email": EMAIL})["email"])  # type: ignore[call-overload, index]


def test_raw_is_kept_only_by_choice(vaulted: Vaulted) -> None:
    """Without the flag nothing is; with it, incident and healthy runs are, by ids that the case holds."""
    project = vaulted.project
    project.ingested("first")
    assert not vaulted.folder.exists()
    project.write("good.trace", healthy(9))
    project.ingested("second", "--keep-raw", "--new", "--passing", "good.trace", order=9)
    listed = project.run("evidence", "list", "--json").json()
    assert sorted(len(one["cases"]) for one in listed) == [0, 1]
    assert read_case(project.root / "cases" / "second").trace.record.raw_hash[:16] in vaulted.ids()
    assert project.run("evidence", "list").out.count("standard") == 2
    lost = vaulted.ids()[0]
    (vaulted.folder / "traces" / lost / "key.age").unlink()
    assert f"evidence {lost} can't be read" in project.run("evidence", "list").err
    assert project.run("evidence", "hold", lost, "--reason", "x").code == 4


def test_settings_may_choose_it_for_all(vaulted: Vaulted) -> None:
    """`keep = true` needs no flag; a dry run keeps nothing."""
    vaulted.configure(pyrage.x25519.Identity.generate(), "keep = true\n")
    vaulted.project.ingested("first", "--dry-run")
    assert not vaulted.folder.exists()
    vaulted.project.ingested("first")
    assert len(vaulted.ids()) == 1


def test_the_raw_trace_comes_back_with_the_identity(vaulted: Vaulted) -> None:
    """Whole, as a native trace that only its owner may read; each look is in the audit log."""
    vaulted.project.ingested("first", "--keep-raw")
    (one,) = vaulted.ids()
    out = vaulted.project.root / "raw.trace"
    command = ("evidence", "show", one, "--identity", str(vaulted.identity), "--reason", "case 4")
    assert vaulted.project.run(*command, "--out", str(out)).code == 0
    assert [*load_traces(str(out))] == [incident()]
    assert out.stat().st_mode & 0o077 == 0
    assert EMAIL in vaulted.project.run(*command).out
    assert vaulted.project.run(*command, "--out", str(out)).code == 2
    assert [(line["action"], line["reason"]) for line in read_audit(vaulted.folder)[-2:]] == [("show", "case 4")] * 2
    assert read_audit(vaulted.folder)[-1]["actor"] == "ann"


def test_who_writes_can_not_read(vaulted: Vaulted) -> None:
    """CI has the project, its key and the folder, and no identity: neither command nor bytes give the raw away."""
    vaulted.project.ingested("first", "--keep-raw")
    (one,) = vaulted.ids()
    assert vaulted.project.run("evidence", "show", one).code == 2
    stranger = vaulted.project.write("stranger.key", f"{pyrage.x25519.Identity.generate()}\n")
    refused = vaulted.project.run("evidence", "show", one, "--identity", str(stranger))
    assert (refused.code, "none of the identities may read" in refused.err) == (2, True)
    vaulted.identity.unlink()
    assert not re.search(b"lena|vogt|posteo", vaulted.bytes())


def test_changed_evidence_is_refused(vaulted: Vaulted) -> None:
    """Integrity is exit code 4; for the audit log too."""
    vaulted.project.ingested("first", "--keep-raw")
    (one,) = vaulted.ids()
    path = vaulted.folder / "traces" / one / "data.bin"
    path.write_bytes(path.read_bytes()[:-1])
    assert vaulted.project.run("evidence", "show", one, "--identity", str(vaulted.identity)).code == 4
    log = vaulted.folder / "audit.jsonl"
    log.write_text(log.read_text("utf-8").replace('"ann"', '"bob"', 1), "utf-8")
    assert vaulted.project.run("evidence", "list").code == 4


def test_a_folder_that_git_would_commit_is_refused(vaulted: Vaulted) -> None:
    """Before anything is written, the case neither."""
    project = vaulted.project
    os.makedirs(project.root / ".git")
    project.write("evalkit.toml", '[evidence]\nfolder = "raw"\nrecipients = ["age1x"]\n')
    project.write("i.trace", incident())
    done = project.run("ingest", "i.trace", "--keep-raw")
    assert (done.code, "git does not ignore it" in done.err) == (2, True)
    assert not (project.root / "raw").exists()
    assert case_versions(project.root / "cases") == []


def test_without_a_folder_the_cure_is_named(project: Project) -> None:
    """What to write into the settings."""
    project.write("i.trace", incident())
    done = project.run("ingest", "i.trace", "--keep-raw")
    assert (done.code, "[evidence] folder" in done.err) == (2, True)
    assert project.run("evidence", "list").code == 2


def test_forgetting_reaches_evidence_cases_and_runs(vaulted: Vaulted) -> None:
    """Nothing of the subject is left in any byte, and the gate stands as it did."""
    project = vaulted.project
    case_id = project.promoted("refund-twice", "--keep-raw")
    suite = project.suite("twice", samples=2, keep_traces='"all"')
    project.run("run", suite)
    runs = sorted((project.root / "reports").iterdir())
    assert len(runs) == 1
    assert surrogate().encode() in vaulted.bytes()
    plan = vaulted.forget("--dry-run")
    assert surrogate().encode() in vaulted.bytes()
    done = vaulted.forget()
    assert isinstance(plan, dict)
    assert isinstance(done, dict)
    assert {**plan, "done": True, "audit": done["audit"]} == done
    assert done["cases"] == [{"id": case_id, "gone": [1, 2, 3], "became": 4, "rewritten": True, "warnings": []}]
    assert len(done["evidence"]) == 1
    assert done["runs"] == [str(path.relative_to(project.root)) for path in runs]
    assert [[path.name for path in folder.iterdir()] for folder in runs] == [["forgotten.json"]]
    left = vaulted.bytes()
    assert not any(text.encode() in left for text in (surrogate(), EMAIL, "lena", "posteo"))
    assert not case_column_texts(project, case_id) & {surrogate(), EMAIL}
    assert vaulted.ids() == []


def case_column_texts(project: Project, case_id: str) -> set[str]:
    """All words of a case file, by another reader than evalkit's."""
    import pandas as pd

    frame = pd.read_parquet(case_versions(project.root / "cases" / case_id)[-1][1])
    return set(re.findall(r"[\w.@-]+", frame.to_csv()))


def test_a_permanent_case_stays_a_gate(vaulted: Vaulted) -> None:
    """Locked at its new version, replayed with the same outcomes; `check` takes the gap for explained."""
    project = vaulted.project
    case_id = project.promoted("refund-twice", "--keep-raw")
    before = read_case(project.root / "cases" / case_id)
    vaulted.forget()
    (line,) = read_lock(project.root / "cases")
    assert (line.case_id, line.version) == (case_id, 4)
    after = read_case(project.root / "cases" / case_id)
    assert (after.state, after.life[:-1], [c.id for c in after.checks]) == (
        "permanent", before.life, [c.id for c in before.checks],
    )  # fmt: skip
    checked = project.run("check")
    assert (checked.code, "0 problems" in checked.out) == (0, True)
    assert project.run("replay", case_id, "--target", "tests.suite.agents:once").code == 0
    assert project.run("replay", case_id, "--target", "tests.suite.agents:twice").code == 1
    assert [entry["version"] for entry in project.run("history", case_id, "--json").json()] == [4]


def test_the_base_branch_reports_no_loss(vaulted: Vaulted) -> None:
    """`gate --against` compares with a lock from before."""
    from evalkit.app.base_lock import compare_with_base
    from evalkit.app.base_tree import base_tree
    from evalkit.suite.select import list_cases

    project = vaulted.project
    project.promoted("refund-twice")
    for command in ("init -q", "add -A", "-c user.name=a -c user.email=a@b.c commit -q -m x"):
        assert os.system(f"git -C {project.root} {command}") == 0
    vaulted.forget()
    cases = project.root / "cases"
    assert compare_with_base(cases, [*list_cases(cases)], base_tree(project.root, "HEAD")).problems == ()


def test_the_tombstone_says_what_and_not_who(vaulted: Vaulted) -> None:
    """Digests, actor, reason and time; the audit line that it names is the one in the log."""
    case_id = vaulted.project.promoted("refund-twice", "--keep-raw")
    digests = [entry["digest"] for entry in vaulted.project.run("history", case_id, "--json").json()]
    vaulted.forget("--actor", "dpo")
    (stone,) = read_tombstones(vaulted.project.root / "cases" / case_id)
    assert (stone.actor, stone.reason, stone.became) == ("dpo", "ticket 12", 4)
    assert [digest for _, digest in stone.versions] == digests
    log = read_audit(vaulted.folder)
    assert [line["action"] for line in log[-2:]] == ["forget", "forgotten"]
    assert stone.audit == log[-2]["hash"]
    assert log[-2]["cases"] == [case_id]
    assert "vogt" not in json.dumps(log).lower()


def test_a_gap_without_a_tombstone_is_still_a_loss(vaulted: Vaulted) -> None:
    """And a version that comes back from version control is told."""
    case_id = vaulted.project.promoted("refund-twice")
    folder = vaulted.project.root / "cases" / case_id
    old = (folder / "v0001.parquet").read_bytes()
    vaulted.forget()
    (folder / "v0001.parquet").write_bytes(old)
    back = vaulted.project.run("check")
    assert (back.code, "was forgotten" in back.err) == (4, True)
    (folder / "v0001.parquet").unlink()
    (folder / "forgotten.json").unlink()
    assert vaulted.project.run("check").code == 4


def test_a_legal_hold_refuses_and_changes_nothing(vaulted: Vaulted) -> None:
    """With the reason; once released, forgetting goes on."""
    project = vaulted.project
    case_id = project.promoted("refund-twice", "--keep-raw")
    (one,) = vaulted.ids()
    assert project.run("evidence", "hold", one, "--reason", "Vogel ./. Acme").code == 0
    assert project.run("evidence", "hold", one, "--reason", "again").code == 2
    assert "legal-hold" in project.run("evidence", "list").out
    done = project.run("forget", EMAIL, "--reason", "ticket 12")
    assert (done.code, "Vogel ./. Acme" in done.err) == (2, True)
    assert len(case_versions(project.root / "cases" / case_id)) == 3
    assert project.run("evidence", "release", one, "--reason", "settled").code == 0
    assert project.run("evidence", "release", one, "--reason", "settled").code == 2
    vaulted.forget()
    assert vaulted.ids() == []


def test_a_case_of_several_incidents_gives_up_the_evidence_of_all(vaulted: Vaulted) -> None:
    """A later incident became a new version; the raw traces of both are the case's, and both go."""
    project = vaulted.project
    project.ingested("refund-twice", "--keep-raw")
    project.write("again.trace", incident(9))
    again = project.run("ingest", "again.trace", "--into", "refund-twice", "--reason", "seen again", "--keep-raw")
    assert again.code == 0, again.err
    listed = project.run("evidence", "list", "--json").json()
    assert [one["cases"] for one in listed] == [["refund-twice"]] * 2
    for path in (vaulted.folder / "traces").iterdir():  # as if no rule had seen the subject
        (path / "subjects.json").write_text("[]", "utf-8")
    vaulted.forget()
    assert vaulted.ids() == []
    case = read_case(project.root / "cases" / "refund-twice")
    assert (case.fingerprint, [one["fingerprint"] for one in case.source["earlier"]]) == ("", [""])  # type: ignore[union-attr, index, call-overload]
    assert project.run("check").code == 0


def test_forgetting_twice_finds_nothing_more(vaulted: Vaulted) -> None:
    """The second time all is gone; what is ingested again is not kept again."""
    vaulted.project.promoted("refund-twice", "--keep-raw")
    vaulted.forget()
    again = vaulted.forget()
    assert isinstance(again, dict)
    assert (again["cases"], again["evidence"], again["runs"]) == ([], [], [])
    assert vaulted.project.run("ingest", "refund-twice.trace", "--keep-raw").code == 2
    assert vaulted.ids() == []


def test_an_interrupted_forgetting_is_finished(vaulted: Vaulted) -> None:
    """The new version was written, and then the power went: the same command removes the old ones."""
    case_id = vaulted.project.promoted("refund-twice")
    folder = vaulted.project.root / "cases" / case_id
    old = {path: path.read_bytes() for _, path in case_versions(folder)}
    vaulted.forget()
    (folder / "forgotten.json").unlink()
    for path, data in old.items():
        path.write_bytes(data)
    done = vaulted.forget()
    assert isinstance(done, dict)
    assert (done["cases"][0]["gone"], done["cases"][0]["rewritten"]) == ([1, 2, 3], False)
    assert [number for number, _ in case_versions(folder)] == [4]
    assert vaulted.project.run("check").code == 0


def test_the_identity_finds_what_the_index_does_not_know(vaulted: Vaulted) -> None:
    """An address that the rules let stand is in no index; who may read the raw traces finds it."""
    text = (vaulted.project.root / "evalkit.toml").read_text("utf-8")
    vaulted.project.write("evalkit.toml", f'{text}[sanitize]\nallow = ["{EMAIL}"]\n')
    vaulted.project.ingested("first", "--keep-raw")
    for path in (vaulted.folder / "traces").iterdir():
        (path / "subjects.json").write_text("[]", "utf-8")
    case = vaulted.project.root / "cases" / "first"
    for path in [*case.iterdir()]:
        path.unlink()
    seen = vaulted.forget("--dry-run")
    found = vaulted.forget("--dry-run", "--identity", str(vaulted.identity))
    assert isinstance(seen, dict)
    assert isinstance(found, dict)
    assert (seen["evidence"], found["evidence"]) == ([], vaulted.ids())
    assert found["left"] == ["evalkit.toml"]


@pytest.mark.parametrize(
    "arguments",
    [
        (EMAIL,),
        (EMAIL, "--reason", " "),
        (EMAIL, "--reason", f"{EMAIL} asked"),
        ("Lena Vogt", "--reason", "Mrs Vogt asked"),
        (EMAIL, "--reason", "x", "--actor", EMAIL),
        ("no", "--reason", "x"),
    ],
    ids=["no reason", "empty reason", "named in the reason", "half named", "named as actor", "no subject"],
)
def test_what_can_not_be_accounted_for_is_refused(arguments: tuple[str, ...], vaulted: Vaulted) -> None:
    """Actor and reason are kept, so they must be there and must not name the subject."""
    vaulted.project.ingested("first")
    assert vaulted.project.run("forget", *arguments).code == 2
    assert surrogate() in case_column_texts(vaulted.project, "first")


def test_forgetting_works_without_an_evidence_folder(project: Project) -> None:
    """Cases and runs hold people too; the tombstone is the record then."""
    project.promoted("refund-twice")
    done = project.run("forget", EMAIL, "--reason", "ticket 12")
    assert done.code == 0
    assert "rewritten: case refund-twice as v4" in done.out
    assert "not reached:" in done.out
    assert project.run("check").code == 0


def test_cases_of_another_key_are_told(vaulted: Vaulted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their surrogates can't be computed: nobody may believe that they were searched."""
    vaulted.project.ingested("first", "--keep-raw")
    monkeypatch.setenv("EVALKIT_PSEUDONYM_KEY", "22" * 32)
    done = vaulted.project.run("forget", EMAIL, "--reason", "ticket 12", "--dry-run", "--json")
    assert done.code == 3
    assert done.json()["other_key"] == ["case first", f"evidence {vaulted.ids()[0]}"]


def test_nobody_is_forgotten_without_the_project_key(
    vaulted: Vaulted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that is made for the moment would find nothing, and say so as if there were nothing."""
    vaulted.project.ingested("first")
    monkeypatch.delenv("EVALKIT_PSEUDONYM_KEY")
    monkeypatch.setenv("HOME", str(tmp_path))
    done = vaulted.project.run("forget", EMAIL, "--reason", "ticket 12")
    assert (done.code, "there is no project key" in done.err) == (2, True)
    assert not [*tmp_path.rglob("pseudonym.key")]


def test_retention_destroys_what_is_past_its_class(vaulted: Vaulted) -> None:
    """By the settings of the day; what is on hold stays, and a dry run destroys nothing."""
    from evalkit.app.evidence import apply_retention
    from evalkit.app.settings_read import load_settings

    project = vaulted.project
    project.ingested("first", "--keep-raw", "--retention", "short")
    project.ingested("second", "--keep-raw", "--new", order=9)
    project.ingested("third", "--keep-raw", "--new", order=11)
    by_case = {one["cases"][0]: one["id"] for one in project.run("evidence", "list", "--json").json()}
    project.run("evidence", "hold", by_case["third"], "--reason", "x")
    assert project.run("retention", "apply", "--json").json() == {"done": True, "evidence": [], "unfinished": []}
    settings = load_settings(Path(), {})
    soon = [one.id for one in apply_retention(settings, now="2027-01-15T00:00:00Z", dry_run=True).past]
    assert soon == [by_case["first"]]
    late = {one.id for one in apply_retention(settings, now="2030-01-01T00:00:00Z").past}
    assert late == {by_case["first"], by_case["second"]}
    assert vaulted.ids() == [by_case["third"]]
    assert read_audit(vaulted.folder)[-2]["action"] == "retention"


def test_an_interrupted_retention_is_finished(vaulted: Vaulted, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one ends it, as the audit log says what was meant; a key that is lost by a fault is no such thing."""
    from evalkit.app.evidence import apply_retention
    from evalkit.app.settings_read import load_settings

    project = vaulted.project
    project.ingested("first", "--keep-raw", "--retention", "short")
    project.ingested("second", "--keep-raw", "--new", order=9)
    by_case = {one["cases"][0]: one["id"] for one in project.run("evidence", "list", "--json").json()}
    first, second = (vaulted.folder / "traces" / by_case[name] for name in ("first", "second"))
    with monkeypatch.context() as patched:
        patched.setattr("evalkit.vault.store.shred", lambda path: path.unlink() if path.name == "key.age" else 1 / 0)
        with pytest.raises(ZeroDivisionError):  # stands in for a machine that stops
            apply_retention(load_settings(Path(), {}), now="2027-01-15T00:00:00Z")
    (second / "key.age").unlink()
    told = project.run("evidence", "list").err
    assert f"evidence {first.name} is half destroyed: evalkit retention apply ends it" in told
    assert f"evidence {second.name} can't be read: its wrapped key is gone, and nobody meant to destroy it" in told
    assert project.run("retention", "apply", "--dry-run", "--json").json()["unfinished"] == [first.name]
    assert (first / "data.bin").exists()
    assert f"destroyed: evidence {first.name}, which was half destroyed" in project.run("retention", "apply").out
    assert [path.name for path in first.iterdir()] == ["destroyed.json"]
    assert json.loads((first / "destroyed.json").read_bytes())["reason"] == "past its retention class"
    assert (second / "data.bin").exists()
    assert "half destroyed" not in project.run("evidence", "list").err


@pytest.mark.parametrize("there", [False, True])
def test_an_evidence_folder_that_holds_nothing_is_told(vaulted: Vaulted, there: bool) -> None:
    """Its disk may not be mounted: what was to be destroyed in there was not, whatever else was done."""
    vaulted.project.ingested("first")
    if there:
        vaulted.folder.mkdir()
    said = "nothing was ever kept there" if there else "there is no such folder"
    for command in (("evidence", "list"), ("retention", "apply")):
        done = vaulted.project.run(*command)
        assert (done.code, f"no evidence in {vaulted.folder}: {said}; if there should be" in done.err) == (0, True)
    for _ in range(2):  # what forgetting writes down in there is no evidence
        assert any("is its disk mounted?" in one for one in vaulted.forget()["not_reached"])  # type: ignore[index]
    vaulted.project.ingested("second", "--keep-raw", "--new", order=9)
    assert "no evidence in" not in vaulted.project.run("evidence", "list").err
