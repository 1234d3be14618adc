"""How long a run's page takes to make, how big it is, and how it behaves in Chromium.

    python ci/bench/report.py [--cases N ...] [--samples N] [--rounds N] [--keep FOLDER]

Each size is made in a process of its own. Render: seconds of `build_report` and `render_html` together, process time,
the best of the rounds; `peak_mb` is the process' peak resident memory, the run's samples included, and `base_mb` what
it had before rendering. Page: the median of the rounds, from the start of navigation until the load event and until
the page's script is ready; a filter (text typed), a sort (a column clicked) and a scroll to the end are timed until the
second animation frame after them. Printed as JSON.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from report_run import made_run

from evalkit.report.html import render_html
from evalkit.report.model import build_report

_BROWSER = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --window-size=1280,900"
)
_LOADED = """
    const done = arguments[0];
    const told = () => {
        const entry = performance.getEntriesByType("navigation")[0];
        const ready = performance.getEntriesByName("evalkit-ready")[0];
        if (entry.loadEventEnd > 0 && ready) done([entry.loadEventEnd, ready.startTime]);
        else setTimeout(told, 5);
    };
    told();
"""
_TIMED = """
    const done = arguments[arguments.length - 1];
    const start = performance.now();
    const after = () => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
"""
_ACTIONS = {
    "filter_ms": """
        const box = document.getElementById("text");
        box.value = "customer 7";
        box.dispatchEvent(new Event("input", {bubbles: true}));
        after();
    """,
    "clear_ms": """
        const box = document.getElementById("text");
        box.value = "";
        box.dispatchEvent(new Event("input", {bubbles: true}));
        after();
    """,
    "sort_ms": "document.querySelector('[data-sort=rate]').click(); after();",
    "scroll_ms": "scrollTo(0, document.documentElement.scrollHeight); after();",
}


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, nargs="*", default=[10, 1_000, 10_000])
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="Leave the pages here.")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(rendered(asked.cases[0], asked.samples, Path(asked.one))))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        print(json.dumps([measured(count, asked, folder) for count in asked.cases], indent=2))


def measured(count: int, asked: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """One size: rendered in processes of its own, then opened."""
    page = folder / f"report-{count}.html"
    command = [sys.executable, __file__, "--cases", str(count), "--samples", str(asked.samples), "--one", str(page)]
    rounds = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(asked.rounds)]
    found: dict[str, Any] = {"cases": count, "samples": asked.samples, **min(rounds, key=lambda one: one["render_s"])}
    found["peak_mb"] = max(one["peak_mb"] for one in rounds)
    found["page_mb"] = round(page.stat().st_size / 1e6, 2)
    return {**found, **in_browser(page, asked.rounds)}


def rendered(count: int, samples: int, page: Path) -> dict[str, float]:
    """Seconds and memory of one page."""
    run = made_run(count, samples)
    base = _peak_mb()
    began = time.process_time()
    model = build_report(
        run.manifest, run.verdicts, run.decision, run.samples, run.cases, run.traces, background=run.background
    )
    text = render_html(model)
    took = time.process_time() - began
    page.write_text(text, "utf-8")
    return {"render_s": round(took, 2), "base_mb": base, "peak_mb": _peak_mb()}


def in_browser(page: Path, rounds: int) -> dict[str, float]:
    """What Chromium takes for the page, in milliseconds; nothing where it is not installed."""
    if not shutil.which("chromedriver"):
        return {}
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, value in _visited(page).items():
            found.setdefault(name, []).append(value)
    return {name: round(median(values), 1) for name, values in found.items()}


def _visited(page: Path) -> dict[str, float]:
    from selenium import webdriver

    with tempfile.TemporaryDirectory() as profile:
        options = webdriver.ChromeOptions()
        for argument in [*_BROWSER.split(), f"--user-data-dir={profile}"]:
            options.add_argument(argument)
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            driver.get(page.resolve().as_uri())
            load, ready = driver.execute_async_script(_LOADED)
            told = {"load_ms": load, "ready_ms": ready}
            for name, script in _ACTIONS.items():
                told[name] = driver.execute_async_script(_TIMED + script)
                assert driver.execute_script("return document.querySelectorAll('.c').length"), f"no rows after {name}"
            told["elements"] = driver.execute_script("return document.getElementsByTagName('*').length")
            return told
        finally:
            driver.quit()


def _peak_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)


if __name__ == "__main__":
    main()
