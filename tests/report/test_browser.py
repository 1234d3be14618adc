"""The page in Debian's Chromium: what its script does, and that its policy is never violated."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalkit.report.ab_page import render_ab_html
from evalkit.report.html import render_html
from tests.report.browser import NEEDS_CHROMIUM, accessibility, chromium, complaints, emulate, open_page
from tests.report.build import background, blocked_run, large_run
from tests.report.test_ab_page import verdict
from tests.report.test_html import HOSTILE, full_of

pytestmark = NEEDS_CHROMIUM

ENTER, DOWN = "\ue007", "\ue015"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One Chromium for all tests of this file."""
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages that are looked at: a blocked run, a large one, and one full of hostile text."""
    blocked, large, hostile = blocked_run(), large_run(420, 4), full_of(HOSTILE + "x" * 1_000_000)
    blocked.background = background(blocked)
    folder = tmp_path_factory.mktemp("pages")
    (folder / "ab.html").write_text(render_ab_html(verdict()), "utf-8")
    for name, parts in (("blocked", blocked), ("large", large), ("hostile", hostile)):
        (folder / f"{name}.html").write_text(render_html(parts.model()), "utf-8", errors="strict")
    return {path.stem: path for path in folder.iterdir()}


@pytest.fixture
def page(browser: Any, pages: dict[str, Path]) -> Iterator[Any]:
    """The browser with the page of a blocked run; what it may complain of is looked at in the end."""
    yield open_page(browser, pages["blocked"])
    assert complaints(browser) == []


def rows(page: Any) -> list[str]:
    """The ids of the rows that are seen, from top to bottom."""
    script = """
        return [...document.querySelectorAll("li.c")]
            .filter((row) => row.checkVisibility()).map((row) => row.querySelector("b").textContent)
    """
    return list(page.execute_script(script))


def click(page: Any, selector: str) -> None:
    """Clicks the first element that fits."""
    page.find_element("css selector", selector).click()


def choose(page: Any, facet: str, value: str) -> None:
    """Chooses from one of the filter's lists."""
    page.execute_script(
        """
        const list = document.querySelector(`[data-facet=${arguments[0]}]`);
        list.value = arguments[1];
        list.dispatchEvent(new Event("change"));
        """,
        facet,
        value,
    )


def test_the_text_filter(page: Any) -> None:
    """Only rows with all words stay, sections without rows go, and the count is told."""
    page.find_element("id", "text").send_keys("refund twice")
    assert "refund-twice" in rows(page)
    assert "quota-check" not in rows(page)
    assert page.find_element("id", "count").text == f"{len(rows(page))} of 13 cases"


def test_a_folded_case_is_found_by_the_filter(page: Any) -> None:
    """The fold opens for what is found in it, and closes again with the filter."""
    assert "passing-3" not in rows(page)
    page.find_element("id", "text").send_keys("passing-3")
    assert rows(page) == ["passing-3"]
    page.find_element("id", "text").clear()
    page.find_element("id", "text").send_keys(" ")
    assert "passing-3" not in rows(page)


def test_chips_narrow_by_verdict_and_gate(page: Any) -> None:
    """Verdicts add up; the gate chip narrows them; a second click undoes it."""
    click(page, "[data-chip=fail]")
    assert rows(page) == ["refund-twice", "slow-search", "tone-in-chinese"]
    click(page, "[data-chip=gate]")
    assert rows(page) == ["refund-twice"]
    click(page, "[data-chip=fail]")
    assert rows(page) == ["refund-twice", "escalation-skipped", "wrong-address"]


def test_lists_narrow_by_tag_and_signature(page: Any) -> None:
    """Each list holds the values that the run's cases have."""
    choose(page, "tag", "search")
    assert rows(page) == ["slow-search"]
    choose(page, "tag", "")
    choose(page, "signature", "MODEL_DECISION_TOLD_WRONG")
    assert rows(page) == ["tone-in-chinese"]


def test_sorting_by_column_and_back(page: Any) -> None:
    """One list in the order of the column, reversed by a second click; the verdict column restores the sections."""
    before = rows(page)
    click(page, "[data-sort=rate]")
    assert rows(page)[0] == "slow-search"
    click(page, "[data-sort=id]")
    every = rows(page)
    assert every == sorted(every)
    assert len(every) == 13
    click(page, "[data-sort=id]")
    assert rows(page) == every[::-1]
    click(page, "[data-sort=urgency]")
    assert rows(page) == before


def test_a_deep_link_opens_its_case(page: Any) -> None:
    """The fragment opens the drill-down and brings the row into view, also on a page that is open already."""
    page.get(page.current_url.partition("#")[0] + "#case=passing-2")
    assert page.find_element("id", "case=passing-2").is_displayed()
    assert page.switch_to.active_element.find_element("css selector", "b").text == "passing-2"


def test_a_deep_link_leads_to_a_sample(page: Any) -> None:
    """The sample's line is opened, marked and focused."""
    page.get(page.current_url.partition("#")[0] + "#case=refund-twice&sample=5")
    line = page.find_element("id", "case=refund-twice&sample=5")
    assert line.is_displayed()
    assert "failed" in line.text
    assert page.switch_to.active_element.text == "5"


def test_a_case_opens_by_keyboard(page: Any) -> None:
    """A row takes the focus, the arrow leads to the next one, Enter opens it; the address follows."""
    page.find_element("css selector", "li.c summary").send_keys(DOWN)
    page.switch_to.active_element.send_keys(ENTER)
    assert page.find_element("id", "case=escalation-skipped").is_displayed()
    assert page.current_url.endswith("#case=escalation-skipped")


def test_the_drill_down_tells_the_cause(page: Any) -> None:
    """Failing checks first, the first divergence with its kind, the command, the samples."""
    page.get(page.current_url.partition("#")[0] + "#case=refund-twice")
    text = page.find_element("id", "case=refund-twice").text
    first, instead = text.index("does not make refund_order twice"), text.index("was made again")
    assert first < instead < text.index("The run takes at most 40 steps")
    assert "model decision" in text
    assert "the model calls refund_order instead of lookup_order" in text
    assert "evalkit replay refund-twice@3" in text


def test_rows_are_drawn_on_demand(browser: Any, pages: dict[str, Path]) -> None:
    """Of many rows the first are drawn; a button draws more; a link leads to one that is not drawn yet."""
    open_page(browser, pages["large"])
    assert browser.execute_script("return document.querySelectorAll('li.c').length") < 200
    browser.execute_script("document.querySelector('.group[data-section=rest] .fold').open = true")
    last = browser.execute_script(
        "return document.querySelector('.group[data-section=rest] .fold li:last-child b')?.textContent"
    )
    browser.execute_script("document.querySelector('.group[data-section=rest] .more').click()")
    assert last != browser.execute_script(
        "return document.querySelector('.group[data-section=rest] .fold li:last-child b').textContent"
    )
    open_page(browser, pages["large"], "#case=case-00418")
    row = browser.find_element("id", "case=case-00418")
    assert row.is_displayed()
    assert "evalkit replay case-00418@3" in row.text
    assert complaints(browser) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(page: Any, width: int) -> None:
    """No sideways scrolling, with all cases open too."""
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    page.execute_script("for (const row of document.querySelectorAll('details')) row.open = true")
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_is_found_by_axe(page: Any, scheme: str) -> None:
    """Names, roles, contrast: with the most urgent case open, in both colour schemes."""
    emulate(page, prefers_color_scheme=scheme)
    page.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    assert accessibility(page) == []
    emulate(page)


def test_dark_mode_follows_the_system(page: Any) -> None:
    """The page turns dark, text light."""
    colours = "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]"
    light = page.execute_script(colours)
    emulate(page, prefers_color_scheme="dark")
    assert page.execute_script(colours) != light
    assert sum(map(int, page.execute_script(colours)[0][4:-1].split(","))) < 150
    emulate(page)


def test_print_leaves_the_controls_out(page: Any) -> None:
    """What is printed is the decision and the cases, on paper's colours."""
    emulate(page, media="print")
    for selector in ("#filter", "#sort", ".jump"):
        assert not page.find_element("css selector", selector).is_displayed()
    assert page.find_element("tag name", "h1").is_displayed()
    emulate(page)
    pdf = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert pdf.startswith(b"%PDF")


def test_the_important_part_is_read_without_script(browser: Any, pages: dict[str, Path]) -> None:
    """Without JavaScript the decision, the urgent rows and their drill-down are there, and it says what is not."""
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    browser.get("about:blank")
    browser.get(pages["large"].as_uri())
    source = browser.find_element("tag name", "body").text
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert "Blocked: this release must not go" in source
    assert "case-00000" in source
    assert "more are drawn by the page's script" in source


def test_the_page_of_two_arms(browser: Any, pages: dict[str, Path]) -> None:
    """Its cases are filtered, sorted and linked to like a run's; nothing serious is found by axe."""
    open_page(browser, pages["ab"], "#case=c1")
    assert browser.find_element("id", "case=c1").is_displayed()
    click(browser, "[data-chip=fail]")
    assert rows(browser) == ["c0"]
    click(browser, "[data-chip=fail]")
    click(browser, "[data-sort=rate]")
    assert [rows(browser)[0], rows(browser)[-2]] == ["c0", "c1"]
    assert accessibility(browser) == []
    assert complaints(browser) == []


def test_hostile_content_does_nothing(browser: Any, pages: dict[str, Path]) -> None:
    """No script of a trace runs, no style of it applies, megabytes of it are cut, and the policy refused nothing."""
    open_page(browser, pages["hostile"], "#case=a&sample=1")
    assert browser.execute_script("return document.scripts.length") == 2  # the page's own, and its data
    assert browser.execute_script("return document.querySelectorAll('img, iframe, object, [onclick]').length") == 0
    assert browser.find_element("id", "case=a").is_displayed()
    assert pages["hostile"].stat().st_size < 1_000_000
    assert complaints(browser) == []
