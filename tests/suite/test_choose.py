"""What does a run's work where nobody says, and how many at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.errors import ConfigError
from evalkit.suite import choose as choosing
from evalkit.suite.case_ref import CaseRef
from evalkit.suite.choose import choose, memory_at_hand
from evalkit.suite.model import ModelEndpoint, Suite

CASES = [CaseRef("/c", "c", 1, "d", "proposed", "t", "", "", ())]
MODEL = ModelEndpoint("http://127.0.0.1:1/v1", concurrency=20)
MUCH = 64 << 30


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cores, much memory, one thread."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(choosing, "memory_at_hand", lambda: MUCH)
    monkeypatch.setattr(choosing, "can_fork", lambda: True)


def live(**fields: object) -> Suite:
    """A suite with a live model."""
    return Suite("s", "agent:run", mode="live-model", model=MODEL, **fields)  # type: ignore[arg-type]  # test options


@pytest.mark.parametrize(
    ("suite", "samples", "workers", "chosen"),
    [
        (Suite("s", "agent:run"), 10, None, ("fork", 1)),  # a second one is not worth starting
        (Suite("s", "agent:run"), 10_000, None, ("fork", 2)),
        (Suite("s", "agent:run"), 10, 50, ("fork", 50)),  # beyond the cores: the agent is slow
        (Suite("s", "agent:run", concurrency=30), 10, None, ("fork", 30)),
        (Suite("s", "agent:run", concurrency=30), 10, 4, ("fork", 4)),
        (Suite("s", "command: node agent.mjs"), 10, None, ("fork", 2)),  # a program takes long to start
        (live(), 1000, None, ("fork", 20)),  # as many as the endpoint may be asked at once
        (live(), 7, None, ("fork", 7)),
        (live(), 1000, 3, ("fork", 3)),
        (live(), 1, None, ("fork", 1)),
        (Suite("s", "agent:run"), 10_000, 1, ("fork", 1)),  # an agent that ends its process does not end the run
        (Suite("s", "command: node agent.mjs"), 10, 1, ("serial", 1)),  # nor does one that has its own
    ],
)
def test_what_is_chosen(suite: Suite, samples: int, workers: int | None, chosen: tuple[str, int]) -> None:
    """Waiting needs many at once, computing as many as there are cores, and little work none."""
    assert choose(suite, CASES, samples, workers=workers) == chosen


def test_a_small_machine_takes_fewer_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as half of its free memory holds, but a core each."""
    monkeypatch.setattr(choosing, "memory_at_hand", lambda: 1 << 30)
    assert choose(live(), CASES, 1000)[1] == 10
    monkeypatch.setattr(choosing, "memory_at_hand", lambda: 0)
    assert choose(live(), CASES, 1000)[1] == 2


def test_a_process_with_threads_is_not_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """xdist starts interpreters of its own."""
    monkeypatch.setattr(choosing, "can_fork", lambda: False)
    assert choose(live(), CASES, 1000) == ("xdist", 20)
    assert choose(Suite("s", "agent:run"), CASES, 10) == ("serial", 1)


def test_a_sandboxed_suite_has_its_own_executor() -> None:
    """Another one would not keep the agent in."""
    with pytest.raises(ConfigError, match="its own executor"):
        choose(Suite("s", "agent:run", sandbox=True), CASES, 10, "fork")
    with pytest.raises(ConfigError, match="not sandboxed"):
        choose(Suite("s", "agent:run"), CASES, 10, "sandbox")


def test_a_containers_limit_is_respected(tmp_path: Path) -> None:
    """What the container may still take, where it is limited; no number without a limit."""
    (tmp_path / "memory.current").write_text("300\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert choosing._container(tmp_path) is None
    (tmp_path / "memory.max").write_text("1000\n")
    assert choosing._container(tmp_path) == 700
    assert memory_at_hand() > 0
