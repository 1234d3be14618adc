"""Python's warnings of agents, which may run in forks, come up in this process."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import orjson

__all__ = ["warnings_passed_on"]


@contextmanager
def warnings_passed_on(file: Path) -> Iterator[None]:
    """What is warned of inside, by this process or by one that it forks then, is warned of at the end.

    The filters that are set here are not the agent's: one that makes errors of warnings would change what it does.

    Args:
        file: where they are kept meanwhile; only this process and its forks may use it.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = _Kept(file)
        yield
    if not file.exists():
        return
    lines = file.read_bytes().splitlines()
    file.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for line in lines:
            text, name, where, number = orjson.loads(line)
            warnings.warn_explicit(text, _category(name), where, number)


class _Kept:
    """Keeps warnings in a file."""

    def __init__(self, file: Path) -> None:
        self._file = str(file)

    def __call__(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        told = str(message).encode("utf-8", "replace").decode()
        with open(self._file, "ab") as kept:
            kept.write(orjson.dumps([told, category.__name__, filename, lineno]) + b"\n")


def _category(name: str) -> type[Warning]:
    found = getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, Warning) else UserWarning
