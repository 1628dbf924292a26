"""Arrays for xarray: ``xarray.open_dataset(uri, engine="tesselle")``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy
from xarray import DataArray, Dataset, Variable
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.core import indexing

from ._array import Array
from ._container import open as _open

__all__ = ["TesselleBackend", "data_array"]


class _Lazy(BackendArray):
    """An array that is read when xarray wants it."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.shape = array.shape
        self.dtype = array.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        support = indexing.IndexingSupport.OUTER
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

    def _read(self, key: tuple[Any, ...]) -> Any:
        flipped, parts = [], []
        for axis, part in enumerate(key):
            if isinstance(part, slice) and part.step is not None and part.step < 0:
                positions = range(*part.indices(self.shape[axis]))
                part = slice(positions[-1], positions[0] + 1, -part.step) if positions else slice(0, 0)
                flipped.append(len([p for p in parts if not isinstance(p, int)]))
            parts.append(part)
        found = self.array[tuple(parts)]
        return numpy.flip(found, tuple(flipped)) if flipped else found


def _variable(array: Array) -> Variable:
    data = indexing.LazilyIndexedArray(_Lazy(array))
    encoding = {"preferred_chunks": dict(zip(array.dims, array.chunks))}
    return Variable(array.dims, data, encoding=encoding)


def data_array(array: Array) -> DataArray:
    """An array of this package as xarray's."""
    coords = {
        name: numpy.arange(start, start + extent)
        for name, start, extent in zip(array.dims, array.origin, array.shape)
        if start
    }
    return DataArray(_variable(array), coords=coords, name=array.name, attrs=array.attrs)


class TesselleBackend(BackendEntrypoint):
    """Opens dense containers as datasets: each array a variable."""

    description = "tet, dense TileDB arrays, Zarr version 3 and npy files through Tesselle"
    open_dataset_parameters = ("filename_or_obj", "drop_variables", "table", "at", "between", "key")

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        table: str | None = None,
        **options: Any,
    ) -> Dataset:
        container = _open(filename_or_obj, **options)
        names = [table] if table is not None else list(container)
        skipped = {drop_variables} if isinstance(drop_variables, str) else set(drop_variables or ())
        variables: dict[str, Variable] = {}
        coords: dict[str, Any] = {}
        for name in names:
            found = container.table(name)
            columns = found._native.array_columns()
            for column in columns:
                array = found.array(column)
                shown = name if name and len(columns) == 1 else column
                if shown in skipped:
                    continue
                variables[shown] = _variable(array)
                for dim, start, extent in zip(array.dims, array.origin, array.shape):
                    if start:
                        coords[dim] = numpy.arange(start, start + extent)
        metadata = container.metadata
        return Dataset(variables, coords=coords, attrs=metadata if isinstance(metadata, dict) else {})

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        name = str(filename_or_obj).lower().rstrip("/")
        return name.endswith((".tet", ".tiledb"))
