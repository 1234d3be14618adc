"""Which project's code is loaded, where a process runs agents of several, or a project's tests beside its agent.

Python has one module of a name in a process: who asks for it second gets the first one's, and would be judged by it.
"""

from __future__ import annotations

import filecmp
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from evalkit.errors import ConfigError
from evalkit.project import project_root

__all__ = ["put_first"]

_OF_TESTS = re.compile(r"conftest|setup|tests?|test_.*|.*_test|__main__")
"""Modules that each project has, and no agent loads."""
_INSTALLED = frozenset(("site-packages", "dist-packages"))
_PYTHONS_OWN = Path(os.__file__).parent


def put_first(root: Path, *, known: int = 0) -> int:
    """Has modules looked for in a project's folder before all others; gives the number of those that are loaded.

    Args:
        known: what an earlier call gave; while it is the same, there is nothing new to look at.

    Raises:
        ConfigError: one that the project has is loaded already, from elsewhere and with other content.
    """
    folder = str(root)
    if sys.path[:1] != [folder]:
        sys.path[:] = [folder, *(place for place in sys.path if place != folder)]
    count = len(sys.modules)
    for name, loaded, own in _twice(folder) if count != known else ():
        what = f"module {name} is loaded from {loaded} already, and the agent's is {own}: Python has one of a name"
        cure = "run a project's suites and cases in a session of their own, apart from what loads the other module"
        raise ConfigError(what, folder, cure)
    return count


def _twice(folder: str) -> Iterator[tuple[str, str, str]]:
    """Modules that are loaded from elsewhere than the project has them: their name, and both files."""
    names = {entry.partition(".")[0] for entry in os.listdir(folder)}
    names = {name for name in names if name.isidentifier() and not _OF_TESTS.fullmatch(name)}
    names = {name for name in names if not _is_passed_over(os.path.join(folder, name), sys.modules.get(name))}
    for name, module in [*sys.modules.items()]:
        loaded = getattr(module, "__file__", None) if name.partition(".")[0] in names else None
        if not isinstance(loaded, str) or _is_pythons(name, Path(loaded)):
            continue
        base = os.path.join(folder, *name.split("."))
        own = next((path for path in (f"{base}.py", os.path.join(base, "__init__.py")) if os.path.isfile(path)), None)
        if own is not None and os.path.isfile(loaded) and not _same(loaded, own):
            yield name, loaded, own


def _is_passed_over(path: str, loaded: ModuleType | None) -> bool:
    """Whether a path is a folder that is no package, where a package of its name is loaded: Python takes that one."""
    if not isinstance(getattr(loaded, "__file__", None), str):
        return False
    return not any(os.path.isfile(one) for one in (f"{path}.py", os.path.join(path, "__init__.py")))


def _is_pythons(name: str, loaded: Path) -> bool:
    """Whether it is of the standard library: each process has that first, and a script of its name hides nothing."""
    return name.partition(".")[0] in sys.stdlib_module_names and loaded.is_relative_to(_PYTHONS_OWN)


def _same(loaded: str, own: str) -> bool:
    """Whether what is loaded is a project's own file, or as good: an installed copy that is like its source.

    Another project's is not, however alike: it reads the files beside it, and a package the modules below it.
    """
    if os.path.samefile(loaded, own):
        return True
    if _INSTALLED.isdisjoint(Path(loaded).parts) and project_root(Path(loaded).parent) not in (
        None,
        project_root(Path(own).parent),
    ):
        return False
    there, here = Path(loaded).parent, Path(own).parent
    code = _of_package(here) if os.path.basename(own) == "__init__.py" else (Path(own),)
    return all(_alike(there / one.relative_to(here), one) for one in code)


def _of_package(folder: Path) -> Iterator[Path]:
    """What an agent may load of a package; its tests are often not installed."""
    for path in folder.rglob("*.py"):
        if not any(map(_OF_TESTS.fullmatch, path.relative_to(folder).with_suffix("").parts)):
            yield path


def _alike(one: Path, other: Path) -> bool:
    return one.is_file() and filecmp.cmp(one, other, shallow=False)
