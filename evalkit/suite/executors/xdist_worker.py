"""The pytest plug-in of the xdist executor: collects a plan file, and does an item as a test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from evalkit.errors import EvalkitError
from evalkit.playback.overdue import Mark, shared_mark
from evalkit.suite.executors.raised import error_text
from evalkit.suite.plan import Item, Portion
from evalkit.suite.work import Worker

__all__ = ["BATCH", "MARK_SUFFIX", "PLAN_NAME", "RAISED", "item_name"]

PLAN_NAME = "plan.json"
BATCH = "evalkit-batch"
RAISED = "evalkit-raised"
MARK_SUFFIX = ".mark"


def item_name(number: int) -> str:
    """The test's name of an item."""
    return f"item-{number}"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collects the plan."""
    return _Plan.from_parent(parent, path=file_path) if file_path.name == PLAN_NAME else None


class _Plan(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        body = orjson.loads(self.path.read_bytes())
        worker = Worker(body["suite"])
        mark = None
        if hasattr(self.config, "workerinput"):  # a worker, and not who hands the work out
            mark = shared_mark(self.path.with_name(f"{os.getpid()}{MARK_SUFFIX}"))
            mark.process = os.getpid()
        for item in body["items"]:
            yield _WorkItem.from_parent(
                self, name=item_name(item["number"]), item=_item(item), worker=worker, mark=mark
            )


class _WorkItem(pytest.Item):
    def __init__(self, *, item: Item, worker: Worker, mark: Mark | None, **rest: Any) -> None:
        super().__init__(**rest)
        self._work = item
        self._worker = worker
        self._mark = mark

    def runtest(self) -> None:
        if self._mark is not None:
            self._mark.work = self._work.number
        try:
            self.user_properties.append((BATCH, self._worker.do(self._work, mark=self._mark).decode()))
        except EvalkitError as error:
            self.user_properties.append((RAISED, error_text(error).decode()))

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


def _item(body: dict[str, Any]) -> Item:
    portions = tuple(
        Portion(p["path"], p["case_id"], p["version"], tuple(p["samples"]), p["attempt"], p["digest"])
        for p in body["portions"]
    )
    return Item(body["number"], portions)
