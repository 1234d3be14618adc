"""The page: one file, nothing of a trace in it is markup."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.report import page
from evalkit.report.html import render_html
from evalkit.report.model import Background
from evalkit.report.page import shown
from evalkit.suite.model import SampleCheck
from evalkit.trace.model import Step, StepError, Trace
from evalkit.verdict.model import Decision
from tests.report.build import NO_REPEAT, RunParts, background, blocked_run, large_run

HOSTILE = (
    '</script><script>alert("xA")</script><svg onload=alert(1)><img src=x onerror=alert(2)> {{7*7}} {% raw %} '
    "</style><style>*{display:none}</style> <!-- \" onmouseover=alert(3) x=' --> \x1b[31mred\x1b[0m \u202etxt.exe \x00 "
    "\u200b \ud800 <![CDATA[ ]]> &lt;b&gt; javascript:alert(4) <details open ontoggle=alert(5)>"
)


class Page(HTMLParser):
    """All tags, attributes and texts of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.inside = ""
        self.blocks: dict[str, list[str]] = {"script": [], "style": []}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes the tag."""
        self.tags.append(tag)
        self.inside = tag
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        """Notes the text, or the content of a script or style."""
        self.blocks.get(self.inside, self.texts).append(data)

    def handle_endtag(self, tag: str) -> None:
        """Notes that a script or style is over."""
        self.inside = ""

    @property
    def text(self) -> str:
        """All that is read."""
        return "".join(self.texts)

    @property
    def shape(self) -> tuple[list[str], list[tuple[str, str]]]:
        """Tags and attribute names, without the marks of hidden characters and the folds of long values."""
        return self.tags, [(tag, name) for tag, name, _ in self.attributes]


def packed_rows(page: str) -> list[str]:
    """The HTML of the rows and drill-downs that the page's script draws on demand."""
    data = Page(page).blocks["script"][0]
    return zlib.decompress(base64.b64decode(data)).decode().split("\0")[1:]


def test_parts_that_rows_have_alike_are_drawn_once_and_no_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases that came to the same differ in what is their own; those that came to something else, in all of it."""
    models = [large_run(300, 4).model(), blocked_run().model()]
    alike = [render_html(model) for model in models]
    monkeypatch.setattr(page, "_REMEMBERED", 0)
    page._environment.cache_clear()
    try:
        assert [render_html(model) for model in models] == alike
    finally:
        page._environment.cache_clear()


def full_of(text: str) -> RunParts:
    """A run in which every text that a trace or a person can set is `text`."""
    steps = (
        Step(0, "other", "user_message", output={"role": "user", "content": text}),
        Step(1, "model", text, {"messages": [{"role": text, "content": text}]}, {"content": text, "tool_calls": []}),
        Step(2, "tool", text, {text: text}, {"r": text}, effect="write"),
        Step(3, "tool", text, text, None, StepError(text, text, text, text)),
    )
    trace = Trace(text, text, text, steps, text, text, StepError(text, text))
    parts = RunParts().add(
        "a", "fpme", permanent=True, incident=trace, failing=trace, title=text, reason=text, link=text
    )
    samples = parts.samples["a"]
    failed = SampleCheck(NO_REPEAT.id, True, False, text)
    parts.samples["a"] = [
        replace(sample, reason=text, misses=(text,) if sample.misses else (), checks=(failed,) if sample.checks else ())
        for sample in samples
    ]
    case = parts.cases["a"]
    parts.cases["a"] = replace(
        case,
        signature=text,
        target=text,
        owner=text,
        source={text: text},
        tags=(text,),
        life=tuple(replace(event, actor=text, reason=text) for event in case.life),
    )
    parts.verdicts[0] = replace(parts.verdicts[0], owner=text, tags=(text,), signature=text)
    parts.decision = Decision("BLOCKED", text, (("a", text), ("gates.lock", text)), ((text, text),))
    return parts


def unmarked(page: Page) -> list[str]:
    """The tags without the span of a marked character."""
    spans = sum(1 for tag, name, value in page.attributes if (tag, name, value) == ("span", "class", "u"))
    kept = list(page.tags)
    for _ in range(spans):
        kept.remove("span")
    return kept


def test_hostile_text_adds_no_markup() -> None:
    """The page with hostile texts has the same elements as the one with harmless texts of the same length."""
    harmless = Page(render_html(full_of("x" * len(HOSTILE)).model()))
    hostile = Page(render_html(full_of(HOSTILE).model()))
    assert sorted(unmarked(hostile)) == sorted(unmarked(harmless))
    assert not [name for _, name, _ in hostile.attributes if name.startswith("on") or name == "style"]
    assert "{{7*7}}" in hostile.text
    assert '<script>alert("xA")</script>' in hostile.text


def test_hidden_characters_are_shown_as_codes() -> None:
    """No control, bidi or invisible character of a trace reaches the file raw; each is visible."""
    text = render_html(full_of(HOSTILE).model())
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)
    assert '<span class="u">U+202E</span>' in text
    assert '<span class="u">U+001B</span>' in text
    text.encode("utf-8")


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=60))
def test_any_text_reads_as_itself(text: str) -> None:
    """What is shown has no tag but the mark, and printable ASCII is unchanged."""
    page = Page(f"<p>{shown(text)}</p>")
    assert set(page.tags) <= {"p", "span"}
    printable = "".join(character for character in text if " " <= character <= "~")
    assert [c for c in printable if c not in page.text] == []


def test_only_the_pages_own_script_and_style_may_run() -> None:
    """The policy names exactly the digests of the one script and the one style, and nothing else is allowed."""
    page = Page(render_html(full_of(HOSTILE).model()))
    policy = next(value for tag, name, value in page.attributes if tag == "meta" and value.startswith("default-src"))
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert page.tags.count("style") == 1
    assert [value for tag, name, value in page.attributes if (tag, name) == ("script", "type")] == [
        "application/octet-stream"  # data, which no browser runs
    ]
    for kind in ("script", "style"):
        found = base64.b64encode(hashlib.sha256(page.blocks[kind][-1].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{found}'" in policy


def test_the_page_needs_no_network() -> None:
    """No element refers to anything outside but an incident's link, which only a reader follows."""
    page = Page(render_html(blocked_run().model()))
    outside = [(tag, value) for tag, name, value in page.attributes if name in ("href", "src") and value[:1] != "#"]
    assert set(outside) == {("a", "https://incidents.example/4711")}


def test_the_banner_comes_first_and_gates_are_marked_in_words() -> None:
    """The decision and its reason stand before any case; a gate is not told by a picture alone."""
    text = Page(render_html(blocked_run().model())).text
    assert (
        text.index("Blocked: this release must not go") < text.index("1 permanent gate blocks") < text.index("Samples")
    )
    marks = list(re.finditer("permanent gate (?=the|an)", text))
    assert len(marks) == 3


@pytest.mark.parametrize(
    ("outcome", "headline"),
    [("PASS", "Passed"), ("BLOCKED", "Blocked"), ("INCONCLUSIVE", "Inconclusive")],
)
def test_the_outcome_is_a_word(outcome: str, headline: str) -> None:
    """Each outcome is told in a word, not by colour."""
    parts = RunParts().add("a", "p", permanent=True)
    parts.decision = Decision(outcome, "because")  # type: ignore[arg-type]
    page = Page(render_html(parts.model()))
    assert f"{headline}: " in page.text
    assert "because" in page.text


def test_everything_is_reachable_without_script() -> None:
    """Only the controls that need the script are hidden; rows are native disclosure elements with an anchor each."""
    page = Page(render_html(blocked_run().model()))
    hidden = {tag for tag, name, _ in page.attributes if name == "hidden"}
    ids = [value for _, name, value in page.attributes if name == "id"]
    anchors = [value for value in ids if value.startswith("case=") and "&" not in value]
    assert hidden == {"div", "form", "button"}
    assert len(anchors) == len(set(anchors)) == 13
    assert "case=refund-twice&sample=10" in ids


def test_notices_stand_in_the_banner() -> None:
    """What a reader of the numbers should know, before the cases, as text."""
    parts = RunParts().add("a", "p")
    parts.notices = ("the model changed during the run: <b>old</b>, then new",)
    text = Page(render_html(parts.model())).text
    assert text.index("the model changed during the run: <b>old</b>, then new") < text.index("Samples")


def test_a_case_degraded_within_its_margin_has_its_words() -> None:
    """Its own section, sign and filter; neither a failure nor quiet."""
    parts = RunParts().add("a", "ppppf", word="DEGRADED_WITHIN_MARGIN", reason="worse, but by less than 10 points")
    page = Page(render_html(parts.model()))
    assert "Degraded within margin" in page.text
    assert "worse, but by less than 10 points" in page.text
    assert ("button", "data-chip", "degraded") in page.attributes


def test_identifiers_are_unique() -> None:
    """An anchor leads to one place."""
    page = Page(render_html(blocked_run().model()))
    found = [value for _, name, value in page.attributes if name == "id"]
    assert len(found) == len(set(found))


def test_a_thousand_cases_stay_below_five_megabytes() -> None:
    """The size that a CI artifact and a browser take easily, even when every case fails."""
    assert len(render_html(large_run(1_000, 10).model()).encode()) < 5_000_000
    assert len(render_html(large_run(1_000, 10, failing_every=1).model()).encode()) < 5_000_000


def test_megabyte_strings_do_not_grow_the_page() -> None:
    """Long values are cut, with their length told."""
    text = render_html(full_of("long " * 200_000).model())
    assert len(text) < 200_000
    assert "(1,000,000 characters)" in text


def test_a_run_without_cases_has_a_page() -> None:
    """An empty selection is shown as such."""
    assert "The run has no cases." in Page(render_html(RunParts().model())).text


def test_a_case_that_is_told_in_short_says_so() -> None:
    """Beyond two hundred troubled cases the page leaves trajectories out, and never silently."""
    page = render_html(large_run(210, 2, failing_every=1).model())
    text = page + "".join(packed_rows(page))
    assert text.count("Told in short") == 10
    assert text.count("<h3>Trajectory</h3>") == 200


def test_hostile_text_in_rows_drawn_on_demand_adds_no_markup() -> None:
    """What the script inserts is escaped like the page itself."""

    def drawn(text: str) -> Page:
        parts = RunParts()
        for number in range(130):
            parts.add(f"case-{number:03}", "pf", title=text, reason=text, link=text, tag=text, signature=text)
        return Page("".join(packed_rows(render_html(parts.model()))))

    hostile, harmless = drawn(HOSTILE), drawn("x" * len(HOSTILE))
    assert sorted(unmarked(hostile)) == sorted(unmarked(harmless))
    assert not [name for _, name, _ in hostile.attributes if name.startswith("on") or name == "style"]
    assert '<script>alert("xA")</script>' in hostile.text


def test_the_page_tells_history_coverage_and_baseline() -> None:
    """Earlier nights, who blessed the baseline, what no case touches: as text, beside the pictures."""
    parts = blocked_run()
    parts.background = background(parts)
    text = Page(render_html(parts.model())).text
    assert "blessed by mira@shop.example on 2026-02-28: release 2.3 went out" in text
    assert "that ran every night the pass rate changed" in text
    assert "with the run of 2026-03-01" in text
    assert "2026-02-28 09:00" in text
    assert "No case touches: delete_account" in text
    assert "98.9% before, 9 nights" in text


def test_a_run_too_large_for_coverage_says_so() -> None:
    """A part of the page that is missing is missed; it says where else it is told."""
    parts = blocked_run()
    parts.background = Background(uncovered="Told of runs of up to 200 cases; evalkit coverage reads all there are.")
    page = Page(render_html(parts.model()))
    assert "Coverage" in page.text
    assert "evalkit coverage reads all there are" in page.text
    assert ("a", "href", "#coverage") in page.attributes


def test_a_run_without_results_says_so_in_its_history() -> None:
    """No rate is no dash at the beginning of a sentence."""
    parts = RunParts().add("a", "mm", permanent=True)
    parts.background = background(parts)
    assert "This run has no pass rate; that of the 9 runs before was " in Page(render_html(parts.model())).text
