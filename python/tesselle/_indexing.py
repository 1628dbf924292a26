"""Numpy's indices as regions of an array.

Integers drop their axis, slices with positive steps keep it, an ellipsis stands for the axes that are not named. Lists,
integer arrays and masks choose positions of one axis; several of them choose outer, each for its own axis.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, TypeAlias

from ._errors import UnknownName

if TYPE_CHECKING:
    import numpy

    Positions: TypeAlias = numpy.ndarray[tuple[int], numpy.dtype[numpy.int64]]

Span: TypeAlias = tuple[int, int, int]
"""Start, stop and step of one axis."""


class Index(NamedTuple):
    """What is wanted of each axis: a span, or positions."""

    spans: tuple[Span, ...]
    """The span of each axis; of an axis with positions, the span around them."""
    dropped: tuple[int, ...]
    """The axes that an integer picked."""
    lists: dict[int, Positions]
    """The positions of axes that are indexed by a list."""


class Box(NamedTuple):
    """A region to read, and where its cells go."""

    spans: tuple[Span, ...]
    """What to read."""
    taken: dict[int, Positions]
    """Which positions of it are wanted, on the axes with lists."""
    place: tuple[slice, ...]
    """Where they go among the unique positions."""


def window(key: Any, shape: tuple[int, ...]) -> tuple[list[Span], list[int]] | None:
    """Returns the spans and the shape of a window: plain integers and slices within the bounds, one for each axis.

    Returns ``None`` for everything else, which :func:`resolve` is for. Windows are read by the thousand.
    """
    if type(key) is not tuple or len(key) != len(shape):
        return None
    spans: list[Span] = []
    found: list[int] = []
    for part, extent in zip(key, shape):
        if type(part) is slice:
            start, stop, step = span = part.indices(extent)
            if step < 1:
                return None
            found.append(len(range(start, stop, step)))
            spans.append(span if start <= stop else (start, start, step))
        elif type(part) is int and -extent <= part < extent:
            at = part % extent
            spans.append((at, at + 1, 1))
        else:
            return None
    return spans, found


def resolve(key: Any, shape: tuple[int, ...]) -> Index:
    """Returns what ``key`` wants of an array of this shape.

    Raises:
        IndexError: as numpy does, and for what has no place here: ``numpy.newaxis`` and steps that are not positive.
    """
    spans: list[Span] = []
    dropped: list[int] = []
    lists: dict[int, Positions] = {}
    for axis, (part, extent) in enumerate(zip(_parts(key, len(shape)), shape)):
        if isinstance(part, slice):
            spans.append(_span(part, extent))
        elif _is_list(part):
            lists[axis] = _positions(axis, part, extent)
            spans.append((0, extent, 1))
        else:
            at = _position(axis, part, extent)
            spans.append((at, at + 1, 1))
            dropped.append(axis)
    return Index(tuple(spans), tuple(dropped), lists)


def has_ellipsis(key: Any) -> bool:
    """Whether an ellipsis is part of an index."""
    return any(part is Ellipsis for part in (key if isinstance(key, tuple) else (key,)))


def length(span: Span) -> int:
    """Returns how many positions a span has."""
    start, stop, step = span
    return max(0, -(-(stop - start) // step))


def _parts(key: Any, ndim: int) -> list[Any]:
    """Returns one index per axis: the ellipsis and missing axes become whole slices."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if any(part is None for part in parts):
        raise IndexError("numpy.newaxis is not supported; reshape the result instead")
    dots = [at for at, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    missing = ndim - (len(parts) - len(dots))
    if missing < 0:
        raise IndexError(f"too many indices: the array has {ndim} axes, but {len(parts) - len(dots)} are indexed")
    at = dots[0] if dots else len(parts)
    return parts[:at] + [slice(None)] * missing + parts[at + len(dots) :]


def _span(part: slice, extent: int) -> Span:
    start, stop, step = part.indices(extent)
    if step < 1:
        raise IndexError("steps must be positive; reverse the result instead")
    return start, max(start, stop), step


def _is_list(part: Any) -> bool:
    if isinstance(part, (list, tuple, range)):
        return True
    # Arrays of numpy, and of libraries that numpy takes, such as pyarrow's.
    return getattr(part, "ndim", 0) > 0 or not hasattr(part, "ndim") and hasattr(part, "__array__")


def _position(axis: int, part: Any, extent: int) -> int:
    if isinstance(part, bool) or getattr(getattr(part, "dtype", None), "kind", "") == "b":
        raise IndexError("a single truth value is no index; a mask has one for each position of its axis")
    try:
        at = operator.index(part)
    except TypeError:
        raise IndexError(
            "only integers, slices, an ellipsis, and one-dimensional lists of integers or truth values are indices"
        ) from None
    if not -extent <= at < extent:
        raise IndexError(f"index {at} is out of bounds for axis {axis} with size {extent}")
    return at % extent


def _positions(axis: int, part: Any, extent: int) -> Positions:
    import numpy

    positions = numpy.asarray(part)
    if positions.ndim != 1:
        raise IndexError("a list of positions has one dimension")
    if positions.dtype == bool:
        if len(positions) != extent:
            raise IndexError(f"a mask of {len(positions)} does not fit axis {axis} with size {extent}")
        return numpy.flatnonzero(positions)
    if positions.size == 0:
        return positions.astype(numpy.int64)
    if positions.dtype.kind not in "iu":
        raise IndexError("lists of positions hold integers or truth values")
    outside = positions[(positions < -extent) | (positions >= extent)]
    if outside.size:
        raise IndexError(f"index {outside[0]} is out of bounds for axis {axis} with size {extent}")
    return positions.astype(numpy.int64) % extent


def boxes(index: Index, chunks: tuple[int, ...]) -> tuple[list[Box], dict[int, Positions]]:
    """Returns the regions that hold all listed positions, and for each list where its entries are among the unique ones.

    Positions that are further apart than a chunk are read apart, so that nothing between them is decoded.
    """
    import numpy

    runs: dict[int, list[tuple[int, Positions]]] = {}
    inverse: dict[int, Positions] = {}
    for axis, positions in index.lists.items():
        unique, inverse[axis] = numpy.unique(positions, return_inverse=True)
        cuts = numpy.flatnonzero(numpy.diff(unique) > max(1, chunks[axis])) + 1
        starts = [0, *cuts.tolist()]
        runs[axis] = [(at, run) for at, run in zip(starts, numpy.split(unique, cuts)) if run.size]
    return [_box(index, dict(zip(runs, chosen))) for chosen in product(*runs.values())], inverse


def _box(index: Index, chosen: dict[int, tuple[int, Positions]]) -> Box:
    spans = list(index.spans)
    place = [slice(None)] * len(spans)
    taken = {}
    for axis, (at, run) in chosen.items():
        spans[axis] = (int(run[0]), int(run[-1]) + 1, 1)
        place[axis] = slice(at, at + len(run))
        taken[axis] = run - run[0]
    return Box(tuple(spans), taken, tuple(place))


Axes: TypeAlias = "SupportsIndex | str | Sequence[SupportsIndex | str] | None"
"""The axes of a reduction, by number or name; ``None`` for all."""


def axes(axis: Axes, dims: tuple[str, ...]) -> list[int]:
    """Returns the axes that a reduction is over, each once and in order."""
    ndim = len(dims)
    wanted = range(ndim) if axis is None else (axis,) if isinstance(axis, (str, SupportsIndex)) else axis
    found = set()
    for one in wanted:
        if isinstance(one, str):
            if one not in dims:
                raise UnknownName(f"there is no axis {one!r}; there are: {', '.join(dims)}", kind="not_found")
            one = dims.index(one)
        one = operator.index(one)
        if not -ndim <= one < ndim:
            raise IndexError(f"axis {one} is out of bounds for an array of {ndim} axes")
        if one % ndim in found:
            raise ValueError("duplicate value in 'axis'")
        found.add(one % ndim)
    return sorted(found)
