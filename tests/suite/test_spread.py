"""Rows as often as they are wanted: what Arrow's own `take` gives."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalkit.suite.sample_rows import SAMPLE_SCHEMA
from evalkit.suite.spread import encoded, spread

CHECKS = pa.list_(pa.struct([("name", pa.string()), ("passed", pa.bool_()), ("steps", pa.list_(pa.int32()))]))


def checks(chance: random.Random, *, gaps: bool) -> list[Any]:
    """Lists of structs of all kinds; with `gaps` some values are missing at every level."""

    def there(value: Any) -> Any:
        return None if gaps and chance.random() < 0.3 else value

    def one() -> dict[str, Any]:
        steps = [there(chance.randrange(9)) for _ in range(chance.randrange(4))]
        return {"name": there(chance.choice(["", "a", "ß", "long" * 9])), "passed": there(True), "steps": there(steps)}

    return [there([there(one()) for _ in range(chance.randrange(4))]) for _ in range(20)]


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_values_come_as_often_as_they_are_wanted(seed: int, gaps: bool) -> None:
    """Lists, structs, texts, numbers and truth values, with and without missing ones, also of a part of a column."""
    chance = random.Random(seed)
    values = pa.array(checks(chance, gaps=gaps), CHECKS).slice(seed)
    places = np.array([chance.randrange(len(values)) for _ in range(50)])
    found = spread(values, places)
    found.validate(full=True)
    assert found.type == encoded(CHECKS)
    assert found.to_pylist() == values.take(pa.array(places)).to_pylist()


@pytest.mark.parametrize("kind", [pa.bool_(), pa.int32(), pa.int64(), pa.float64(), pa.string(), CHECKS])
def test_nothing_and_nothing_but_gaps(kind: pa.DataType) -> None:
    """A column without values, or with missing ones alone, stays so."""
    none: Any = np.array([], np.int64)
    assert spread(pa.array([], kind), none).to_pylist() == []
    assert spread(pa.array([None, None], kind), np.array([1, 0, 1])).to_pylist() == [None] * 3


def test_all_that_a_sample_has_can_be_spread() -> None:
    """No column of the table of samples is of a kind that is not known."""
    empty = SAMPLE_SCHEMA.empty_table()
    for name in SAMPLE_SCHEMA.names:
        assert spread(empty.column(name).combine_chunks(), np.array([], np.int64)).to_pylist() == []


def test_it_loads_neither_pandas_nor_compute_functions() -> None:
    """What took a tenth of a small run's time is not loaded."""
    code = (
        "import sys, pyarrow.json as pj, pyarrow as pa, numpy as np; from evalkit.suite.spread import spread\n"
        'table = pj.read_json(pa.BufferReader(b\'{"a": [{"b": "c", "d": [true]}]}\'))\n'
        "print(len(spread(table.column('a').combine_chunks(), np.array([0, 0]))))\n"
        "print({'pandas', 'pyarrow.compute'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2", "set()"]
