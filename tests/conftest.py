"""Fixtures of all tests: a project in a temporary folder."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.capture.scripted_server import ScriptedServer, scripted_server
from tests.demo import ingest_demo
from tests.loaded import Loaded
from tests.project import Project

_HOW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
"""A busy machine is slow, which is no fault of what is tested; a failure gives what repeats it elsewhere."""
settings.register_profile("evalkit", _HOW, derandomize=True)  # the same examples each time
settings.register_profile("thorough", _HOW, max_examples=1_000)  # others each time
settings.load_profile("evalkit")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts what it runs in the background so
    signal.signal(signal.SIGINT, signal.default_int_handler)  # or no command of a test could be interrupted


@pytest.fixture(scope="session", autouse=True)
def _no_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test speaks TLS, and reading those of all authorities takes each client of a model 20 ms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("certificates")))
        patch.delenv("SSL_CERT_FILE", raising=False)
        yield


@pytest.fixture(scope="session")
def loaded() -> Iterator[Loaded]:
    """What runs commands in processes of their own."""
    found = Loaded()
    yield found
    found.close()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loaded: Loaded) -> Project:
    """An empty project, current while the test runs."""
    return Project(tmp_path, monkeypatch, loaded)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A model's endpoint that says what a test has it say."""
    with scripted_server() as running:
        yield running


@pytest.fixture
def case_id(project: Project) -> str:
    """The demo's incident, a case of the current project."""
    return ingest_demo(project)


def pytest_collection_finish() -> None:
    """The modules and tests stay: no collection of garbage, in this process or in its forks, looks at them again."""
    gc.collect()
    gc.freeze()
