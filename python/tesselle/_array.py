"""Dense arrays with numpy's indexing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ._errors import InvalidCall
from ._indexing import Axes, Index, Span, axes, boxes, has_ellipsis, length, resolve, window

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
"""Bytes that a median or quantile over some axes takes at a time, unless a single result needs more."""


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

        return numpy.dtype(self._native.time or self._stored)

    @property
    def _stored(self) -> str:
        """The type of a stored cell, as numpy abbreviates it: times are stored as integers."""
        return _DTYPES[self._native.dtype]

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
        return self.size * int(self._stored[2:])

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
            cells = self._filled(spans, shape or (1,))
            return cells if shape else cells[0]
        mask: Any = key[0] if isinstance(key, tuple) and len(key) == 1 else key
        if getattr(mask, "ndim", 0) > 1 and mask.shape == self.shape and mask.dtype == bool:
            return self._masked(mask)
        index = resolve(key, self.shape)
        if not index.lists:
            result = self._read(index.spans)
        else:
            result = self._gather(index)
        if index.dropped:
            result = result.squeeze(index.dropped)
        # With an ellipsis the result is always an array, as numpy has it.
        return result if has_ellipsis(key) else _plain(result)

    def read(self, region: Any = None, out: Any = None) -> Any:
        """Reads a region into a new array, or straight into ``out``.

        Args:
            region: what ``array[region]`` takes; everything by default. With ``out``, integers and slices only.
            out: any writable buffer of exactly the region's size: a numpy array, a pinned tensor, shared memory. Chunks are
                decoded into it in parallel, without the interpreter lock; cells that do not lie in one piece, such as
                those of a transposed array, are read in bands and copied.

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
        memory = _memory(out)
        view = memoryview(_countable(memory))
        self._check(view, memory, shape)
        if view.nbytes == 0 and all(map(length, index.spans)):
            raise InvalidCall("the buffer is empty, the region is not")
        if view.nbytes and view.c_contiguous:
            self._native.read_into(index.spans, view.cast("B"))
        elif view.nbytes:
            self._scatter(index, memory, shape)
        return out

    def _scatter(self, index: Index, out: Any, shape: tuple[int, ...]) -> None:
        """Reads into cells that do not lie in one piece, in bands along the first axis of the result."""
        import numpy

        cells = numpy.asarray(out)
        if cells.dtype != self.dtype or cells.shape != shape:
            raise InvalidCall(f"a buffer whose cells do not lie in one piece needs the type {self._type} and the shape {shape}")
        axis = next(at for at in range(self.ndim) if at not in index.dropped)
        start, stop, step = index.spans[axis]
        layer = max(1, -(-self.chunks[axis] // step))
        most = max(1, _SLAB * shape[0] // cells.nbytes)
        rows = max(most // layer * layer, min(most, layer))
        for at in range(0, shape[0], rows):
            band = (start + at * step, min(stop, start + (at + rows) * step), step)
            block = self._read((*index.spans[:axis], band, *index.spans[axis + 1 :]))
            cells[at : at + rows] = block.squeeze(index.dropped)

    def _check(self, view: memoryview, out: Any, shape: tuple[int, ...]) -> None:
        """Refuses buffers of another type, arrays of another shape, and those that cannot be written to."""
        is_array = hasattr(out, "shape") and hasattr(out, "dtype")
        if is_array:
            matches = out.dtype == self.dtype
        else:
            matches = view.format in ("B", "b", "c") or _kind(view) == self._stored.lstrip("<|")
        if not matches:
            found = out.dtype if is_array else f"the format {view.format!r}"
            raise InvalidCall(f"the array has cells of {self._type}, the buffer of {found}")
        if is_array and out.shape != shape:
            raise InvalidCall(f"the region has the shape {shape}, the buffer {out.shape}")
        if view.readonly:
            raise BufferError("the buffer is read-only")

    @property
    def _type(self) -> str:
        """The name of the type of a cell, as numpy has it."""
        if self._native.time is not None:
            return self._native.time
        name = self._native.dtype
        kinds = {"f": "float", "i": "int", "u": "uint"}
        return name if name == "bool" else f"{kinds[name[0]]}{name[1:]}"

    @cached_property
    def _filled(self) -> Callable[[Sequence[Span], Sequence[int]], numpy.ndarray[Any, Any]]:
        """Reads spans into a new array of a shape."""
        import numpy

        stored, dtype, read_into = numpy.dtype(self._stored), self.dtype, self._native.read_into

        def plain(spans: Sequence[Span], shape: Sequence[int]) -> numpy.ndarray[Any, Any]:
            cells: numpy.ndarray[Any, Any] = numpy.empty(shape, stored)
            read_into(spans, cells)
            return cells

        # Buffers of numpy cannot be of times.
        return plain if dtype == stored else lambda spans, shape: plain(spans, shape).view(dtype)

    def _read(self, spans: tuple[Span, ...]) -> numpy.ndarray[Any, Any]:
        shape = [length(span) for span in spans]
        out = self._filled(spans, shape or (1,))
        return out if shape else out.reshape(())

    def _masked(self, mask: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
        """Reads the cells where a mask of the whole array is true."""
        import numpy

        mask = numpy.asarray(mask)
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

    def _reduce(self, op: str, axis: Axes) -> numpy.ndarray[Any, Any]:
        import numpy

        self._expect_numbers(op)
        over = axes(axis, self.dims)
        if not over and self.ndim:
            raise InvalidCall("a reduction is over one axis at least")
        dtype, values, shape = self._native.reduce(op, [(0, extent, 1) for extent in self.shape], over)
        flat = numpy.array(values, dtype) if isinstance(values, list) else numpy.frombuffer(values, dtype)
        return flat.reshape(shape)

    def _expect_numbers(self, op: str) -> None:
        """Refuses reductions of times, except those that are times of the array."""
        if self._native.time is not None and op not in ("min", "max"):
            raise TypeError(f"{op} of cells of the type {self._native.time} is not supported; read them: array[...].{op}()")

    def _moment(self, op: str, axis: Axes) -> numpy.ndarray[Any, Any]:
        """The engine refuses the mean of no cells; numpy returns NaN."""
        import numpy

        over = axes(axis, self.dims)
        if over and not all(self._shape[each] for each in over):
            return numpy.full([extent for each, extent in enumerate(self._shape) if each not in over], numpy.nan)
        return self._reduce(op, axis)

    def _given(self, result: numpy.ndarray[Any, Any], axis: Axes, dtype: Any, out: Any, keepdims: bool) -> Any:
        """Returns a result as the keywords of numpy's reductions ask for it."""
        if dtype is not None:
            result = result.astype(dtype)
        if keepdims:
            over = axes(axis, self.dims)
            result = result.reshape([1 if at in over else extent for at, extent in enumerate(self._shape)])
        if out is not None:
            out[...] = result
            return out
        return _plain(result)

    def _extreme(self, op: str, axis: Axes) -> numpy.ndarray[Any, Any]:
        """The engine skips NaN; numpy does not."""
        import numpy

        result: numpy.ndarray[Any, Any] = self._reduce(op, axis).astype(self.dtype)
        if self.dtype.kind in "mM":
            # What is no time is stored as the smallest number.
            lowest = result if op == "min" else self._reduce("min", axis).astype(self.dtype)
            result = numpy.where(numpy.isnat(lowest), lowest, result)
        if self.dtype.kind == "f":
            result = numpy.where(self._reduce("nan_count", axis) > 0, self.dtype.type("nan"), result)
        return result

    def sum(self, axis: Axes = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns the sum over some axes: exact for integers, in double precision for floats."""
        return self._given(self._reduce("sum", axis), axis, dtype, out, keepdims)

    def mean(self, axis: Axes = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns the mean over some axes, in double precision; NaN of no cells, as numpy does."""
        return self._given(self._moment("mean", axis), axis, dtype, out, keepdims)

    def min(self, axis: Axes = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns the minimum over some axes; NaN where there is one, as numpy does."""
        return self._given(self._extreme("min", axis), axis, None, out, keepdims)

    def max(self, axis: Axes = None, out: Any = None, keepdims: bool = False) -> Any:
        """Returns the maximum over some axes; NaN where there is one, as numpy does."""
        return self._given(self._extreme("max", axis), axis, None, out, keepdims)

    def std(self, axis: Axes = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
        """Returns the population standard deviation over some axes, in double precision; NaN of no cells, as numpy does."""
        if ddof:
            raise InvalidCall("std() is that of a population", hint="numpy.std(array[...], ddof=ddof) reads the array")
        return self._given(self._moment("std", axis), axis, dtype, out, keepdims)

    def var(self, axis: Axes = None, dtype: Any = None, out: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
        """Returns the population variance over some axes, in double precision; NaN of no cells, as numpy does."""
        if ddof:
            raise InvalidCall("var() is that of a population", hint="numpy.var(array[...], ddof=ddof) reads the array")
        return self._given(self._moment("var", axis), axis, dtype, out, keepdims)

    def median(self, axis: Axes = None) -> Any:
        """Returns the median over some axes as doubles, for cells of any type; NaN where a cell is NaN.

        All cells of a result are in memory at once: the array is read in bands along the kept axes, each of a few
        results; one that does not fit into the memory of :func:`configure` is refused.
        """
        return _plain(self._quantiles([0.5], axis)[0])

    def quantile(self, q: float | Sequence[float], axis: Axes = None) -> Any:
        """Returns quantiles over some axes as doubles, interpolated as numpy's default does; read as :meth:`median` is.

        Args:
            q: a number between 0 and 1, or several, each of which reads the array once; they are the first axis of the
                result.
            axis: the axes to reduce; all of them by default.
        """
        import numpy

        wanted = numpy.asarray(q, "f8")
        found = self._quantiles(wanted.reshape(-1).tolist(), axis)
        return _plain(found.reshape(wanted.shape + found.shape[1:]))

    def _quantiles(self, levels: list[float], axis: Axes) -> numpy.ndarray[Any, Any]:
        """Returns the results for each level, along a new first axis."""
        import numpy

        self._expect_numbers("quantile")
        over = axes(axis, self.dims)
        if not over and self.ndim:
            raise InvalidCall("a reduction is over one axis at least")
        kept = [extent for each, extent in enumerate(self._shape) if each not in over]
        if not self.size or not levels:
            return numpy.full([len(levels), *kept], numpy.nan)
        values, shape = self._native.quantiles(levels, [(0, extent, 1) for extent in self._shape], over, _SLAB)
        return numpy.frombuffer(values, "<f8").reshape([len(levels), *shape])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray[Any, Any]:
        import numpy

        if copy is False:
            raise ValueError("an array in a file cannot be had without a copy")
        return numpy.asarray(self[...], dtype)

    def __dlpack__(self, **options: Any) -> Any:
        if options.get("copy") is False:
            raise BufferError("an array in a file cannot be had without a copy")
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
        return f"<tesselle.Array {self.name!r} {self._type} {self.shape}, chunks {self.chunks}>"


def _plain(result: numpy.ndarray[Any, Any]) -> Any:
    """Returns the only value of a result without axes."""
    return result[()] if result.ndim == 0 else result


def _memory(out: Any) -> Any:
    """Returns the buffer of an object; tensors have one for DLPack only."""
    try:
        memoryview(_countable(out))
    except TypeError:
        if not hasattr(out, "__dlpack__"):
            raise
        import numpy

        return numpy.from_dlpack(out)
    return out


def _countable(out: Any) -> Any:
    """Returns an array of times as integers, of which buffers can be."""
    return out.view("i8") if getattr(getattr(out, "dtype", None), "kind", None) in ("m", "M") else out


def _kind(view: memoryview) -> str:
    """Returns the type of the items of a buffer as numpy abbreviates it, ``f4``; empty for another byte order."""
    code = (view.format or "B").lstrip("@=<")
    kind = "f" if code in "efd" else "b" if code == "?" else "i" if code.islower() else "u"
    return f"{kind}{view.itemsize}" if len(code) == 1 and code in "efd?bBhHiIlLqQnN" else ""


def _restore(table: Table, name: str) -> Array:
    return table.array(name)
