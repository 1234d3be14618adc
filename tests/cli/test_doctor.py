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
