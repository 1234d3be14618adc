"""Forks of the controller: a signal that comes while one is made is not lost, and is not the fork's."""

from __future__ import annotations

import subprocess
import sys

import pytest

_FORKS = """
import os, signal, sys
from evalkit.forks import forking, signals_held
sent = []
def send():
    if not sent:
        sent.append(os.kill(os.getpid(), getattr(signal, sys.argv[1])))
os.register_at_fork(**{sys.argv[2]: send})
def end(number, frame): raise KeyboardInterrupt
signal.signal(signal.SIGTERM, end)
def fork():
    with forking():
        child = os.fork()
    if not child:
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
try:
    if sys.argv[3] == "nested":
        with signals_held():
            fork()
    else:
        fork()
except KeyboardInterrupt:
    print("interrupted")
    assert signal.getsignal(signal.SIGTERM) is end
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


@pytest.mark.parametrize("by", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("at", ["before", "after_in_parent"])
def test_a_signal_while_a_fork_is_made_is_not_lost(by: str, at: str) -> None:
    """Python drops what is raised in what libraries do around a fork: somebody's ctrl-C went nowhere."""
    done = subprocess.run([sys.executable, "-c", _FORKS, by, at, "plain"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["interrupted"]
    done = subprocess.run([sys.executable, "-c", _FORKS, by, at, "nested"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["7", "interrupted"]


def test_open_queues_are_noticed() -> None:
    """A pool that is shut down concerns nobody any more."""
    code = (
        "from evalkit.forks import shares_queues; import multiprocessing as m, concurrent.futures as f; "
        "before = shares_queues(); pool = f.ProcessPoolExecutor(1, m.get_context('fork')); idle = shares_queues(); "
        "pool.submit(int).result(); pool.shutdown(); print(before, idle, shares_queues())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "False"]
