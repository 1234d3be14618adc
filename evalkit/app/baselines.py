"""`evalkit baseline`: a run is made the measure of later ones, by a person who says why."""

from __future__ import annotations

from pathlib import Path

from evalkit.app.environment import acting, now_utc
from evalkit.app.run import baseline_path, load_run
from evalkit.app.settings import Settings
from evalkit.errors import InputError
from evalkit.suite.account import read_account
from evalkit.verdict.baseline import Baseline, BaselineInfo, make_baseline, read_baseline, write_baseline

__all__ = ["set_baseline", "show_baseline"]


def set_baseline(folder: Path, settings: Settings, *, actor: str, reason: str, out: Path | None = None) -> Path:
    """Writes a finished run as its suite's baseline; returns the file.

    Raises:
        InputError: the run is not finished, or nobody or no reason is named.
    """
    actor = acting(actor, settings)
    if not reason.strip():
        raise InputError("the reason is empty", str(folder), "pass --reason")
    manifest, suite, cases, samples = load_run(folder, settings)
    if stopped := read_account(folder).stopped:
        raise InputError(f"the run is not whole: {stopped}", str(folder), f"evalkit run --resume {folder} --budget ...")
    info = BaselineInfo(manifest.run_id, suite.name, actor, reason, now_utc())
    path = out or baseline_path(settings.suites / f"{suite.name}.toml")
    return write_baseline(make_baseline(info, samples, cases), path)


def show_baseline(suite_or_file: str, settings: Settings) -> Baseline:
    """The baseline of a suite (by name or file), or in a file."""
    path = Path(suite_or_file)
    if path.suffix == ".toml":
        return read_baseline(baseline_path(path))
    return read_baseline(
        path if path.suffix == ".parquet" else baseline_path(settings.suites / f"{suite_or_file}.toml")
    )
