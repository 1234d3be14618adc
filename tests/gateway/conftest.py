"""What the tests of the gateway share: the shop's incident, recorded once."""

from __future__ import annotations

import pytest

from evalkit.trace.model import Trace
from tests.gateway.shop import ingested, record_shop
from tests.project import Project


@pytest.fixture(scope="session")
def shop_trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """The trace of the incident."""
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    return record_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def shop(project: Project, shop_trace: Trace) -> str:
    """The case's id, in the current project."""
    return ingested(project, shop_trace)
