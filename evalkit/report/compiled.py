"""Compiled templates, kept beside their sources as Python keeps its own bytecode: compiling them takes 0.1 s."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import jinja2.compiler
from jinja2 import FileSystemBytecodeCache
from jinja2.bccache import Bucket

__all__ = ["CompiledTemplates"]


class CompiledTemplates(FileSystemBytecodeCache):
    """Keeps compiled templates where that can be written; elsewhere they are compiled each time.

    Args:
        folder: of the templates.
        maker: the file whose environment compiles them: whether text is escaped is part of what is compiled.
    """

    def __init__(self, folder: Path, maker: str) -> None:
        super().__init__(str(folder / "__pycache__"))
        made_by = [Path(file).stat() for file in (maker, jinja2.compiler.__file__)]
        self._made_by = str([(one.st_mtime_ns, one.st_size) for one in made_by])

    def get_source_checksum(self, source: str) -> str:
        return super().get_source_checksum(self._made_by + source)

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            super().load_bytecode(bucket)
        except Exception:  # noqa: BLE001  # whatever a broken file leads to, it is only compiled anew
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        if not sys.dont_write_bytecode:
            with contextlib.suppress(OSError):
                Path(self.directory).mkdir(exist_ok=True)
                super().dump_bytecode(bucket)
