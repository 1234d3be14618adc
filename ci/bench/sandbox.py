"""Milliseconds that the kernel's sandbox adds to a sample, and where they go.

    python ci/bench/sandbox.py [--rounds N]

Measured: wall time of a plain fork of this process (numpy, pandas and pyarrow loaded) that sends a byte back, of the
same in the sandbox, and their difference: what a sample costs more when it has a sandbox to itself; samples that share
one divide it. Then what the process adds that asks a live model for it. Rounds are interleaved; medians. The copy of
the project is apart: it depends on the project.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pandas
import pyarrow

from evalkit.playback.endpoint.calls import LiveModel
from evalkit.playback.endpoint.client import client_library
from evalkit.playback.endpoint.ledger import Ledger
from evalkit.playback.endpoint.model import Endpoint
from evalkit.playback.sandbox import confine
from evalkit.playback.sandbox.relay import start_relay
from evalkit.playback.sandbox.run import default_policy, probe_layers, run_sandboxed

_STEPS = ("leave_network", "set_limits", "scrub_environment", "restrict_files", "restrict_calls", "close_others")


def plain() -> None:
    """A fork that sends one byte."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(theirs, b"x")
        os._exit(0)
    os.read(ours, 1)
    os.waitpid(child, 0)
    os.close(ours)
    os.close(theirs)


def sandboxed() -> None:
    """The same, confined, in a working folder of its own."""
    ended = run_sandboxed(lambda _: b"x", b"", policy=POLICY)
    assert ended.value == b"x", ended


def relayed() -> None:
    """The same with a process beside it that would ask a model."""
    relay = start_relay(lambda: LiveModel(Endpoint("http://127.0.0.1:9/v1"), LEDGER, (), {}))
    sandboxed()
    relay.end()


def milliseconds(work: Callable[[], None]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def steps() -> dict[str, float]:
    """Milliseconds of each layer, inside the fork."""
    spent: dict[str, float] = {}

    def timed(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object) -> object:
            started = time.perf_counter()
            try:
                return real(*args)
            finally:
                spent[name] = round((time.perf_counter() - started) * 1000, 3)

        return call

    real = {name: getattr(confine, name) for name in _STEPS}
    for name, function in real.items():
        setattr(confine, name, timed(name, function))
    try:
        found: dict[str, float] = json.loads(run_sandboxed(lambda _: json.dumps(spent).encode(), b"").value)
    finally:
        for name, function in real.items():
            setattr(confine, name, function)
    return found


POLICY = default_policy()
LEDGER = Ledger(Path("never-opened"))


def main() -> None:
    """Prints the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    print(f"numpy, pandas {pandas.__version__}, pyarrow {pyarrow.__version__} loaded; {probe_layers().names}")
    bare, confined, with_relay = [], [], []
    client_library()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(Path(folder))
        for _ in range(rounds):
            bare.append(milliseconds(plain))
            confined.append(milliseconds(sandboxed))
            with_relay.append(milliseconds(relayed))
    added = [one - other for one, other in zip(confined, bare, strict=True)]
    relays = [one - other for one, other in zip(with_relay, confined, strict=True)]
    figures = (("plain fork", bare), ("sandboxed", confined), ("added", added), ("relay added", relays))
    for name, values in figures:
        ordered = sorted(values)
        print(f"{name:<12} median {statistics.median(values):6.2f} ms   p90 {ordered[int(0.9 * len(ordered))]:6.2f} ms")
    print("of which", steps())


if __name__ == "__main__":
    main()
