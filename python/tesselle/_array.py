"""Dense arrays with numpy's indexing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    import numpy
    import xarray

    from ._table import _Source

_DTYPES = {
    "f16": "<f2", "f32": "<f4", "f64": "<f8",
    "i8": "|i1", "i16": "<i2", "i32": "<i4", "i64": "<i8",
    "u8": "|u1", "u16": "<u2", "u32": "<u4", "u64": "<u8",
}  # fmt: skip


class Array:
    """A dense array in a file. Indexing reads only the chunks it touches."""

    def __init__(self, native: _native.Array, name: str, source: _Source) -> None:
        self._native, self._name, self._source = native, name, source

    @property
    def name(self) -> str:
        """The name of the column."""
        return self._name

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis."""
        return tuple(self._native.shape)

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """The type of a cell."""
        import numpy

        return numpy.dtype(_DTYPES[self._native.dtype])

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._native.shape)

    @property
    def size(self) -> int:
        """The number of cells."""
        cells = 1
        for extent in self.shape:
            cells *= extent
        return cells

    @property
    def nbytes(self) -> int:
        """The size in memory, in bytes."""
        return self.size * self.dtype.itemsize

    @property
    def chunks(self) -> tuple[int, ...]:
        """The extents of a chunk."""
        return tuple(self._native.chunks)

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(self._native.dims)

    @property
    def origin(self) -> tuple[int, ...]:
        """The coordinate of position 0 on each axis."""
        return tuple(self._native.origin)

    @property
    def attrs(self) -> dict[str, Any]:
        """The metadata of the container."""
        import json

        container = _native.open(self._source.uri, self._source.opening)
        metadata = json.loads(container.info()).get("metadata")
        return metadata if isinstance(metadata, dict) else {}

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def read(self, region: Any = None, out: Any = None) -> Any:
        """Reads a region into a new array, or straight into ``out``.

        Args:
            region: integers and slices with positive steps, as in ``array[region]``; everything by default.
            out: any writable, C-contiguous buffer of exactly the region's size: a numpy array, a pinned tensor,
                shared memory.
        """
        import numpy

        spans, kept = self._spans(() if region is None else region)
        lengths = [max(0, -(-(stop - start) // step)) for start, stop, step in spans]
        if out is None:
            out = numpy.empty(lengths, self.dtype)
            self._fill(spans, out)
            return out.reshape([n for n, keep in zip(lengths, kept) if keep])
        self._fill(spans, out)
        return out

    def _fill(self, spans: list[tuple[int, int, int]], out: Any) -> None:
        view = memoryview(out)
        if view.nbytes == 0:
            return
        self._native.read_into(spans, view.cast("B") if view.ndim else view.cast("B", (view.nbytes,)))

    def _spans(self, key: Any) -> tuple[list[tuple[int, int, int]], list[bool]]:
        """The span of each axis, and whether the axis stays; integers and slices only."""
        import operator

        spans, kept = [], []
        for axis, part in enumerate(self._parts(key)):
            extent = self.shape[axis]
            if isinstance(part, slice):
                start, stop, step = part.indices(extent)
                if step < 1:
                    raise IndexError("steps must be positive")
                spans.append((start, max(start, stop), step))
                kept.append(True)
            else:
                at = operator.index(part)
                if not -extent <= at < extent:
                    raise IndexError(f"index {at} is out of bounds for axis {axis} with size {extent}")
                at %= extent
                spans.append((at, at + 1, 1))
                kept.append(False)
        return spans, kept

    def _parts(self, key: Any) -> list[Any]:
        """One index per axis: the ellipsis and missing axes become whole slices."""
        parts = list(key) if isinstance(key, tuple) else [key]
        if any(part is None for part in parts):
            raise IndexError("numpy.newaxis is not supported; reshape the result instead")
        dots = [at for at, part in enumerate(parts) if part is Ellipsis]
        if len(dots) > 1:
            raise IndexError("an index can have only one ellipsis ('...')")
        missing = self.ndim - (len(parts) - len(dots))
        if missing < 0:
            raise IndexError(f"too many indices: the array has {self.ndim} axes")
        at = dots[0] if dots else len(parts)
        return parts[:at] + [slice(None)] * missing + parts[at + len(dots) :]

    def __getitem__(self, key: Any) -> Any:
        """Integers, slices with positive steps, an ellipsis, and integer arrays or masks, which select outer."""
        import numpy

        parts = self._parts(key)
        lists: dict[int, Any] = {}
        for axis, part in enumerate(parts):
            if isinstance(part, slice) or numpy.ndim(part) == 0 and not isinstance(part, (bool, numpy.bool_)):
                continue
            lists[axis] = self._positions(axis, part)
        if not lists:
            result = self.read(tuple(parts))
            return result[()] if result.ndim == 0 else result
        return self._outer(parts, lists)

    def _positions(self, axis: int, part: Any) -> Any:
        import numpy

        positions = numpy.asarray(part)
        extent = self.shape[axis]
        if positions.ndim != 1:
            raise IndexError("an index array must have one axis")
        if positions.dtype == bool:
            if len(positions) != extent:
                raise IndexError(f"a mask of {len(positions)} does not fit axis {axis} with size {extent}")
            return numpy.flatnonzero(positions)
        if positions.size == 0:
            return positions.astype(numpy.int64)
        if positions.dtype.kind not in "iu":
            raise IndexError("an index array must hold integers or booleans")
        positions = positions.astype(numpy.int64)
        if (positions < -extent).any() or (positions >= extent).any():
            raise IndexError(f"an index is out of bounds for axis {axis} with size {extent}")
        return positions % extent

    def _outer(self, parts: list[Any], lists: dict[int, Any]) -> Any:
        """Reads the box around the listed positions, chunk by chunk on the first listed axis, and gathers."""
        import numpy

        axis = min(lists)
        positions = lists[axis]
        wanted, place = numpy.unique(positions, return_inverse=True)
        # Positions far apart are read run by run, so that nothing between them is decoded.
        gap = max(1, self.chunks[axis])
        breaks = numpy.flatnonzero(numpy.diff(wanted) > gap) + 1
        found = []
        for run in numpy.split(wanted, breaks) if wanted.size else []:
            box = list(parts)
            box[axis] = slice(int(run[0]), int(run[-1]) + 1)
            others = {a: p for a, p in lists.items() if a != axis}
            block = self._keep(box, others)
            found.append(numpy.take(block, run - run[0], axis=axis))
        if found:
            gathered = numpy.concatenate(found, axis=axis)
        else:
            box = list(parts)
            box[axis] = slice(0, 0)
            gathered = self._keep(box, {a: p for a, p in lists.items() if a != axis})
        gathered = numpy.take(gathered, place, axis=axis)
        dropped = tuple(a for a, p in enumerate(parts) if a not in lists and not isinstance(p, slice))
        return gathered.squeeze(dropped) if dropped else gathered

    def _keep(self, parts: list[Any], lists: dict[int, Any]) -> Any:
        """Like ``self[parts]``, with integers as axes of one cell."""
        import operator

        whole = []
        for axis, part in enumerate(parts):
            if isinstance(part, slice) or axis in lists:
                whole.append(part)
            else:
                at = operator.index(part)
                if not -self.shape[axis] <= at < self.shape[axis]:
                    raise IndexError(f"index {at} is out of bounds for axis {axis}")
                at %= self.shape[axis]
                whole.append(slice(at, at + 1))
        return self._outer(whole, lists) if lists else self.read(tuple(whole))

    def _reduce(self, op: str, axis: int | Sequence[int] | None) -> Any:
        import numpy

        axes = range(self.ndim) if axis is None else [axis] if isinstance(axis, int) else list(axis)
        places = sorted({a + self.ndim if a < 0 else a for a in axes})
        if any(not 0 <= a < self.ndim for a in places):
            raise IndexError(f"axis {axis} is out of bounds for an array of {self.ndim} axes")
        spans = [(0, extent, 1) for extent in self.shape]
        values, shape = self._native.reduce(op, spans, places)
        result = numpy.array(values).reshape(shape)
        return result[()] if result.ndim == 0 else result

    def sum(self, axis: int | Sequence[int] | None = None) -> Any:
        """The sum over some axes, exact for integers."""
        return self._reduce("sum", axis)

    def mean(self, axis: int | Sequence[int] | None = None) -> Any:
        """The mean over some axes."""
        return self._reduce("mean", axis)

    def min(self, axis: int | Sequence[int] | None = None) -> Any:
        """The minimum over some axes."""
        return self._reduce("min", axis)

    def max(self, axis: int | Sequence[int] | None = None) -> Any:
        """The maximum over some axes."""
        return self._reduce("max", axis)

    def std(self, axis: int | Sequence[int] | None = None) -> Any:
        """The population standard deviation over some axes."""
        return self._reduce("std", axis)

    def var(self, axis: int | Sequence[int] | None = None) -> Any:
        """The population variance over some axes."""
        return self._reduce("var", axis)

    def median(self, axis: int | Sequence[int] | None = None) -> Any:
        """The median over some axes, computed by numpy on the whole array."""
        import numpy

        return numpy.median(self.read(), axis=axis)

    def quantile(self, q: float | Sequence[float], axis: int | Sequence[int] | None = None) -> Any:
        """Quantiles over some axes, computed by numpy on the whole array."""
        import numpy

        return numpy.quantile(self.read(), q, axis=axis)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ValueError("an array in a file cannot be had without a copy")
        array = self.read()
        return array if dtype is None else array.astype(dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self.read().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def to_xarray(self) -> xarray.DataArray:
        """The array as xarray's, read on demand."""
        from .xarray import data_array

        return data_array(self)

    def __reduce__(self) -> tuple[object, ...]:
        return _reopen, (self._source, self._name)

    def _repr_html_(self) -> str:
        from ._html import array

        return array(self)

    def __repr__(self) -> str:
        return f"<tesselle.Array {self.name!r} {self.dtype} {self.shape}, chunks {self.chunks}>"


def _reopen(source: _Source, name: str) -> Array:
    native = source.table().array(name)
    if native is None:
        raise TypeError(f"column {name!r} is no longer an array")
    return Array(native, name, source)
