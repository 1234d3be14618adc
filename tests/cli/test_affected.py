"""`evalkit affected` and `reapprove`: cases that today's prompt and tools touch, and the gate that holds for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evalkit.app.demo import agent
from evalkit.app.demo.server import ScriptedModel, serving
from evalkit.case.store import find_case, read_case
from tests.build import model_step
from tests.cli.test_gate import committed
from tests.project import Project, incident

FIXED = "evalkit.app.demo.agent:run_fixed"
BUGGY = "evalkit.app.demo.agent:run_buggy"


@pytest.fixture
def shipped(project: Project, case_id: str) -> Project:
    """The incident as a permanent case; the prompt and the tools of that day in files."""
    project.write("prompt.txt", agent.PROMPT_BUGGY)
    project.write("tools.json", agent.TOOLS)
    with serving(ScriptedModel(0.0)) as url:
        project.run("review", case_id, "--accept-all", "--reason", "read")
        flags = ["--replay", "1", "--target", FIXED, "--mode", "live-model", "--base-url", url, "--reason", "x"]
        done = project.run("promote", case_id, *flags)
        assert done.code == 0, done.err
        project.write(
            "suites/r.toml",
            f'target = "{FIXED}"\nsamples = 3\nmode = "live-model"\n[policy]\nkind = "zero_failures"\n'
            f'[model]\nbase_url = "{url}"\n',
        )
        assert project.run("run", "suites/r.toml", "--out", "reports/a", "-n", "1").code == 0
    return project


def declared(project: Project) -> None:
    """The settings say what the agent is told."""
    project.write("evalkit.toml", '[affected]\nprompt = "prompt.txt"\ntools = "tools.json"\n')


def test_the_gate_holds_until_each_touched_case_is_approved(shipped: Project) -> None:
    """A changed prompt holds the release though every sample passed; an approval with a reason opens it, once."""
    declared(shipped)
    assert shipped.run("affected").code == 0
    assert shipped.run("gate", "reports/a").code == 0
    shipped.write("prompt.txt", agent.PROMPT_FIXED)
    done = shipped.run("affected")
    assert (done.code, "1 of 1 case touched" in done.out, "is not today's any more" in done.out) == (1, True, True)
    held = shipped.run("gate", "reports/a")
    assert held.code == 1
    assert "evalkit reapprove twice --reason WHY" in held.out
    assert shipped.run("reapprove", "twice", "--reason", " ").code == 2
    approved = shipped.run("reapprove", "twice", "--reason", "it still refunds", "--actor", "bob")
    assert approved.code == 0, approved.err
    event = read_case(find_case("twice", shipped.root / "cases")).life[-1]
    assert (event.state, event.actor, event.reason) == ("permanent", "bob", "it still refunds")
    assert "is not today's any more" in event.proved
    assert shipped.run("affected").code == 0
    assert shipped.run("check").code == 0
    assert shipped.run("reapprove", "twice", "--reason", "again").code == 2
    shipped.write("prompt.txt", agent.PROMPT_FIXED + " Be brief.")
    assert shipped.run("affected").code == 1


def test_an_approved_case_passes_the_gate_when_it_is_run_again(shipped: Project) -> None:
    """The approval is a version of its own; its baseline is not stale by it."""
    declared(shipped)
    shipped.run("baseline", "set", "reports/a", "--reason", "x", "--out", "suites/r.baseline.parquet")
    shipped.write("prompt.txt", agent.PROMPT_FIXED)
    shipped.run("reapprove", "twice", "--reason", "it still refunds")
    with serving(ScriptedModel(0.0)) as url:
        done = shipped.run("run", "suites/r.toml", "--base-url", url, "--out", "reports/b", "-n", "1", "--json")
    assert done.json()["cases"][0]["change"] == "no change shown"
    assert shipped.run("gate", "reports/b").code == 0


def test_what_was_agreed_to_is_told_against_the_base(shipped: Project) -> None:
    """An approval opens the gate: whoever lets the release go sees that there was one."""
    declared(shipped)
    committed(shipped, "evalkit.toml", "prompt.txt", "tools.json")
    shipped.write("prompt.txt", agent.PROMPT_FIXED)
    shipped.run("reapprove", "twice", "--reason", "it still refunds")
    notices = shipped.run("gate", "reports/a", "--against", "main", "--json").json()["notices"]
    assert any("case twice was agreed to as it is under another prompt" in notice for notice in notices)


def test_a_suite_may_say_it_instead(shipped: Project) -> None:
    """`[affected]` in the suite; the settings say nothing."""
    assert shipped.run("affected").code == 2
    text = (shipped.root / "suites" / "r.toml").read_text("utf-8")
    shipped.write("suites/r.toml", text + '[affected]\nprompt = "prompt.txt"\n')
    with serving(ScriptedModel(0.0)) as url:
        shipped.run("run", "suites/r.toml", "--base-url", url, "--out", "reports/b", "-n", "1")
    assert shipped.run("gate", "reports/b").code == 0
    shipped.write("prompt.txt", "You sell hats.")
    assert shipped.run("gate", "reports/b").code == 1


def test_files_and_patterns_are_named_on_the_command_line(shipped: Project) -> None:
    """One of several prompts; tools of MCP with their annotations; what is no such file."""
    shipped.write("prompts/a.txt", "You plan.")
    shipped.write("prompts/b.txt", agent.PROMPT_BUGGY.replace("an online shop", "{shop}"))
    assert shipped.run("affected", "--prompt", "prompts/*.txt").code == 0
    assert shipped.run("affected", "--prompt", "prompts/a.txt").code == 1
    tools = [
        {"name": tool["function"]["name"], "inputSchema": tool["function"]["parameters"], "annotations": hints}
        | {"description": tool["function"]["description"]}
        for tool, hints in zip(agent.TOOLS, ({"readOnlyHint": True}, {"readOnlyHint": True}), strict=True)
    ]
    shipped.write("mcp.json", {"result": {"tools": tools}})
    (one,) = shipped.run("affected", "--tools", "mcp.json", "--json").json()
    assert [touch["words"] for touch in one["touches"]] == ["refund_order was of effect write and is read now"]
    for option, name in (("--prompt", "nowhere.txt"), ("--tools", "prompt.txt"), ("--tools", "nowhere.json")):
        assert shipped.run("affected", option, name).code == 2
    shipped.write("empty.json", [])
    assert shipped.run("affected", "--tools", "empty.json").code == 2
    assert shipped.run("affected", "nobody", "--prompt", "prompt.txt").code == 2


def test_a_target_says_it_by_its_first_request(shipped: Project) -> None:
    """In the case's frozen world, though the case holds no answer for it."""
    assert shipped.run("affected", "--target", BUGGY).code == 0
    done = shipped.run("affected", "twice", "--target", FIXED)
    assert (done.code, "is not today's any more" in done.out) == (1, True)
    silent = shipped.run("affected", "--target", "tests.suite.agents:once")
    assert (silent.code, "asks no model" in silent.out) == (3, True)
    assert shipped.run("reapprove", "twice", "--target", FIXED, "--reason", "x").code == 0
    assert shipped.run("affected", "twice", "--target", FIXED).code == 0


def test_the_settings_word_on_effects_touches(shipped: Project) -> None:
    """A tool that is declared otherwise than it was recorded."""
    shipped.write("evalkit.toml", '[tools."refund_*"]\neffect = "read"\n')
    done = shipped.run("affected")
    assert (done.code, "refund_order was of effect write and is read now" in done.out) == (1, True)


def test_what_no_file_or_no_recording_says_is_not_called_untouched(project: Project) -> None:
    """An empty prompt, or one of placeholders, is refused; a case whose prompt nobody recorded can't be told (3)."""
    from dataclasses import replace

    from evalkit.trace.model import Step
    from tests.build import a_trace, tool_step

    asked = Step(0, "model", "chat", {"messages": [{"role": "user", "content": "refund 7"}]}, {"content": "done"})
    steps = (asked, *(tool_step(at, "refund", {"order": 7}, {"ok": True}, effect="write") for at in (1, 2)))
    project.write("i.trace", replace(a_trace(*steps, input={"order": 7}, output={"done": True}), id="i"))
    assert project.run("ingest", "i.trace", "--id", "unsaid").code == 0
    project.write("prompt.txt", " \n")
    done = project.run("affected", "--prompt", "prompt.txt")
    assert (done.code, "holds no prompt" in done.err) == (2, True), done.err
    project.write("prompt.txt", "{role}\n{{ question }}\n")
    done = project.run("affected", "--prompt", "prompt.txt")
    assert (done.code, "placeholders alone, which every recorded prompt fits" in done.err) == (2, True), done.err
    project.write("prompt.txt", "You refund orders.")
    done = project.run("affected", "--prompt", "prompt.txt")
    assert (done.code, "recorded without a system prompt" in done.out) == (3, True), done.out + done.err
    project.write("passing.trace", replace(a_trace(*steps[:2], input={"order": 7}, output={"done": True}), id="h"))
    project.run("review", "unsaid", "--accept-all", "--reason", "read")
    done = project.run("promote", "unsaid", "--reason", "x", "--passing", "passing.trace")
    assert done.code == 0, done.err
    project.write("evalkit.toml", '[affected]\nprompt = "prompt.txt"\n')
    project.run("run", project.suite("once", samples=2), "--out", "reports/a")
    told = project.run("gate", "reports/a", "--json").json()["notices"]
    assert any(note.startswith("unsaid: recorded without a system prompt") for note in told)


HOTLINE = "You refund orders. Ask Lena Vogt, lena.vogt@posteo-mail.de or +49 30 9018 2255, where you may not{0}."


def test_a_prompt_with_an_address_is_told_without_the_key_that_hid_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job may have no key: a prompt that is the same is the same there, and so is one that was agreed to."""
    asked: Any = {
        "messages": [{"role": "system", "content": HOTLINE.format("")}, {"role": "user", "content": "refund 7"}]
    }
    steps = [replace(model_step(0, "ok"), input=asked), *(replace(step, seq=step.seq + 1) for step in incident().steps)]
    project.write("i.trace", replace(incident(), steps=tuple(steps)))
    assert project.run("ingest", "i.trace", "--id", "told").code == 0
    assert "posteo-mail" not in (project.root / "cases" / "told" / "case.md").read_text("utf-8")
    project.write("evalkit.toml", '[affected]\nprompt = "prompt.txt"\n')
    keys = ["11" * 32, "22" * 32, ""]

    def codes(prompt: str) -> list[int]:
        project.write("prompt.txt", prompt)
        found = []
        for key in keys:
            monkeypatch.setenv("EVALKIT_PSEUDONYM_KEY", key)
            found.append(project.run("affected").code)
        monkeypatch.setenv("EVALKIT_PSEUDONYM_KEY", keys[0])
        return found

    assert codes(HOTLINE.format("")) == [0, 0, 0]
    assert codes("{greeting} " + HOTLINE.format("")[4:]) == [0, 0, 0]
    assert codes(HOTLINE.format(" refund")) == [1, 1, 1]
    assert project.run("reapprove", "told", "--reason", "it still refunds").code == 0
    assert codes(HOTLINE.format(" refund")) == [0, 0, 0]
    assert codes(HOTLINE.format(" do so")) == [1, 1, 1]
