"""`evalkit doctor`: what it says of this machine, and of one that lacks a layer."""

from __future__ import annotations

import sys

import pytest

from evalkit.playback.sandbox import confine
from tests.project import Project


def test_it_names_layers_python_extras_keys_and_git(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every area is there, and no key's value."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-live-and-secret")
    body = project.run("doctor", "--json").json()
    assert {finding["area"] for finding in body["findings"]} == {"sandbox", "python", "extra", "key", "git"}
    shown = project.run("doctor")
    assert shown.code == 0
    assert "OPENAI_API_KEY: set" in shown.out
    assert "sk-live" not in shown.out + str(body)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's layers are Linux's")
def test_it_says_what_a_missing_layer_lets_through(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the kernel's reason, and that sandboxed replays are refused."""

    def no_seccomp() -> None:
        raise OSError(38, "no such call")

    monkeypatch.setattr(confine, "restrict_calls", no_seccomp)
    body = project.run("doctor", "--json").json()
    assert body["sandbox"]["safe"] is False
    assert "no such call" in body["sandbox"]["missing"]["seccomp"]
    out = project.run("doctor").out
    assert "start programs" in out
    assert "refused here" in out


def test_it_names_the_project_key_at_hand_and_never_shows_it(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the id that `show` tells of a case; and how many cases were made with another key."""
    project.ingested()
    (told,) = (project.run("show", "refund-twice", "--json").json()["sanitization"]["key_id"],)
    key = next(found for found in project.run("doctor", "--json").json()["findings"] if found["name"] == "project key")
    assert (key["state"], f"id {told}, from " in key["what"]) == ("ok", True)
    assert "another one" not in key["what"]
    monkeypatch.setenv("EVALKIT_PSEUDONYM_KEY", "ab" * 32)
    shown = project.run("doctor").out
    assert "from EVALKIT_PSEUDONYM_KEY; 1 of 1 cases were made with another one" in shown
    assert "abab" not in shown
    monkeypatch.setenv("EVALKIT_PSEUDONYM_KEY", "short")
    assert "lacking  key      project key: a pseudonym key is 16 bytes or more" in project.run("doctor").out
    monkeypatch.delenv("EVALKIT_PSEUDONYM_KEY")
    monkeypatch.setenv("EVALKIT_KEY_FILE", str(project.root / "none.key"))
    assert "none.key is not there: the next ingest makes it" in project.run("doctor").out
