"""A Python entrypoint, ``module:function``, synchronous or asynchronous.

How the case's input is passed: a function without parameters gets nothing, and finds the arguments of a program that
was recorded from outside in ``sys.argv``; an object whose keys are parameter names, with every required parameter among
them, is passed by keyword; anything else is the first argument.
"""

from __future__ import annotations

import inspect
import os
import shlex
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from evalkit.canonical import Json
from evalkit.capture.plain import AS_THEY_ARE, plain
from evalkit.errors import ConfigError
from evalkit.forks import end_if_forked
from evalkit.playback.environment import loading
from evalkit.playback.strays import none_watched
from evalkit.playback.targets.recorded_line import recorded_line
from evalkit.playback.targets.reference import entrypoint
from evalkit.project import project_here, project_root

__all__ = ["PythonTarget", "load_function"]


class PythonTarget:
    """The function that `reference` names, or is.

    Raises:
        ConfigError: the module can't be imported, or has no such function.
    """

    def __init__(self, reference: str | Callable[..., Any]) -> None:
        self._home = ""
        if isinstance(reference, str):
            self._function, self._home = _loaded(reference)
        else:
            self._function = reference
        self._parameters = inspect.signature(self._function).parameters
        self._required = {name for name, p in self._parameters.items() if p.default is p.empty and p.kind in _BY_NAME}
        if inspect.isgeneratorfunction(self._function) or inspect.isasyncgenfunction(self._function):
            raise ConfigError(
                f"{self._function.__qualname__} is a generator: its answer is no single value",
                "target" if callable(reference) else f"target {reference}",
                "name a function that goes through it, and returns the whole answer",
            )
        self._is_async = inspect.iscoroutinefunction(inspect.unwrap(self._function))

    def run(self, given: Json) -> Json:
        """Calls the function; its result as plain JSON."""
        if self._home:
            os.chdir(self._home)
        if self._parameters:
            return self._called(given)
        with recorded_line(given):
            return self._called(given)

    def unfit_for(self, given: Json) -> str:
        """Why it will hardly understand an input, in words; empty where nothing tells."""
        if (
            not isinstance(given, dict)
            or given.keys() != {"argv"}
            or not self._parameters
            or "argv" in self._parameters
        ):
            return ""
        return (
            f"the input is a program's command line, and {self._function.__qualname__} was given it in place of "
            f"{next(iter(self._parameters))}: name the program's main, a function without parameters, as target"
        )

    def _called(self, given: Json) -> Json:
        args, kwargs = self._arguments(given)
        with _outside_of_loops():
            result = self._function(*args, **kwargs)
            if self._is_async or (type(result) not in _NEVER_AWAITED and inspect.isawaitable(result)):
                import asyncio  # takes 20 ms to load, which agents without it need not wait for

                result = asyncio.run(_awaited(result))
        if type(result) not in _NEVER_AWAITED and isinstance(result, Iterator | AsyncIterator):
            raise TypeError(f"its answer is a {type(result).__qualname__} that nobody went through: return it whole")
        return plain(result)

    def _arguments(self, given: Json) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if not self._parameters:
            return (), {}
        named = isinstance(given, dict) and bool(given) and given.keys() <= self._parameters.keys()
        if isinstance(given, dict) and named and self._required <= given.keys():
            return (), dict(given)
        return (given,), {}


_NEVER_AWAITED = AS_THEY_ARE | {dict, list}
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@contextmanager
def _outside_of_loops() -> Iterator[None]:
    """Lets an agent start an event loop of its own, also where it is replayed inside of one: in a notebook, say."""
    asyncio = sys.modules.get("asyncio")  # where nobody loaded it, no loop is running
    loop = asyncio._get_running_loop() if asyncio else None
    if asyncio is None or loop is None:
        yield
        return
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)


async def _awaited(result: Any) -> Any:
    return await result


def load_function(reference: str) -> Callable[..., Any]:
    """The function that ``module:function`` names, from the current folder, its project's, or what is installed.

    Raises:
        ConfigError: it is of another form, the module can't be imported, or has no such function.
    """
    module_name, name = entrypoint(reference)
    if module_name.endswith(".py") and Path(module_name).is_file():
        dotted = ".".join(Path(module_name).with_suffix("").parts)
        raise ConfigError("a module is wanted, got its file", f"target {reference}", f'write "{dotted}:{name}"')
    _with_own_folders()
    found: Any = _imported(module_name, f"target {reference}")
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        raise ConfigError(f"module {module_name} has no {name}", f"target {reference}", "correct the name") from None
    if not callable(found):
        raise ConfigError(f"{reference} is no function", cure="name the function that starts the agent")
    return found  # type: ignore[no-any-return]  # checked to be callable


def _imported(name: str, where: str) -> ModuleType:
    """The module; what ends a script is an error here, and must not end evalkit as if all were done."""
    process = os.getpid()
    try:
        try:
            with loading(), none_watched():
                return import_module(name)
        finally:
            end_if_forked(process)
    except KeyboardInterrupt:
        raise
    except SystemExit as left:
        raise ConfigError(
            f"importing {name} came to sys.exit({'' if left.code is None else repr(left.code)})",
            where,
            "put what starts the agent below: if __name__ == '__main__':",
        ) from None
    except BaseException as error:
        failed = f"importing {name} failed: {type(error).__name__}: {error}"
        raise ConfigError(f"{failed}{_place(error)}", where, _cure(error, name)) from error


def _place(error: BaseException) -> str:
    """Where in the agent's own code it was raised; empty where that is not known, or the error tells it itself."""
    here = os.path.join(project_here(), "")
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(here)]
    if not own or isinstance(error, SyntaxError) or own[-1].filename == __file__:
        return ""
    return f" ({os.path.relpath(own[-1].filename)}:{own[-1].lineno})"


def _cure(error: BaseException, name: str) -> str:
    if isinstance(error, ModuleNotFoundError):
        return (
            "run evalkit in the agent's environment and folder; modules in another one, such as src/, are found where "
            "they are installed (pip install -e .) or PYTHONPATH names it"
        )
    return f"mend what python -c {shlex.quote(f'import {name}')} shows; the agent is loaded before it is replayed"


def _loaded(reference: str) -> tuple[Callable[..., Any], str]:
    """The function, and the folder that its module goes to while it is loaded; empty where it stays.

    An agent that works from a folder of its own goes there in each replay, and evalkit stays where it is. A folder
    inside of the current one is told from there: a replay may take place in a copy.
    """
    before = os.getcwd()
    try:
        found = load_function(reference)
        after = os.getcwd()
    finally:
        os.chdir(before)
    if after == before:
        return found, ""
    return found, os.path.relpath(after, before) if after.startswith(os.path.join(before, "")) else after


def _with_own_folders() -> None:
    """Has modules looked for in the project's folder and the current one: an installed command lacks both."""
    here = Path.cwd()
    for folder in (project_root(here), here):
        if folder is not None and str(folder) not in sys.path and (folder != here or "" not in sys.path):
            sys.path.insert(0, str(folder))
