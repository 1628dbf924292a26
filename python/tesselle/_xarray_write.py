"""Objects of xarray as what is written: a group of arrays, one array, or rows."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy
from xarray import DataArray, Dataset, DataTree, Variable, conventions
from xarray.coding.strings import CharacterArrayCoder, EncodedStringCoder

from ._errors import InvalidCall, UnknownName
from ._options import attributes, settings
from ._write import cells
from .xarray import CHARACTERS, OF_DATASET, SCALAR, STORED_CHARACTERS, value_of


class Arrays(NamedTuple):
    """What is written of a dataset into one container."""

    members: list[dict[str, Any]]
    """The variables, as the native module takes them."""
    attrs: dict[str, Any]
    """The attributes of the dataset."""
    lost: list[str]
    """What has no place in a file."""


def arrays_of(data: DataArray | Dataset | DataTree, format: str, chunk: Any = None) -> Arrays:
    """Returns the variables of a dataset, coordinates included, encoded as xarray encodes them for netCDF and Zarr.

    Args:
        data: the dataset, an array with its coordinates, or a tree, whose groups are paths in the names of the variables.
        format: the name of the format.
        chunk: the extents of chunks by the names of axes; by default those that the data was read in.
    """
    nodes = _nodes(data)
    sizes = {dim: None for dataset in nodes.values() for dim in dataset.sizes}
    if chunk is not None and not isinstance(chunk, Mapping):
        axis = next(iter(sizes), "x")
        raise InvalidCall("the variables have different axes", hint=f"name them, as in chunk={{{axis!r}: 64}}")
    for dim in chunk or ():
        if dim not in sizes:
            known = ", ".join(map(str, sizes))
            raise UnknownName(f"chunk= names the axis {dim!r}, which does not exist", kind="not_found", hint=f"there are {known}")
    found = Arrays([], {}, [])
    for group, dataset in nodes.items():
        inner = _arrays(dataset, f"{group}/" if group else "", format, chunk)
        found.members.extend(inner.members)
        found.lost.extend(inner.lost)
        if not group and (inner.members or format != "tet"):
            found.attrs.update(inner.attrs)
        elif inner.attrs:
            found.lost.append(f"the attributes of group '{group}'" if group else "the attributes of the dataset")
        elif not dataset.variables and not any(other.startswith(f"{group}/") for other in nodes):
            found.lost.append(f"the empty group '{group}'")
    return found


def _nodes(data: DataArray | Dataset | DataTree) -> dict[str, Dataset]:
    """Returns the datasets of a tree by the paths of their groups; that of the root, or the only one, is empty."""
    if isinstance(data, DataTree):
        return {node.path.strip("/"): node.to_dataset(inherit=False) for node in data.subtree}
    return {"": data if isinstance(data, Dataset) else data.to_dataset(name="data" if data.name is None else data.name)}


def _arrays(dataset: Dataset, inside: str, format: str, chunk: Mapping[str, int] | None) -> Arrays:
    """Returns the variables of one dataset, with the path of its group before their names."""
    for name, one in dataset.variables.items():
        if not isinstance(one.dtype, numpy.dtype):
            raise TypeError(f"the variable {name!r} of {one.dtype} cannot be written; cast it to a type of numpy")
    lacking = [name for name, one in dataset.variables.items() if _lacks(one)]
    lost = [f"the missing strings of '{inside}{name}': they are stored as empty ones" for name in lacking]
    variables, attrs = conventions.encode_dataset_coordinates(dataset)
    variables, attrs = conventions.cf_encoder(variables, attrs)
    if format == "tet" and attrs and variables:
        first = next(iter(variables.values()))
        first.attrs = {**first.attrs, **{f"{OF_DATASET}{name}": value for name, value in attrs.items()}}
        attrs = {}
    members = [_member(f"{inside}{name}", variable, format, chunk) for name, variable in variables.items()]
    return Arrays(members, {str(name): _stored(value, format) for name, value in attrs.items()}, lost)


def _member(name: str, variable: Variable, format: str, chunk: Mapping[str, int] | None) -> dict[str, Any]:
    """Returns one variable as the native module takes it."""
    variable = _strings(variable)
    coders: list[Any] = [EncodedStringCoder, CharacterArrayCoder]
    for coder in (coders[0](allows_unicode=False), coders[1]()):
        variable = coder.encode(variable, name)
    data = variable.to_numpy()
    dims = [str(dim) for dim in variable.dims]
    if data.dtype == "S1":
        if CHARACTERS not in variable.attrs:
            raise TypeError(f"the bytes of {name!r} have no place in a file; decode them to strings")
        data = data.view(numpy.uint8)
    if not data.ndim:
        dims, data = [SCALAR], data.reshape(1)
    memory, dtype, shape, _ = cells(data, name)
    own = {}
    for key, value in variable.attrs.items():
        stored = _stored(_fill(key, value, data, format), format)
        if stored is not None or value is None:
            own[STORED_CHARACTERS if key == CHARACTERS else str(key)] = stored
    wanted = None
    if chunk is not None:
        wanted = [chunk.get(dim, extent) for dim, extent in zip(dims, shape)]
    elif format != "tiledb" and set(dims) <= set(variable.encoding.get("preferred_chunks", {})):
        wanted = [variable.encoding["preferred_chunks"][dim] for dim in dims]
    return {
        "name": name, "data": memory, "dtype": dtype, "shape": shape, "dims": dims,
        "attributes": attributes(own),
        "settings": settings({"extent" if format == "tiledb" else "chunk": wanted if wanted and all(shape) else None}),
    }  # fmt: skip


def _lacks(variable: Variable) -> bool:
    """Whether strings among objects are missing."""
    values = variable.to_numpy().ravel() if variable.dtype == object else ()
    missing = [value is None or value != value for value in values]
    return any(missing) and all(gone or isinstance(value, str) for gone, value in zip(missing, values))


def _strings(variable: Variable) -> Variable:
    """Returns strings among objects as an array of strings; missing ones are empty, as xarray writes them."""
    if variable.dtype != object:
        return variable
    values = variable.to_numpy()
    strings = ["" if value is None or value != value else value for value in values.ravel()]
    if not all(isinstance(text, str) for text in strings):
        return variable
    found = numpy.array(strings, dtype=str).reshape(values.shape)
    return Variable(variable.dims, found, variable.attrs, variable.encoding)


def _fill(key: Any, value: Any, data: numpy.ndarray[Any, Any], format: str) -> Any:
    """Returns an attribute as it is stored; ``None`` for a fill value that says nothing, because NaN is missing anyway."""
    if key not in ("_FillValue", "missing_value") or not isinstance(value, (float, numpy.floating)):
        return value
    if key == "_FillValue" and format == "zarr" and data.dtype.kind == "f":
        from xarray.backends.zarr import FillValueCoder

        return FillValueCoder.encode(float(value), data.dtype)
    return value if math.isfinite(value) else None


def _stored(value: Any, format: str) -> Any:
    """Returns an attribute with values of Python; a string that is empty or would be read as something else is quoted."""
    value = value.tolist() if hasattr(value, "tolist") else value
    # Tet has no empty strings, and TileDB reads them as nothing.
    if isinstance(value, str) and (value_of(value, format) != value or not value and format != "zarr"):
        return json.dumps(value)
    return value


class One(NamedTuple):
    """What is written of an object of xarray as one array or as rows."""

    data: Any
    """A DataArray, or rows for several variables."""
    name: str | None
    """The name of the only variable."""
    attrs: dict[str, Any]
    """Its attributes, as JSON has them."""
    lost: list[str]
    """What has no place in a file."""


def one_of(data: DataArray | Dataset | DataTree, arrays: bool) -> One:
    """Returns what of an array or a dataset is written into a file of one array, or of rows, and what is not."""
    if isinstance(data, DataTree):
        raise InvalidCall("the file has no groups", hint="write a tree into a tet file, a TileDB group or a Zarr group")
    single = data
    attrs = dict(data.attrs)
    if isinstance(data, Dataset) and len(data.data_vars) == 1:
        (single,) = data.data_vars.values()
        attrs |= single.attrs
    if arrays:
        if isinstance(single, Dataset):
            raise InvalidCall("the file has one array, the dataset has several", hint="write them one by one")
        lost = [f"the coordinates '{name}'" for name in data.coords]
        return One(single, None if single.name is None else str(single.name), _plain(attrs), lost)
    dataset = data if isinstance(data, Dataset) else data.to_dataset(name="value" if data.name is None else data.name)
    lost = [f"the attribute '{key}' of '{name}'" for name, inner in dataset.data_vars.items() for key in inner.attrs]
    return One(_rows(dataset), None, _plain(attrs), lost)


def _plain(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): value.tolist() if hasattr(value, "tolist") else value for name, value in attrs.items()}


def _rows(dataset: Dataset) -> Any:
    """Returns the variables of a dataset as one table: coordinates, or positions, and values."""
    import pyarrow

    axes = tuple(dataset.sizes)
    shape = [dataset.sizes[axis] for axis in axes]
    places = numpy.unravel_index(numpy.arange(math.prod(shape)), shape)
    columns: dict[str, Any] = {str(axis): place for axis, place in zip(axes, places)}
    for name, variable in dataset.variables.items():
        whole: Any = variable
        columns[str(name)] = whole.set_dims(dict(dataset.sizes)).transpose(*axes).to_numpy().ravel()
    return pyarrow.table(columns)
