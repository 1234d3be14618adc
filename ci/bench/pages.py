"""How big the pages of any report are, and how long Chromium takes to show them: ours beside other tools'.

    python ci/bench/pages.py PAGE ... [--rounds N] [--screenshots FOLDER]

A PAGE is a file, opened from disk, or a folder, served on 127.0.0.1; either with a fragment (``FOLDER#/tasks``). Wall
milliseconds from the start of navigation, medians of the rounds, in turns: `load_ms` until the load event, `shown_ms`
until the number of the document's elements has last changed (it is looked at for a second more). Bytes are the file's
or all the folder's. Printed as JSON.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any

_BROWSER = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-sync"
_SHOWN = """
    const done = arguments[0];
    let elements = -1, changed = 0;
    const look = () => {
        const now = document.getElementsByTagName("*").length;
        if (now !== elements) { elements = now; changed = performance.now(); }
        const load = performance.getEntriesByType("navigation")[0].loadEventEnd;
        if (load && performance.now() - changed > 1000) done({load_ms: load, shown_ms: changed, elements: elements,
            characters_shown: document.body.innerText.length});
        else setTimeout(look, 20);
    };
    look();
"""


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--screenshots", type=Path, help="Leave pictures of what is seen first here.")
    asked = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {page: [] for page in asked.pages}
    for _ in range(asked.rounds):
        for number, page in enumerate(asked.pages):
            picture = asked.screenshots / f"page-{number}.png" if asked.screenshots else None
            found[page].append(opened(page, picture))
    print(json.dumps([{"page": page, **size_of(page), **middle(rounds)} for page, rounds in found.items()], indent=2))


def middle(rounds: list[dict[str, float]]) -> dict[str, float]:
    """Medians."""
    return {name: round(median(one[name] for one in rounds)) for name in rounds[0]}


def size_of(page: str) -> dict[str, float]:
    """Megabytes on disk."""
    path = Path(page.partition("#")[0])
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return {"files": len(files), "mb": round(sum(file.stat().st_size for file in files) / 1e6, 2)}


def opened(page: str, picture: Path | None) -> dict[str, float]:
    """What a browser that was just started takes."""
    with address(page) as url, chromium() as driver:
        driver.get(url)
        found: dict[str, float] = driver.execute_async_script(_SHOWN)
        if picture:
            picture.parent.mkdir(parents=True, exist_ok=True)
            driver.save_screenshot(str(picture))
        return found


@contextmanager
def address(page: str) -> Iterator[str]:
    """Where the browser finds a page; a folder is served meanwhile."""
    name, mark, fragment = page.partition("#")
    path = Path(name).resolve(strict=True)
    if path.is_file():
        yield path.as_uri() + mark + fragment
        return
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(path))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/{mark}{fragment}"
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and doesn't say so."""

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser with a profile of its own."""
    from selenium import webdriver

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        for argument in [*_BROWSER.split(), "--window-size=1280,900", f"--user-data-dir={profile}"]:
            options.add_argument(argument)
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            driver.set_page_load_timeout(300)
            driver.set_script_timeout(300)
            yield driver
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
