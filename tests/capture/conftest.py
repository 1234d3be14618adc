"""What the tests of recording share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.capture.scripted_server import ScriptedServer, scripted_server


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A model endpoint that answers as told."""
    with scripted_server() as running:
        yield running
