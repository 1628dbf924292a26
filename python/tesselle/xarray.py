"""Arrays for xarray: ``xarray.open_dataset(uri, engine="tesselle")``, and ``xarray.open_datatree`` for hierarchies."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any, ClassVar

import numpy
from xarray import DataArray, Dataset, DataTree, Variable
from xarray.backends import AbstractDataStore, BackendArray, BackendEntrypoint, StoreBackendEntrypoint
from xarray.core import indexing

from ._array import Array
from ._container import Container
from ._container import open as _open
from ._errors import Error, InvalidCall, UnknownName
from ._table import Table

__all__ = ["TesselleBackend", "data_array"]

SCALAR = "()"
"""The axis of one position that stands for none, in formats whose arrays have an axis at least."""
OF_DATASET = "dataset:"
"""What the attributes of a dataset start with where only its variables have attributes."""
CHARACTERS = "_Encoding"
"""The attribute of variables whose cells are the bytes of strings, as xarray names it."""
STORED_CHARACTERS = "character_encoding"
"""Its name in files: xarray, where it reads them itself, would decode the numbers that the bytes are stored as."""


class _Lazy(BackendArray):  # type: ignore[misc, unused-ignore]
    """An array that is read when xarray wants it."""

    def __init__(self, array: Array, shape: tuple[int, ...], dtype: numpy.dtype[Any]) -> None:
        self.array, self.shape, self.dtype = array, shape, dtype
        self._is_text = dtype == "S1"

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
        # A scalar has an axis here that xarray does not see.
        parts += [0] * (self.array.ndim - len(self.shape))
        found = numpy.asarray(self.array[tuple(parts)])
        found = numpy.flip(found, tuple(flipped)) if flipped else found
        return found.view(self.dtype) if self._is_text else found.astype(self.dtype, copy=False)


def _dtype(dtype: numpy.dtype[Any]) -> numpy.dtype[Any]:
    """Returns the type that xarray has for cells: its times are not coarser than seconds."""
    return numpy.dtype(f"{dtype.kind}8[s]") if dtype.kind in "mM" and numpy.datetime_data(dtype)[0] == "D" else dtype


def _variable(array: Array, attrs: Mapping[str, Any], dims: tuple[str, ...] | None = None) -> Variable:
    """Returns an array as a variable that is read on demand."""
    dims = array.dims if dims is None else dims
    rank = 0 if dims == (SCALAR,) else array.ndim
    is_text = CHARACTERS in attrs and array.dtype == numpy.uint8
    dtype = numpy.dtype("S1") if is_text else _dtype(array.dtype)
    data = indexing.LazilyIndexedArray(_Lazy(array, array.shape[:rank], dtype))
    chunks = tuple(min(chunk, max(extent, 1)) for chunk, extent in zip(array.chunks, array.shape))
    encoding = {"preferred_chunks": dict(zip(dims[:rank], chunks)), "chunks": chunks[:rank]}
    return Variable(dims[:rank], data, dict(attrs), encoding)


def _positions(array: Array, times: Mapping[str, str]) -> dict[str, Any]:
    """Returns the coordinates of axes that count times, or not from 0."""
    found: dict[str, Any] = {}
    for name, start, extent in zip(array.dims, array.origin, array.shape):
        if name in times:
            found[name] = numpy.arange(start, start + extent).astype(times[name])
        elif start:
            found[name] = numpy.arange(start, start + extent)
    return found


def _labels(table: Table, array: Array) -> Iterator[tuple[str, Variable]]:
    """Yields the labels of a TileDB array that name every position of their axis."""
    for name, column, native, position, value in table._native.labels():
        if column not in array.dims:
            continue
        axis = array.dims.index(column)
        rows = Table(native).scan([position, value]).to_numpy()
        at = rows[position].astype("int64") - array.origin[axis]
        values = rows[value]
        if len(at) != array.shape[axis] or set(at.tolist()) != set(range(len(at))):
            continue
        yield name, Variable((column,), values[numpy.argsort(at)])


def data_array(array: Array) -> DataArray:
    """Returns an array of this package as xarray's, with the coordinates of its axes."""
    coordinates = _positions(array, dict(array._table._native.times()))
    return DataArray(_variable(array, array.attrs), coords=coordinates, name=array.name)


class _Store(AbstractDataStore):  # type: ignore[misc, unused-ignore]
    """The dense arrays of a container as variables; xarray decodes what their attributes say."""

    __slots__ = ("_attrs", "_container", "_variables", "coordinates")

    def __init__(self, container: Container, tables: Mapping[str, Table], group: str) -> None:
        self._container = container
        self._variables: dict[str, Variable] = {}
        self.coordinates: set[str] = set()
        # What a container says is not about one of its groups; tet files have it with each of their datasets.
        stored = container.groups.get(group, {}) if group else {} if container.format == "tet" else container.metadata
        self._attrs = {name: value_of(value, container.format) for name, value in stored.items()}
        axes: dict[str, tuple[int, Any]] = {}
        for name, table, array in _arrays(tables):
            self._add(name, table, array, axes)
        for table in tables.values():
            arrays = table.array_columns
            others = set(table.columns).difference(arrays, table.array(arrays[0]).dims) if arrays else ()
            if others:
                warnings.warn(
                    f"columns of '{container.uri}' that are no plain numbers are not among the variables, but tesselle.scan reads "
                    f"them: {', '.join(sorted(others))}",
                    stacklevel=4,
                )

    def _add(self, name: str, table: Table, array: Array, axes: dict[str, tuple[int, Any]]) -> None:
        """Adds an array as a variable. Axes of one name are one axis if they have one length and the same coordinates."""
        own = _positions(array, dict(table._native.times())) | self._tet_labels(table)
        dims = []
        for dim, size in zip(array.dims, array.shape):
            values = own.get(dim, ())
            is_own = len(values) == size
            axis = (size, values.tolist() if is_own and size else None)
            dims.append(dim if axes.setdefault(dim, axis) == axis else f"{name}_{dim}")
            if axis[1] is not None:
                self._variables.setdefault(dims[-1], Variable((dims[-1],), values))
        self._variables[name] = _variable(array, self._own(table, array), tuple(dims))
        renamed = dict(zip(array.dims, dims))
        for label, variable in _labels(table, array):
            self._coordinate(label, Variable([renamed[str(dim)] for dim in variable.dims], variable.data))

    def _tet_labels(self, table: Table) -> dict[str, Any]:
        """Returns the labels that a tet file has for the axes of a dataset."""
        if self._container.format != "tet":
            return {}
        about = self._container.metadata.get("datasets", {}).get(table.name, {})
        return {axis: numpy.array(label["labels"]) for axis, label in (about.get("coords") or {}).items()}

    def _coordinate(self, name: str, variable: Variable) -> None:
        if name not in self._variables:
            self._variables[name] = variable
            self.coordinates.add(name)

    def _own(self, table: Table, array: Array) -> dict[str, Any]:
        """Returns the attributes of a variable, typed as xarray writes them; those of the dataset are kept apart."""
        is_tet = self._container.format == "tet"
        stored = json.loads(table._native.attributes(own=True))
        attrs = {name: value_of(value, self._container.format) for name, value in stored.items()}
        for name in [name for name in attrs if is_tet and name.startswith(OF_DATASET)]:
            self._attrs[name.removeprefix(OF_DATASET)] = attrs.pop(name)
        if isinstance(attrs.get("_FillValue"), str) and array.dtype.kind == "f":
            # How xarray writes the floats of Zarr.
            from xarray.backends.zarr import FillValueCoder

            attrs["_FillValue"] = FillValueCoder.decode(attrs["_FillValue"], array.dtype.str)
        if STORED_CHARACTERS in attrs and array.dtype == numpy.uint8:
            attrs[CHARACTERS] = attrs.pop(STORED_CHARACTERS)
        return attrs

    def get_variables(self) -> dict[str, Variable]:
        return self._variables

    def get_attrs(self) -> dict[str, Any]:
        return self._attrs

    def get_dimensions(self) -> dict[str, int]:
        sizes = (variable.sizes.items() for variable in self._variables.values())
        return {str(dim): size for found in sizes for dim, size in found}

    def get_encoding(self) -> dict[str, Any]:
        return {"source": self._container.uri}


def value_of(stored: Any, format: str) -> Any:
    """Returns an attribute of a format that keeps some values as JSON: tet all but strings, TileDB lists and the like."""
    is_text = isinstance(stored, str) and format in ("tet", "tiledb")
    if not is_text or format == "tiledb" and stored[:1] not in ("[", "{", '"') and stored not in ("true", "false", "null"):
        return stored
    try:
        return json.loads(stored)
    except ValueError:
        return stored


def _arrays(tables: Mapping[str, Table]) -> Iterator[tuple[str, Table, Array]]:
    """Yields the arrays of tables with the names of their variables."""
    taken = set()
    for key, table in tables.items():
        columns = table.array_columns
        for column in columns:
            name = key if key and len(columns) == 1 else column
            name = f"{key}/{column}" if name in taken else name
            taken.add(name)
            yield name, table, table.array(column)


def _groups(container: Container) -> list[str]:
    """Returns the paths of all groups below the outermost, parents first."""
    paths = [*container.groups, *(key.rpartition("/")[0] for key in container)]
    return sorted({name for path in paths for name in accumulate(path.split("/"), "{}/{}".format)} - {""})


def _known(container: Container, group: str | None) -> str:
    """Returns the path of a group; that of the outermost is empty.

    Raises:
        UnknownName: there is no such group.
    """
    path = (group or "").strip("/")
    if path and path not in (groups := _groups(container)):
        known = f"there are {', '.join(groups)}" if groups else "it has no groups"
        raise UnknownName(f"group {group!r} does not exist", kind="not_found", file=container.uri, hint=known)
    return path


def _inside(container: Container, group: str, *, nested: bool = True) -> dict[str, Table]:
    """Returns the tables of a group by their names in it, perhaps without those of groups inside it."""
    inside = f"{group}/" if group else ""
    found, refused = {}, []
    for name in (key for key in container if key.startswith(inside)):
        own = name.removeprefix(inside)
        if not nested and "/" in own:
            continue
        try:
            found[own] = container[name]
        except Error as error:
            if error.kind != "unsupported":
                raise
            refused.append(f"{own}: {error.message}")
    if refused:
        warnings.warn(f"arrays of '{container.uri}' that cannot be read are not among the variables: {'; '.join(refused)}", stacklevel=4)
    return found


_DECODERS = (
    "mask_and_scale", "decode_times", "concat_characters", "decode_coords", "use_cftime", "decode_timedelta",
)  # fmt: skip


def _decoded(found: _Store, drop_variables: str | Iterable[str] | None, decoders: Mapping[str, Any]) -> Dataset:
    """Returns the variables of a store as a dataset, decoded as xarray does."""
    data = StoreBackendEntrypoint().open_dataset(found, drop_variables=drop_variables, **decoders)
    return data.set_coords(found.coordinates & set(data.data_vars))


class TesselleBackend(BackendEntrypoint):  # type: ignore[misc, unused-ignore]
    """Opens dense containers as datasets: each array is a variable, an array that has the name of its axis a coordinate."""

    description: ClassVar[str] = "tet, dense TileDB arrays and groups, Zarr version 3 and npy files through Tesselle"
    supports_groups: ClassVar[bool] = True
    open_dataset_parameters: ClassVar[tuple[str, ...] | None] = (
        "filename_or_obj", *_DECODERS, "drop_variables", "table", "group", "store", "storage_options", "at", "between",
        "key", "format",
    )  # fmt: skip

    def open_dataset(  # type: ignore[override, unused-ignore]
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        table: str | None = None,
        group: str | None = None,
        **options: Any,
    ) -> Dataset:
        """Opens what ``filename_or_obj`` names; cells are read when a variable is used.

        Args:
            filename_or_obj: what :func:`tesselle.open` takes.
            drop_variables: variables to skip.
            table: only the arrays of this table.
            group: only the arrays of this group of a hierarchy.
            **options: how xarray decodes (``decode_times`` and so on), and the keywords of :func:`tesselle.open`.
        """
        decoders = {name: options.pop(name) for name in _DECODERS if name in options}
        container = _open(filename_or_obj, **options)
        path = _known(container, group)
        tables = _inside(container, path) if table is None else {table: container.table(table)}
        found = _Store(container, tables, path)
        if not found.get_variables():
            raise InvalidCall(f"there is no dense array in '{container.uri}'", hint="read it with tesselle.scan")
        return _decoded(found, drop_variables, decoders)

    def open_groups_as_dict(  # type: ignore[override, unused-ignore]
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        group: str | None = None,
        **options: Any,
    ) -> dict[str, Dataset]:
        """Opens every group of a hierarchy as a dataset of the arrays directly in it, by path.

        Args:
            filename_or_obj: what :func:`tesselle.open` takes.
            drop_variables: variables to skip, in every group.
            group: only this group and those in it; paths are relative to it.
            **options: as for :meth:`open_dataset`.
        """
        decoders = {name: options.pop(name) for name in _DECODERS if name in options}
        container = _open(filename_or_obj, **options)
        outer = _known(container, group)
        inside = f"{outer}/" if outer else ""
        found = {}
        for path in [outer, *(path for path in _groups(container) if path.startswith(inside))]:
            tables = _inside(container, path, nested=False)
            data = _decoded(_Store(container, tables, path), drop_variables, decoders)
            found["/" + path.removeprefix(inside) if path != outer else "/"] = data
        return found

    def open_datatree(  # type: ignore[override, unused-ignore]
        self, filename_or_obj: Any, *, drop_variables: str | Iterable[str] | None = None, **options: Any
    ) -> DataTree:
        """Opens a hierarchy as a tree; the arguments are those of :meth:`open_groups_as_dict`."""
        return DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, drop_variables=drop_variables, **options))

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether the name is one of this engine."""
        return str(filename_or_obj).lower().rstrip("/").endswith((".tet", ".tiledb"))
