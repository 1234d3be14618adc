"""Rows of an Arrow table, each as often as it is wanted: what Arrow's own `take` does, in much less memory.

Texts come out as places in a dictionary: very many rows have few different ones, and Parquet writes them as they are.
Arrow's function takes about the same time, and loads all compute functions first, which takes a tenth of a small run's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

__all__ = ["encoded", "inside", "spread", "texts_in"]

_PLACES = pa.int32()


def encoded(kind: pa.DataType) -> pa.DataType:
    """The type that `spread` makes of a type."""
    if pa.types.is_string(kind):
        return pa.dictionary(_PLACES, kind)
    if pa.types.is_list(kind):
        return pa.list_(encoded(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(one.name, encoded(one.type)) for one in kind])
    return kind


def texts_in(kind: pa.DataType, path: str) -> Iterator[str]:
    """What Parquet calls the columns that have texts, among those that a column of an encoded type becomes."""
    if pa.types.is_dictionary(kind):
        yield path
    elif pa.types.is_list(kind):
        yield from texts_in(kind.value_type, f"{path}.list.element")
    elif pa.types.is_struct(kind):
        for one in kind:
            yield from texts_in(one.type, f"{path}.{one.name}")


def spread(values: pa.Array, places: np.ndarray) -> pa.Array:
    """The values that stand at some places, in that order; of numbers, truth values and texts, and lists and structs
    of them."""
    kind = encoded(values.type)
    if values.null_count == len(values):
        return pa.nulls(len(places), kind)
    valid = _valid(values, places)
    if pa.types.is_struct(kind):
        parts = [spread(values.field(at), places) for at in range(kind.num_fields)]
        return pa.Array.from_buffers(kind, len(places), [valid], children=parts)
    if pa.types.is_list(kind):
        starts = np.from_dlpack(values.offsets)
        sizes = np.diff(starts)[places]
        ends = np.cumsum(sizes)
        within = np.arange(sizes.sum()) + np.repeat(starts[places] - starts[0] - ends + sizes, sizes)
        part = spread(inside(values), within)
        ends = np.concatenate([[0], ends]).astype(np.int32)
        return pa.Array.from_buffers(kind, len(places), [valid, pa.py_buffer(ends)], children=[part])
    if pa.types.is_dictionary(kind):
        texts = values.to_pylist() if valid is None else [text or "" for text in values.to_pylist()]
        known = {text: at for at, text in enumerate(dict.fromkeys(texts))}
        own = np.array([*map(known.__getitem__, texts)], np.int32)[places]
        found = pa.Array.from_buffers(_PLACES, len(places), [valid, pa.py_buffer(own)])
        return pa.DictionaryArray.from_arrays(found, _texts(known))
    if pa.types.is_boolean(kind):
        return pa.Array.from_buffers(kind, len(places), [valid, _packed(_bits(values, 1), places)])
    numbers = np.frombuffer(values.buffers()[1], kind.to_pandas_dtype())[values.offset :]
    return pa.Array.from_buffers(kind, len(places), [valid, pa.py_buffer(numbers[places])])


def inside(lists: pa.ListArray) -> pa.Array:
    """The values of all lists; Arrow's own flattening loads its compute functions."""
    first, last = lists.offsets[0].as_py(), lists.offsets[len(lists)].as_py()
    return lists.values.slice(first, last - first)


def _texts(texts: Iterable[str]) -> pa.Array:
    """Arrow's own `array` looks for pandas, for half a second."""
    data = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, data)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(data), pa.py_buffer(ends), pa.py_buffer(b"".join(data)))


def _valid(values: pa.Array, places: np.ndarray) -> pa.Buffer | None:
    """Which of them are there; None for all."""
    return _packed(_bits(values, 0), places) if values.null_count else None


def _bits(values: pa.Array, buffer: int) -> np.ndarray:
    bits = np.unpackbits(np.frombuffer(values.buffers()[buffer], np.uint8), bitorder="little")
    return bits[values.offset :]


def _packed(bits: np.ndarray, places: np.ndarray) -> pa.Buffer:
    return pa.py_buffer(np.packbits(bits[places], bitorder="little"))
