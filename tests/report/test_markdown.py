"""The summary for a pull request."""

from __future__ import annotations

import re
from dataclasses import replace

from evalkit.report.markdown import render_markdown
from tests.report.build import RunParts, blocked_run, large_run

HOSTILE = (
    "`a` | b <script>x</script> [l](http://e) ![i](u) **b** @octocat #12 GH-12 https://evil.example ~~s~~ $x$ "
    "\u202e\x1b[0m\nz"
)


def test_the_decision_comes_first() -> None:
    """The first line decides; the reason follows."""
    lines = render_markdown(blocked_run().model()).splitlines()
    assert lines[0] == "## ⛔ Blocked: this release must not go"
    assert "1 permanent gate blocks, 1 could not be measured." in lines[2]


def test_the_table_has_what_needs_attention() -> None:
    """Troubled cases; passing gates folded after them, other passing cases not at all."""
    table = [line for line in render_markdown(blocked_run().model()).splitlines() if line.startswith("| <code>")]
    names = [re.findall("<code>(.*?)</code>", line)[0] for line in table]
    assert names[:3] == ["refund-twice", "escalation-skipped", "slow-search"]
    assert names[-1] == "wrong-address"
    text = render_markdown(blocked_run().model())
    folded = text.index("<details><summary>1 permanent gate passes</summary>")
    assert text.index("| <code>sometimes-late") < folded < text.index("| <code>wrong-address")
    assert "passing-0" not in names


def test_hostile_text_is_no_markup() -> None:
    """Nothing of a trace becomes a link, code, table cell, mention, issue reference or tag."""
    text = render_markdown(RunParts().add("a", "f", permanent=True, title=HOSTILE, reason=HOSTILE).model())
    own = re.sub(r"</?(code|details|summary)>|<!-- -->|&#\d+;", "", text)
    assert "<" not in own
    assert "`" not in own
    assert "](" not in own
    assert "https://" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert not re.search(r"@octocat|(?<!&)#12|GH-12", text)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {row.count("|") for row in rows} == {7}


def test_the_summary_of_a_large_run_stays_short() -> None:
    """GitHub refuses comments beyond 65,536 characters, however long the reasons are; some cases are told anyway."""
    parts = large_run(1_000, 4, failing_every=1)
    usual = render_markdown(parts.model())
    assert len(usual) < 20_000
    parts.verdicts = [replace(verdict, reason="<|>" * 500, title="<|>" * 500) for verdict in parts.verdicts]
    text = render_markdown(parts.model())
    assert len(text) < 65_536
    assert "and 990 cases more" in text


def test_what_a_reader_should_know_is_told() -> None:
    """A notice stands above the table, as text."""
    parts = RunParts().add("a", "p")
    parts.notices = ("the model changed during the run: <b>old</b>, then new",)
    text = render_markdown(parts.model())
    assert "- ⚠️ the model changed during the run: &#60;b&#62;old" in text
