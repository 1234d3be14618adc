"""`evalkit export`: a case as a test, as YAML to be read, or as the trace that it holds."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from evalkit.app.settings import Settings
from evalkit.case.export_pytest import render_pytest
from evalkit.case.export_yaml import render_yaml
from evalkit.case.store import find_case, read_case
from evalkit.errors import ConfigError, InputError
from evalkit.playback.targets.reference import parse_reference
from evalkit.trace.file import encode_trace

__all__ = ["FORMS", "ExportForm", "export_case"]

ExportForm: TypeAlias = Literal["pytest", "yaml", "trace"]
FORMS: dict[str, ExportForm] = {"pytest": "pytest", "yaml": "yaml", "trace": "trace"}


def export_case(
    reference: str, settings: Settings, form: ExportForm, *, out: Path | None = None, target: str = ""
) -> bytes:
    """A case in another form; written to `out`, too, where that is given.

    Args:
        out: a new file. A test finds its case relative to it; without it, relative to the current folder.
        target: what a test runs; the case's own, else the settings'.

    Raises:
        InputError: there is no such case, or a file is there already.
        ConfigError: nothing says what a test is to run, or what is said is no target.
        MissingExtra: PyYAML is not installed.
    """
    path = find_case(reference, settings.cases)
    case = read_case(path)
    if out is not None and out.exists():
        raise InputError("there is a file already", str(out), "choose another --out, or remove it")
    if form == "trace":
        data = b"".join(encode_trace(case.incident))
    elif form == "yaml":
        data = render_yaml(case).encode()
    else:
        runs = target or case.target or settings.target
        if not runs:
            raise ConfigError("nothing says what to run", f"case {case.id}", "pass --target module:function")
        parse_reference(runs)
        folder = Path() if out is None else out.parent
        relative = PurePosixPath(Path(os.path.relpath(path, folder)).as_posix())
        data = render_pytest(case, relative, runs).encode()
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        with open(out, "xb") as file:
            file.write(data)
    return data
