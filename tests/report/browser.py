"""Debian's Chromium for tests: one a module, and what they ask of a page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

NEEDS_CHROMIUM = [
    pytest.mark.browser,
    pytest.mark.skipif(not shutil.which("chromedriver"), reason="chromium and chromium-driver are not installed"),
]
_ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --window-size=1280,1000"
)
_WATCH = """
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective));
    window.alert = () => violations.push("alert");
"""
_SEVERE = ("serious", "critical")


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """A browser that notes every violation of a page's policy from its first byte on."""
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    for argument in [*_ARGUMENTS.split(), f"--user-data-dir={profile}"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        driver.set_script_timeout(30)
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _WATCH})
        yield driver
    finally:
        driver.quit()


def open_page(driver: Any, path: Path, fragment: str = "") -> Any:
    """Opens a file afresh, and waits until its script is ready."""
    driver.get("about:blank")
    driver.get_log("browser")
    driver.get(path.as_uri() + fragment)
    driver.execute_async_script("""
        const done = arguments[0];
        const ready = () => performance.getEntriesByName("evalkit-ready").length ? done() : setTimeout(ready, 5);
        ready();
    """)
    return driver


def complaints(driver: Any) -> list[Any]:
    """Violations of the page's policy, dialogs, and what the console says."""
    return [*driver.execute_script("return violations"), *driver.get_log("browser")]


def emulate(driver: Any, *, media: str = "", **features: str) -> None:
    """Another medium (``print``), or features such as ``prefers_color_scheme``; nothing restores the usual."""
    told = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": told})


def accessibility(driver: Any) -> list[str]:
    """axe-core's serious and critical findings on the open page, with where they are."""
    pytest.importorskip("axe_playwright_python", reason="axe-core is not installed; ci/setup does")
    driver.execute_script(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    found = driver.execute_async_script("axe.run({resultTypes: ['violations']}).then(arguments[0])")
    return [
        f"{one['id']}: {node['target']}: {node.get('failureSummary', '')}"
        for one in found["violations"]
        if one["impact"] in _SEVERE
        for node in one["nodes"]
    ]
