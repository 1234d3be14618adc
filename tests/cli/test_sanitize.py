"""`evalkit sanitize`, and a project's own rules."""

from __future__ import annotations

import json

import pytest

from tests.project import Project, incident

MAIL = "lena.vogt@example.org"
TRACE = [
    {"role": "user", "content": "I am lena.vogt@acme-mail.com, order ORD-77123, call (212) 736-5000"},
    {"role": "assistant", "content": "Thanks", "tool_calls": []},
]


def chat(project: Project) -> None:
    """A chat with a customer's e-mail and phone number."""
    project.write("chat.json", json.dumps({"messages": TRACE}))


def test_it_shows_what_changes_without_the_originals(project: Project) -> None:
    """Place, before, after; what stood there is masked, and no colour goes to a pipe."""
    chat(project)
    done = project.run("sanitize", "chat.json")
    assert done.code == 0
    assert "lena.vogt" not in done.out
    assert "736-5000" not in done.out
    assert "****.****@****-****.***" in done.out
    assert "@example.com" in done.out
    assert "\x1b[" not in done.out


def test_only_what_was_replaced_is_masked(project: Project) -> None:
    """Between two values the text can be read, and no letter that both forms share by chance shows."""
    said = "My name is Lena Rossi, and my mail is lena.vogt@acme-mail.com, thanks. 我叫王建国，手机13912345678，谢谢。"
    project.write("chat.json", json.dumps({"messages": [{"role": "user", "content": said}, TRACE[1]]}))
    masked = "My name is **** *****, and my mail is ****.****@****-****.***, thanks. 我叫***，手机***********，谢谢。"
    assert masked in project.run("sanitize", "chat.json").out


def test_what_every_request_repeats_is_shown_once(project: Project) -> None:
    """A chat's later requests hold its earlier messages again: they are counted."""
    turns = [TRACE[0], {"role": "assistant", "content": "one"}, {"role": "user", "content": "two"}]
    project.write("chat.json", json.dumps({"messages": [*turns, {"role": "assistant", "content": "three"}]}))
    lines = project.run("sanitize", "chat.json").out.splitlines()
    assert sum("****.****@" in line for line in lines) < 4
    assert any("(and once later)" in line for line in lines)


def test_originals_are_shown_on_demand(project: Project) -> None:
    """--show-raw is for one's own terminal."""
    chat(project)
    assert "lena.vogt@acme-mail.com" in project.run("sanitize", "chat.json", "--show-raw").out


def test_json_has_record_and_changes(project: Project) -> None:
    """Stable keys; surrogates only."""
    chat(project)
    done = project.run("sanitize", "chat.json", "--json")
    (body,) = done.json()
    assert {"trace", "sanitization", "changes"} == set(body)
    assert body["sanitization"]["counts"]["email"] == 1
    assert body["sanitization"]["rules"]
    assert body["sanitization"]["paths"]
    assert "lena.vogt" not in done.out


def test_out_writes_a_trace_that_is_a_fixed_point(project: Project) -> None:
    """The file can be read, holds no original, and is never written over."""
    chat(project)
    assert project.run("sanitize", "chat.json", "--out", "clean.trace").code == 0
    assert "lena.vogt" not in (project.root / "clean.trace").read_text("utf-8")
    again = project.run("sanitize", "clean.trace", "--json").json()
    assert again[0]["changes"] == []
    assert project.run("sanitize", "chat.json", "--out", "clean.trace").code == 2
    assert not [path for path in project.root.iterdir() if path.name.startswith(".writing")]


@pytest.mark.parametrize(
    ("rules", "kept", "gone"),
    [
        ('allow = ["lena.vogt@acme-mail.com"]', ["lena.vogt@acme-mail.com"], ["736-5000"]),
        ('allow_patterns = ["[a-z.]+@acme-mail[.]com"]', ["lena.vogt@acme-mail.com"], ["736-5000"]),
        ('[sanitize.actions]\nphone = "keep"', ["(212) 736-5000"], ["lena.vogt"]),
        ('[sanitize.actions]\nemail = "drop"', ["[email removed]"], ["lena.vogt"]),
        ('[sanitize.actions]\nemail = "hash"', ["[email "], ["lena.vogt"]),
        ('[sanitize.patterns]\ncustom = ["ORD-[0-9]{5}"]', [], ["ORD-77123", "lena.vogt"]),
        ('[[sanitize.policies]]\npath = "chat.*"\nallow = ["lena.vogt@acme-mail.com"]', ["lena.vogt@"], ["736-5000"]),
        ('[[sanitize.policies]]\npath = "other/**"\nallow = ["lena.vogt@acme-mail.com"]', [], ["lena.vogt"]),
        (
            '[[sanitize.policies]]\ntag = "shop"\n[sanitize.policies.actions]\nphone = "keep"',
            ["736-5000"],
            ["lena.vogt"],
        ),
    ],
)
def test_rules_of_ones_own(project: Project, rules: str, kept: list[str], gone: list[str]) -> None:
    """What evalkit.toml says holds: allowed values stay, actions decide, policies are for their sources and tags."""
    chat(project)
    project.write("evalkit.toml", f"[sanitize]\n{rules}\n")
    done = project.run("sanitize", "chat.json", "--out", "clean.trace", "--tag", "shop")
    assert done.code == 0, done.err
    text = (project.root / "clean.trace").read_text("utf-8")
    assert [part for part in kept if part not in text] == []
    assert [part for part in gone if part in text] == []


def test_an_allowed_place_is_nobodys(project: Project) -> None:
    """A path in the rules: what stands there is left, there and elsewhere."""
    chat(project)
    project.write("evalkit.toml", '[sanitize]\nallow_paths = ["tool lookup.output.**.contact"]\n')
    trace = {"messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1",
         "content": '{"shop": {"contact": "desk@acme-mail.com"}, "email": "a.b@c-mail.com"}'},
    ]}  # fmt: skip
    project.write("two.json", json.dumps(trace))
    assert project.run("sanitize", "two.json", "--out", "clean.trace").code == 0
    text = (project.root / "clean.trace").read_text("utf-8")
    assert ("a.b@c-mail.com" in text, "desk@acme-mail.com" in text) == (False, True)


def test_a_pattern_that_is_no_re2_is_an_error(project: Project) -> None:
    """Look-around could hang on hostile texts; it is refused by name."""
    chat(project)
    project.write("evalkit.toml", "[sanitize.patterns]\ncustom = ['(?<=a)b']\n")
    done = project.run("sanitize", "chat.json")
    assert (done.code, "RE2" in done.err) == (2, True)


def test_review_writes_only_what_was_agreed_to(project: Project) -> None:
    """With nobody to ask, exit code 2 and the list; --yes writes."""
    project.write("incident.trace", incident())
    done = project.run("ingest", "incident.trace", "--review")
    assert (done.code, "names to look at" in done.err, "lena.vogt" in done.err) == (2, True, False)
    assert not (project.root / "cases").exists()
    assert project.run("ingest", "incident.trace", "--review", "--yes").code == 0
    assert project.run("check").code == 0


def test_inspect_can_show_what_would_be_kept(project: Project) -> None:
    """Raw on one's own terminal unless asked otherwise."""
    chat(project)
    assert "lena.vogt" in project.run("inspect", "chat.json", "--json").out
    assert "lena.vogt" not in project.run("inspect", "chat.json", "--json", "--sanitized").out


def test_check_finds_what_new_rules_know(project: Project) -> None:
    """A case made before a rule is pointed out by kind, without the value."""
    project.write("incident.trace", incident())
    assert project.run("ingest", "incident.trace", "--id", "c").code == 0
    assert project.run("check").code == 0
    project.write("evalkit.toml", "[sanitize.patterns]\ncustom = ['refund']\n")
    done = project.run("check")
    assert (done.code, "custom" in done.err) == (2, True)
