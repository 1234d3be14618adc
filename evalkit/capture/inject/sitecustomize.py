"""Starts recording in every Python that finds this folder on its path, before its own code runs.

Python imports one module of this name at start. Another one further down the path is run first, in its own name, so
that an environment that has one keeps it.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys

__all__: list[str] = []

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run_the_other() -> None:
    elsewhere = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _start() -> None:
    try:
        from evalkit.capture.launch import start_from_environment
    except ImportError as error:
        sys.stderr.write(f"evalkit: not recorded: {error} (install evalkit in the agent's environment)\n")
        return
    start_from_environment(os.environ)


try:
    _run_the_other()
finally:
    _start()
