"""The frozen world: the day's clock, seeded chance, no network."""

from __future__ import annotations

import _socket
import datetime
import os
import random
import secrets
import socket
import tempfile
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from evalkit.playback.fixtures import ReplayHalt
from evalkit.playback.guard import Guard
from evalkit.playback.world import World

START = 1_700_000_000.0


def inside(function: Callable[[], Any], *, seed: int = 1, guard: Guard | None = None) -> Any:
    """What a function gives inside of a world."""
    world = World(START, guard or Guard())
    with world.entered():
        world.restart(seed)
        return function()


@pytest.mark.parametrize(
    "now",
    [
        time.time,
        lambda: datetime.datetime.now(datetime.UTC).timestamp(),
        lambda: time.mktime(time.localtime()),
        lambda: time.time_ns() / 1e9,
    ],
)
def test_every_clock_shows_the_recorded_day(now: Callable[[], float]) -> None:
    """`time` and `datetime` agree on the run's logical start."""
    assert inside(now) == START


def test_the_clock_moves_only_forward_and_with_the_answers() -> None:
    """Between answers it stands still; an earlier answer does not turn it back."""
    world = World(START, Guard())
    with world.entered():
        world.clock.advance(START + 5)
        world.clock.advance(START + 2)
        assert time.time() == START + 5
    assert time.time() > START + 1e7


@pytest.mark.parametrize(
    "draw",
    [
        random.random,
        lambda: random.Random().random(),
        lambda: random.SystemRandom().random(),
        uuid.uuid4,
        uuid.uuid1,
        lambda: os.urandom(8),
        lambda: secrets.token_hex(8),
    ],
    ids=["random", "Random", "SystemRandom", "uuid4", "uuid1", "urandom", "secrets"],
)
def test_chance_follows_the_seed(draw: Callable[[], Any]) -> None:
    """The same seed gives the same draws, another one others."""
    assert inside(draw) == inside(draw)
    assert inside(draw) != inside(draw, seed=2)


def draws_from_numpy() -> None:
    """From NumPy's global generator."""
    import numpy as np

    np.random.random()  # what many agents do


def reseeded() -> random.Random:
    """A generator that gets a seed of its maker's choice after all."""
    made = random.Random()
    made.seed(7)
    return made


@pytest.mark.parametrize(
    ("draw", "decides"),
    [
        (random.random, True),
        (lambda: random.choice("ab"), True),
        (lambda: random.Random().random(), True),
        (draws_from_numpy, True),
        (lambda: random.Random(7).random(), False),
        (random.Random, False),
        (lambda: reseeded().random(), False),
        (uuid.uuid4, False),
        (lambda: secrets.token_hex(8), False),
        (tempfile.mkdtemp, False),
        (lambda: None, False),
    ],
    ids=[
        "random",
        "choice",
        "Random",
        "numpy",
        "seeded",
        "made",
        "reseeded",
        "uuid4",
        "secrets",
        "tempfile",
        "nothing",
    ],
)
def test_draws_that_may_decide_something_are_noticed(draw: Callable[[], Any], decides: bool) -> None:
    """Two equal replays of an agent that drew random numbers are no proof; ids, and fixed seeds, decide nothing."""
    import numpy.random

    world = World(START, Guard())
    with world.entered():
        for seed in (1, 2):
            world.restart(seed)
            draw()
            assert world.chance.drew() is decides
    assert numpy.random


def test_a_generator_that_a_module_keeps_is_watched() -> None:
    """A library that makes one as it is loaded (trio, under httpx) draws nothing by that; later draws count."""
    kept: list[random.Random] = []
    world = World(START, Guard())
    with world.entered():
        for seed, draws in ((1, 0), (2, 0), (3, 1), (4, 0)):
            world.restart(seed)
            kept = kept or [random.Random()]
            for _ in range(draws):
                kept[0].random()
            assert world.chance.drew() is bool(draws)


def test_chance_is_given_back_afterwards() -> None:
    """What runs after a replay draws on as if there had been none."""
    random.seed(5)
    wanted = [random.random() for _ in range(2)]
    random.seed(5)
    first = random.random()
    inside(random.random)
    assert [first, random.random()] == wanted
    assert os.urandom(16) != os.urandom(16)


def connect(*family: int, to: Any = ("127.0.0.1", 9)) -> None:
    """Connects a socket of some family."""
    with socket.socket(*family) as made:
        made.connect(to)


def send_datagram() -> None:
    """Sends without connecting."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.sendto(b"x", ("127.0.0.1", 9))


def connect_below() -> None:
    """Connects with the C class that `socket` is built on."""
    made = _socket.socket()
    try:
        made.connect(("127.0.0.1", 9))
    finally:
        made.close()


@pytest.mark.parametrize(
    "reach",
    [
        connect,
        send_datagram,
        lambda: socket.getaddrinfo("localhost", 80),
        lambda: urllib.request.urlopen("http://127.0.0.1:9/"),
        connect_below,
        lambda: connect(socket.AF_UNIX, to="/tmp/none"),
    ],
    ids=["tcp", "udp", "dns", "urllib", "_socket", "unix"],
)
def test_the_network_is_refused(reach: Callable[[], Any]) -> None:
    """Each attempt halts the replay and is noted, even where the agent swallows it."""
    guard = Guard()
    with pytest.raises(ReplayHalt, match="network refused"):
        inside(reach, guard=guard)
    assert len(guard.refused) == 1


def test_only_the_models_endpoint_may_be_reached() -> None:
    """Host and port both count."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    try:
        guard = Guard.for_endpoint(f"http://127.0.0.1:{port}/v1")
        inside(lambda: socket.create_connection(("127.0.0.1", port)).close(), guard=guard)
        with pytest.raises(ReplayHalt):
            inside(lambda: connect(to=("127.0.0.1", port + 1)), guard=guard)
    finally:
        listener.close()


def test_a_connection_that_was_made_before_is_refused_too() -> None:
    """As of a client that is made where the agent's module is loaded: what it sends would be done for real."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as kept:
        other, _ = listener.accept()
        with other:
            for send in (lambda: kept.send(b"x"), lambda: kept.sendall(b"x")):
                guard = Guard()
                with pytest.raises(ReplayHalt, match="over a connection that was made before the replay"):
                    inside(send, guard=guard)
                assert len(guard.refused) == 1
            port = listener.getsockname()[1]
            inside(lambda: kept.sendall(b"to the model"), guard=Guard.for_endpoint(f"http://127.0.0.1:{port}"))
            kept.sendall(b", and after it")
            assert other.recv(100) == b"to the model, and after it"


def test_what_stays_in_the_process_or_is_of_others_is_sent() -> None:
    """A pair of sockets, as event loops have one; and a thread of a debugger or a server."""

    def talk() -> bytes:
        one, other = socket.socketpair()
        with one, other:
            one.sendall(b"x")
            return other.recv(1)

    assert inside(talk) == b"x"
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as kept:
        guard = Guard()

        def by_another() -> None:
            thread = threading.Thread(target=kept.sendall, args=(b"y",))
            thread.start()
            thread.join()

        inside(by_another, guard=guard)
        assert guard.refused == []


def test_outside_of_a_world_nothing_is_guarded() -> None:
    """The audit hook stays in the process and does nothing."""
    inside(lambda: None)
    listener = socket.create_server(("127.0.0.1", 0))
    try:
        socket.create_connection(listener.getsockname()).close()
    finally:
        listener.close()
