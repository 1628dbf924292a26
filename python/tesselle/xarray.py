"""Arrays for xarray: ``xarray.open_dataset(uri, engine="tesselle")``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy
from xarray import DataArray, Dataset, Variable
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from ._array import Array
from ._container import open as _open
from ._errors import InvalidCall
from ._table import Table

__all__ = ["TesselleBackend", "data_array", "plain", "rows_of"]


class _Lazy(BackendArray):  # type: ignore[misc, unused-ignore]
    """An array that is read when xarray wants it."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.shape = array.shape
        self.dtype = array.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        support = indexing.IndexingSupport.OUTER
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        """Reads; slices that run backwards are read forwards and turned around."""
        parts: list[Any] = []
        flipped = []
        for part, extent in zip(key, self.shape):
            if isinstance(part, slice) and part.step is not None and part.step < 0:
                positions = range(*part.indices(extent))
                part = slice(positions[-1], positions[0] + 1, -part.step) if positions else slice(0, 0)
                flipped.append(sum(not isinstance(earlier, (int, numpy.integer)) for earlier in parts))
            parts.append(part)
        found = self.array[tuple(parts)]
        return numpy.flip(found, tuple(flipped)) if flipped else found


def _variable(array: Array) -> Variable:
    data = indexing.LazilyIndexedArray(_Lazy(array))
    encoding = {"preferred_chunks": dict(zip(array.dims, array.chunks))}
    return Variable(array.dims, data, array.attrs, encoding)


def _coordinates(array: Array) -> dict[str, Any]:
    """Returns the coordinates of axes that do not count from 0."""
    axes = zip(array.dims, array.origin, array.shape)
    return {name: numpy.arange(start, start + extent) for name, start, extent in axes if start}


def data_array(array: Array) -> DataArray:
    """Returns an array of this package as xarray's."""
    return DataArray(_variable(array), coords=_coordinates(array), name=array.name)


class TesselleBackend(BackendEntrypoint):  # type: ignore[misc, unused-ignore]
    """Opens dense containers as datasets: each array is a variable, an array that bears the name of its axis a coordinate."""

    description = "tet, dense TileDB arrays, Zarr version 3 and npy files through Tesselle"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "table", "at", "between", "key", "format")

    def open_dataset(  # type: ignore[override, unused-ignore]
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        table: str | None = None,
        **options: Any,
    ) -> Dataset:
        """Opens what ``filename_or_obj`` names; nothing is read before a variable is used."""
        container = _open(filename_or_obj, **options)
        skipped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
        variables: dict[str, Variable] = {}
        for name, array in _arrays(container.table(table) if table is not None else None, container):
            if name in skipped:
                continue
            variables[name] = _variable(array)
            for axis, positions in _coordinates(array).items():
                variables.setdefault(axis, Variable((axis,), positions))
        if not variables:
            raise InvalidCall(f"there is no dense array in '{container.uri}'", hint="read it with tesselle.scan")
        named = {name for name, variable in variables.items() if variable.dims == (name,)}
        coordinates = {name: variables.pop(name) for name in named}
        return Dataset(variables, coordinates, container.metadata)

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether the name is one of this engine."""
        return str(filename_or_obj).lower().rstrip("/").endswith((".tet", ".tiledb"))


def _arrays(table: Table | None, container: Any) -> Iterable[tuple[str, Array]]:
    """Yields the arrays of a table, or of all tables, with the names of their variables."""
    for found in [table] if table is not None else container.values():
        columns = found.array_columns
        for column in columns:
            yield (found.name if found.name and len(columns) == 1 else column), found.array(column)


class Plain(NamedTuple):
    """What is written of an object of xarray."""

    data: Any
    """A DataArray, or rows for several variables."""
    name: str | None
    """The name of the only variable."""
    attrs: dict[str, Any]
    """Its attributes, as JSON has them."""
    settings: dict[str, Any]
    """What makes rows dense again."""
    lost: list[str]
    """What has no place in a file."""


def plain(data: DataArray | Dataset, format: str = "") -> Plain:
    """Returns what of an array or a dataset is written, and what is not."""
    lost = [f"the coordinates '{name}'" for name in data.coords]
    if isinstance(data, Dataset) and len(data.data_vars) == 1:
        (array,) = data.data_vars.values()
        attrs = {**data.attrs, **array.attrs}
    elif isinstance(data, Dataset):
        lost += [f"the attribute '{key}' of '{name}'" for name, inner in data.data_vars.items() for key in inner.attrs]
        rows, settings = rows_of(data, format)
        return Plain(rows, None, _json(data.attrs), settings, lost)
    else:
        array, attrs = data, data.attrs
    return Plain(array, None if array.name is None else str(array.name), _json(attrs), {}, lost)


def _json(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    """Returns attributes with numbers and lists of Python instead of numpy."""
    return {str(name): value.tolist() if hasattr(value, "tolist") else value for name, value in attrs.items()}


def rows_of(dataset: Dataset, format: str = "") -> tuple[Any, dict[str, Any]]:
    """Returns the variables of a dataset as one table of rows, and the settings that make it dense again in a format."""
    import pyarrow

    dims = {variable.dims for variable in dataset.data_vars.values()}
    if len(dims) != 1:
        raise InvalidCall("the variables of the dataset have different axes", hint="write them one by one")
    (axes,) = dims
    shape = [dataset.sizes[axis] for axis in axes]
    cells = numpy.arange(math.prod(shape))
    columns: dict[str, Any] = {str(n): p for n, p in zip(axes, numpy.unravel_index(cells, shape))}
    columns |= {str(name): variable.to_numpy().ravel() for name, variable in dataset.data_vars.items()}
    table = pyarrow.table(columns)
    # A column without nulls is an array in formats that distinguish the two.
    fields = [f.with_nullable(column.null_count > 0) for f, column in zip(table.schema, table.columns)]
    table = table.cast(pyarrow.schema(fields))
    if format == "tiledb":
        domains = {f"domain.{axis}": f"0:{extent - 1}" for axis, extent in zip(axes, shape)}
        return table, {"kind": "dense", "dims": [str(axis) for axis in axes], **domains}
    return table, {"axes": len(axes), "shape": shape}
