"""What the process costs that hands out a run's work, beside its workers.

    python ci/bench/controller.py [--cases 1000] [--rounds 5] [--at DIRECTORY ...]

A run of the stub agent of `run.py` on two forked workers, with one sample a case, ten and a hundred. CPU seconds of
the controller and of its forks (workers, and those that write the reports). Differences tell what a further sample
and a further case take of the controller's. With `--at` the same for other checkouts, in turns; the least of all
rounds, as the machine is shared.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SUITE = """\
name = "bench"
samples = {samples}
sequential = false
history = false
keep_traces = "all"
[policy]
kind = "zero_failures"
"""
RUN = """\
import atexit, resource, runpy, sys

def told() -> None:
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        print("used", used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)

atexit.register(told)
runpy.run_module("evalkit", run_name="__main__")
"""


def used(checkout: Path, folder: Path, library: str, samples: int) -> list[float]:
    """CPU seconds of the controller and of its forks, and the controller's peak of memory in MB, of one run."""
    out = folder / "reports"
    arguments = ["run", f"suites/{samples}.toml", "--out", str(out), "-n", "2", "--executor", "fork"]
    path = os.pathsep.join(map(str, (checkout / "ci" / "bench", checkout)))
    environment = {**os.environ, "PYTHONPATH": path, "EVALKIT_CASES": library, "PYTHONHASHSEED": "0"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", RUN, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode not in (0, 1):  # 1: some cases fail, as they must
        raise SystemExit(done.stderr)
    shutil.rmtree(out)
    own, forks = (line.split()[1:] for line in done.stdout.splitlines() if line.startswith("used "))
    return [float(own[0]), float(forks[0]), float(own[1])]


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--at", nargs="*", type=Path, default=[HERE.parents[1]], help="checkouts of this repository")
    given = parser.parse_args()
    found: dict[str, dict[str, dict[str, float]]] = {str(one): {} for one in given.at}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "suites").mkdir()
        for samples in (1, 10, 100):
            (folder / "suites" / f"{samples}.toml").write_text(SUITE.format(samples=samples), "utf-8")
        for library, count in (("one", 1), ("cases", given.cases)):
            make = [sys.executable, str(HERE / "library.py"), str(folder / library), str(count)]
            subprocess.run(make, check=True, env={**os.environ, "PYTHONPATH": str(HERE.parents[1])})
        for _ in range(given.rounds):
            for checkout in given.at:
                for library, samples in (("one", 1), ("cases", 1), ("cases", 10), ("cases", 100)):
                    now = used(checkout.resolve(), folder, library, samples)
                    least = found[str(checkout)].setdefault(f"{library} x {samples}", {})
                    for key, value in zip(("controller_s", "forks_s", "controller_mb"), now, strict=True):
                        least[key] = round(min(value, least.get(key, value)), 3)
    for figures in found.values():
        one, single, few, many = (figures[key]["controller_s"] for key in figures)
        figures["a further one"] = {
            "us_a_sample": round((many - few) / (90 * given.cases) * 1e6, 2),
            "ms_a_case": round((single - one) / given.cases * 1e3, 3),
            "ms_a_case_of_10": round((few - one) / given.cases * 1e3, 3),
        }
    print(json.dumps({"cases": given.cases, **found, "load": os.getloadavg()}, indent=2))


if __name__ == "__main__":
    main()
