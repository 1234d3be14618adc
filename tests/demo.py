"""The demo's agent and its incident, as a case of a test's project."""

from __future__ import annotations

from evalkit.app.demo import agent
from evalkit.app.demo.walk import record_incident
from evalkit.app.settings import Settings
from tests.project import Project

__all__ = ["TARGET", "ingest_demo"]

TARGET = "evalkit.app.demo.agent:run_buggy"


def ingest_demo(project: Project) -> str:
    """Makes a case of a refund paid twice, with its model calls; gives its id."""
    agent._REFUNDED.clear()
    record_incident(project.root / "incident.trace", Settings(root=project.root, pseudonym_key="11" * 32))
    agent._REFUNDED.clear()
    done = project.run("ingest", "incident.trace", "--id", "twice", "--target", TARGET)
    assert done.code == 0, done.err
    return "twice"
