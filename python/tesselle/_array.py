"""Dense arrays with numpy's indexing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ._errors import InvalidCall
from ._indexing import Axes, Index, Span, axes, boxes, length, resolve, window

if TYPE_CHECKING:
    import numpy
    import xarray

    from . import _native
    from ._table import Table

_DTYPES = {
    "f16": "<f2", "f32": "<f4", "f64": "<f8", "bool": "|b1",
    "i8": "|i1", "i16": "<i2", "i32": "<i4", "i64": "<i8",
    "u8": "|u1", "u16": "<u2", "u32": "<u4", "u64": "<u8",
}  # fmt: skip


_SLAB = 64 << 20
"""Bytes that a median or quantile over some axes takes at a time."""


class Array:
    """A dense array in a file. Indexing reads only the chunks it touches."""

    def __init__(self, native: _native.Array, name: str, table: Table) -> None:
        self._native, self._name, self._table = native, name, table
        self._shape = tuple(native.shape)

    @property
    def name(self) -> str:
        """The name of the column."""
        return self._name

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each axis."""
        return self._shape

    @cached_property
    def dtype(self) -> numpy.dtype[Any]:
        """The type of a cell."""
        import numpy

        return numpy.dtype(_DTYPES[self._native.dtype])

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

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
        """The attributes of the table and its container."""
        return self._table.attrs

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        """Reads what ``key`` names: integers, slices with positive steps, an ellipsis, lists and masks.

        Several lists or masks choose outer: ``array[[0, 5], :, [1, 2]]`` has two positions on two axes. One mask of the
        shape of the array gives the cells where it is true.
        """
        plain = window(key, self._shape)
        if plain is not None:
            spans, shape = plain
            cells = self._empty(shape or (1,))
            self._native.read_into(spans, cells)
            return cells if shape else cells[0]
        if getattr(key, "ndim", 0) > 1 and key.shape == self.shape and key.dtype == bool:
            return self._masked(key)
        index = resolve(key, self.shape)
        if not index.lists:
            result = self._read(index.spans)
        else:
            result = self._gather(index)
        if index.dropped:
            result = result.squeeze(index.dropped)
        return result[()] if result.ndim == 0 else result

    def read(self, region: Any = None, out: Any = None) -> Any:
        """Reads a region into a new array, or straight into ``out``.

        Args:
            region: what ``array[region]`` takes; everything by default. With ``out``, integers and slices only.
            out: any writable, C-contiguous buffer of exactly the region's size: a numpy array, a pinned tensor, shared
                memory. Chunks are decoded into it in parallel, without the interpreter lock.

        Returns:
            ``out``, or the new array.
        """
        key = () if region is None else region
        if out is None:
            return self[key]
        index = resolve(key, self.shape)
        if index.lists:
            raise InvalidCall("lists of positions are not read into a buffer; index the array instead")
        shape = tuple(length(span) for axis, span in enumerate(index.spans) if axis not in index.dropped)
        view = memoryview(out)
        self._check(view, out, shape)
        if view.nbytes == 0 and all(map(length, index.spans)):
            raise InvalidCall("the buffer is empty, the region is not")
        if view.nbytes:
            self._native.read_into(index.spans, view.cast("B"))
        return out

    def _check(self, view: memoryview, out: Any, shape: tuple[int, ...]) -> None:
        """Refuses buffers of another type, arrays of another shape, and what does not lie in one piece."""
        import numpy

        found = out.dtype if isinstance(out, numpy.ndarray) else None
        if found is None and view.format not in ("B", "b", "c"):
            found = numpy.dtype(view.format)
        if found is not None and found != self.dtype:
            raise InvalidCall(f"the array has cells of {self.dtype}, the buffer of {found}")
        if isinstance(out, numpy.ndarray) and out.shape != shape:
            raise InvalidCall(f"the region has the shape {shape}, the buffer {out.shape}")
        if not view.c_contiguous:
            raise InvalidCall(
                "the cells of the buffer do not lie in one piece, row by row",
                hint="read into a new array and assign it: out[...] = array[region]",
            )

    @cached_property
    def _empty(self) -> Callable[[Sequence[int]], numpy.ndarray[Any, Any]]:
        """Makes arrays of a shape for cells of this type."""
        import numpy

        dtype = self.dtype
        return lambda shape: numpy.empty(shape, dtype)

    def _read(self, spans: tuple[Span, ...]) -> numpy.ndarray[Any, Any]:
        shape = [length(span) for span in spans]
        out = self._empty(shape or (1,))
        self._native.read_into(spans, out)
        return out if shape else out.reshape(())

    def _masked(self, mask: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
        """Reads the cells where a mask of the whole array is true."""
        import numpy

        found = mask.nonzero()
        if not found[0].size:
            return numpy.empty(0, self.dtype)
        spans = tuple((int(axis.min()), int(axis.max()) + 1, 1) for axis in found)
        cells: numpy.ndarray[Any, Any] = self._read(spans)[mask[tuple(slice(start, stop) for start, stop, _ in spans)]]
        return cells

    def _gather(self, index: Index) -> numpy.ndarray[Any, Any]:
        """Reads positions that lists name, box by box."""
        import numpy

        parts, inverse = boxes(index, self.chunks)
        shape = [
            len(set(index.lists[axis].tolist())) if axis in index.lists else length(span)
            for axis, span in enumerate(index.spans)
        ]
        found = numpy.empty(shape, self.dtype)
        for box in parts:
            block = self._read(box.spans)
            for axis, taken in box.taken.items():
                block = numpy.take(block, taken, axis=axis)
            found[box.place] = block
        for axis, place in inverse.items():
            if not numpy.array_equal(place, numpy.arange(shape[axis])):
                found = numpy.take(found, place, axis=axis)
        return found

    def _reduce(self, op: str, axis: Axes) -> Any:
        import numpy

        over = axes(axis, self.dims)
        if not over and self.ndim:
            raise InvalidCall("a reduction is over one axis at least")
        dtype, values, shape = self._native.reduce(op, [(0, extent, 1) for extent in self.shape], over)
        flat = numpy.array(values, dtype) if isinstance(values, list) else numpy.frombuffer(values, dtype)
        return flat.reshape(shape)

    @staticmethod
    def _plain(result: numpy.ndarray[Any, Any]) -> Any:
        return result[()] if result.ndim == 0 else result

    def _extreme(self, op: str, axis: Axes) -> Any:
        """The engine skips NaN; numpy does not."""
        import numpy

        result = self._reduce(op, axis).astype(self.dtype)
        if self.dtype.kind == "f":
            result = numpy.where(self._reduce("nan_count", axis) > 0, self.dtype.type("nan"), result)
        return self._plain(result)

    def sum(self, axis: Axes = None) -> Any:
        """Returns the sum over some axes: exact for integers, in double precision for floats."""
        return self._plain(self._reduce("sum", axis))

    def mean(self, axis: Axes = None) -> Any:
        """Returns the mean over some axes, in double precision."""
        return self._plain(self._reduce("mean", axis))

    def min(self, axis: Axes = None) -> Any:
        """Returns the minimum over some axes; NaN where there is one, as numpy does."""
        return self._extreme("min", axis)

    def max(self, axis: Axes = None) -> Any:
        """Returns the maximum over some axes; NaN where there is one, as numpy does."""
        return self._extreme("max", axis)

    def std(self, axis: Axes = None) -> Any:
        """Returns the population standard deviation over some axes, in double precision."""
        return self._plain(self._reduce("std", axis))

    def var(self, axis: Axes = None) -> Any:
        """Returns the population variance over some axes, in double precision."""
        return self._plain(self._reduce("var", axis))

    def median(self, axis: Axes = None) -> Any:
        """Returns the median over some axes, by numpy: an exact median needs all of its cells at once.

        Over some axes, the array is read in bands along the others; over all of them it is read whole.
        """
        import numpy

        return self._banded(lambda cells, over: numpy.median(cells, axis=over, overwrite_input=True), axis, 0)

    def quantile(self, q: float | Sequence[float], axis: Axes = None) -> Any:
        """Returns quantiles over some axes, by numpy; read as :meth:`median` is."""
        import numpy

        wanted = numpy.asarray(q)
        return self._banded(
            lambda cells, over: numpy.quantile(cells, wanted, axis=over, overwrite_input=True), axis, wanted.ndim
        )

    def _banded(
        self, reduction: Callable[[Any, tuple[int, ...]], Any], axis: Axes, leading: int
    ) -> Any:
        """Applies a reduction of numpy in bands along a kept axis; its results have so many axes before the kept ones."""
        import numpy

        over = tuple(axes(axis, self.dims))
        kept = [each for each in range(self.ndim) if each not in over]
        if not kept or not self.size:
            return reduction(self[...], over)
        along = max(kept, key=lambda each: self._shape[each] // self.chunks[each])
        parts = [reduction(band, over) for band in self._bands(along)]
        return numpy.concatenate(parts, axis=leading + kept.index(along))

    def _bands(self, along: int) -> Iterator[numpy.ndarray[Any, Any]]:
        """Yields the array in bands of whole chunks along an axis, each of about the same memory."""
        extent, chunk = self._shape[along], self.chunks[along]
        rows = max(1, _SLAB * extent // self.nbytes // chunk) * chunk
        for start in range(0, extent, rows):
            yield self[(slice(None),) * along + (slice(start, start + rows),)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray[Any, Any]:
        import numpy

        if copy is False:
            raise ValueError("an array in a file cannot be had without a copy")
        return numpy.asarray(self[...], dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self.__array__().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def to_xarray(self) -> xarray.DataArray:
        """Returns the array as xarray's, read on demand."""
        from .xarray import data_array

        return data_array(self)

    def to_dask(self) -> Any:
        """Returns the array as dask's, a chunk of it a chunk of the file."""
        import dask.array

        arrays: Any = dask.array
        return arrays.from_array(self, chunks=self.chunks, name=False)

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self._table, self._name)

    def _repr_html_(self) -> str:
        from ._html import array

        return array(self)

    def __repr__(self) -> str:
        return f"<tesselle.Array {self.name!r} {self.dtype} {self.shape}, chunks {self.chunks}>"


def _restore(table: Table, name: str) -> Array:
    return table.array(name)
