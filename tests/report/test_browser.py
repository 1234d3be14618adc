"""The page in Debian's Chromium: what its script does, and that its policy is never violated."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalkit.report.html import render_html
from tests.report.build import blocked_run
from tests.report.test_html import HOSTILE, full_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not shutil.which("chromedriver"), reason="chromium and chromium-driver are not installed"),
]

_ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1280,1000"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One Chromium for all tests of this file."""
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    for argument in [*_ARGUMENTS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Any:
    """The browser with the page of a blocked run."""
    path = tmp_path / "report.html"
    path.write_text(render_html(blocked_run().model()), "utf-8")
    browser.get(path.as_uri())
    return browser


def rows(page: Any) -> list[str]:
    """The ids of the rows that are seen, from top to bottom."""
    script = """
        return [...document.querySelectorAll("details.c")]
            .filter((row) => row.checkVisibility()).map((row) => row.querySelector("b").textContent)
    """
    return list(page.execute_script(script))


def click(page: Any, selector: str) -> None:
    """Clicks the first element that fits."""
    page.find_element("css selector", selector).click()


def test_the_text_filter(page: Any) -> None:
    """Only rows with all words stay, sections without rows go, and the count is told."""
    page.find_element("id", "text").send_keys("refund twice")
    assert "refund-twice" in rows(page)
    assert "quota-check" not in rows(page)
    assert page.find_element("id", "count").text == f"{len(rows(page))} of 13 cases"


def test_chips_narrow_by_verdict_and_gate(page: Any) -> None:
    """Verdicts add up; the gate chip narrows them; a second click undoes it."""
    click(page, "[data-chip=fail]")
    assert rows(page) == ["refund-twice", "slow-search", "tone-in-chinese"]
    click(page, "[data-chip=gate]")
    assert rows(page) == ["refund-twice"]
    click(page, "[data-chip=fail]")
    assert rows(page) == ["refund-twice", "escalation-skipped", "wrong-address"]


def test_sorting_by_column_and_back(page: Any) -> None:
    """One list in the order of the column, reversed by a second click; the verdict column restores the sections."""
    before = rows(page)
    click(page, "[data-sort=rate]")
    ascending = rows(page)
    assert ascending[0] == "slow-search"
    click(page, "[data-sort=id]")
    assert rows(page) == sorted(before)
    click(page, "[data-sort=id]")
    assert rows(page) == sorted(before, reverse=True)
    click(page, "[data-sort=urgency]")
    assert rows(page) == before


def test_a_deep_link_opens_its_case(page: Any) -> None:
    """The fragment opens the drill-down and brings the row into view, also on a page that is open already."""
    page.get(page.current_url.partition("#")[0] + "#case=quota-check")
    row = page.find_element("id", "case=quota-check").find_element("xpath", "ancestor::details[1]")
    assert row.get_attribute("open")
    assert page.find_element("id", "case=quota-check").is_displayed()
    assert page.switch_to.active_element.find_element("css selector", "b").text == "quota-check"


def test_a_case_opens_by_keyboard(page: Any) -> None:
    """A row takes the focus and opens with Enter; the address follows."""
    summary = page.find_element("css selector", "details.c > summary")
    summary.send_keys("\ue007")
    assert page.find_element("id", "case=refund-twice").is_displayed()
    assert page.current_url.endswith("#case=refund-twice")


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(page: Any, width: int) -> None:
    """No sideways scrolling, with all cases open too."""
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    page.execute_script("for (const row of document.querySelectorAll('details')) row.open = true")
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_hostile_content_does_nothing(browser: Any, tmp_path: Path) -> None:
    """No script of a trace runs, no style of it applies, and the policy has nothing to refuse."""
    path = tmp_path / "report.html"
    path.write_text(render_html(full_of(HOSTILE).model()), "utf-8", errors="strict")
    browser.get_log("browser")
    browser.get(path.as_uri() + "#case=a")
    assert browser.execute_script("return document.scripts.length") == 1
    assert browser.find_element("id", "case=a").is_displayed()
    assert browser.get_log("browser") == []
