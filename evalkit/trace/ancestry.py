"""Who stands above whom, for sources whose elements name their parents: depths, and circles that broken sources have.

Each id is looked at once, so that a chain of many thousands costs no more than as many roots.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["circular", "depths"]


def depths(parents: Mapping[str, str]) -> dict[str, int]:
    """How many known ids stand above each one; ids in a circle, and those below it, count from where it was entered.

    Args:
        parents: each id's parent; one that is no key itself is not known.
    """
    found: dict[str, int] = {}
    for start in parents:
        way: list[str] = []
        entered: set[str] = set()
        at = start
        while at in parents and at not in found and at not in entered:
            entered.add(at)
            way.append(at)
            at = parents[at]
        depth = found.get(at, -1)
        for each in reversed(way):
            depth += 1
            found[each] = depth
    return found


def circular(parents: Mapping[str, str]) -> frozenset[str]:
    """The ids that stand above themselves."""
    done: set[str] = set()
    found: set[str] = set()
    for start in parents:
        way: dict[str, int] = {}
        at = start
        while at in parents and at not in done and at not in way:
            way[at] = len(way)
            at = parents[at]
        if at in way:
            found.update(list(way)[way[at] :])
        done.update(way)
    return frozenset(found)
