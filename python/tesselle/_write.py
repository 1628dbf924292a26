"""Writing, appending and converting."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import _native
from ._container import Container
from ._errors import DataError, Error, InvalidCall
from ._options import Uri, attributes, names, opening, path, settings, types
from ._partners import pyarrow_for
from ._progress import Progress, reporter

_NAMES = {
    "f2": "f16", "f4": "f32", "f8": "f64", "b1": "u8",
    "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64",
    "u1": "u8", "u2": "u16", "u4": "u32", "u8": "u64",
}  # fmt: skip


def write(
    data: Any,
    uri: Uri,
    *,
    format: str | None = None,
    overwrite: bool = False,
    table: str | None = None,
    columns: Sequence[str] | str | None = None,
    metadata: Mapping[str, object] | None = None,
    cast: Mapping[str, str] | str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Writes data to a new file; the file appears whole or not at all.

    Args:
        data: anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pyarrow, polars, pandas, duckdb, …), a
            series, a lazy frame of polars, a frame of dask, a pyarrow dataset, a dictionary of columns, a list of rows, a
            numpy array, an xarray ``DataArray``, ``Dataset`` or ``DataTree``; or an iterator of tables, frames or batches, each of which
            is taken when it is written.
        uri: where to write; its ending determines the format.
        format: the format, where the ending does not name it.
        overwrite: replace what is there.
        table: the name of the table, where the format has names.
        columns: only these columns, in this order.
        metadata: attributes to store, where the format has a place for them.
        cast: other types for some columns, ``{"time": "timestamp_ms"}``; ``"auto"`` for those that the format suggests.
        **options: settings of the format, e.g. ``codec="zstd", chunk=(64, 64)``; ``dims=["y", "x"]`` names the axes of an
            array, or the columns that are dimensions.

    Returns:
        The report: format, rows, bytes, changed types, and what was not kept.
    """
    lost: list[str] = []
    members: list[dict[str, Any]] | None = None
    if _is_labeled(data):
        from ._xarray_write import arrays_of, one_of

        name, takes_array, takes_several = _native.target_format(path(uri), format)
        if takes_several and (hasattr(data, "data_vars") or len(data.coords)):
            members, attrs, lost = arrays_of(data, name, options.pop("chunk", None))
        else:
            data, own_name, attrs, lost = one_of(data, takes_array)
            table = table or own_name
        metadata = attrs | dict(metadata or {})
    axes = _axis_names(options) if _is_array(data) and not _is_labeled(data) else None
    target: dict[str, Any] = {
        "uri": path(uri), "format": format, "table": table, "overwrite": overwrite, "columns": names(columns),
        "cast": types(cast), "settings": settings(options), "metadata": attributes(metadata),
    }  # fmt: skip
    if columns is not None and (members is not None or _is_array(data)):
        raise _no_columns()
    if members is not None:
        done = _native.write_arrays(members, target)
    elif _is_array(data):
        name, takes_array, _ = _native.target_format(path(uri), format)
        if not takes_array:
            raise InvalidCall(f"{name} files cannot be written from an array", hint="write a table")
        if _is_bool(data):
            if name == "npy":
                target["settings"].append(("bool", "true"))
            else:
                lost.append("truth values: the cells are stored as the numbers 0 and 1 of the type uint8")
        if getattr(data, "ndim", None) == 0:
            lost.append("the shape (): the cell is stored as an array of one")
        if _is_masked(data):
            lost.append("the mask: masked cells are stored with the values below it")
        memory, dtype, shape, own = cells(data)
        axes = axes or own
        if axes and name == "npy":
            lost.append(f"the names of the axes: {', '.join(axes)}")
        done = _native.write_array(memory, dtype, shape, axes, target)
    else:
        done = _native.write_rows(arrow_of(data), target)
    report: dict[str, Any] = json.loads(done)
    report["metadata"]["lost"] += lost
    return report


def append(
    data: Any,
    uri: Uri,
    *,
    axis: str | int | None = None,
    columns: Sequence[str] | str | None = None,
    key: bytes | str | None = None,
    cast: Mapping[str, str] | str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Adds rows to a table, or cells to a dense array along an axis. Readers see the old state or the new one.

    Args:
        data: what :func:`write` takes.
        uri: the file to extend, perhaps with ``#table``.
        axis: the axis that a dense array grows along, by name or number, negative from the last; the first by default.
        columns: only these columns.
        key: the key of an encrypted array.
        cast: other types for some columns, ``{"time": "timestamp_ms"}``.
        **options: settings of the format.

    Returns:
        The report: format, rows and bytes that were added.
    """
    if isinstance(axis, int) and axis < 0 and -axis <= getattr(data, "ndim", 0):
        axis += data.ndim
    target = {
        "uri": path(uri), "axis": None if axis is None else str(axis), "columns": names(columns), "cast": types(cast),
        "settings": settings(options), "opening": opening(key=key),
    }  # fmt: skip
    if columns is not None and _is_array(data):
        raise _no_columns()
    try:
        if _is_array(data):
            done = _native.append_array(*cells(data), target)
        else:
            done = _native.append_rows(arrow_of(data), target)
    except DataError as error:
        raise _refused(error) from None
    report: dict[str, Any] = json.loads(done)
    return report


def _axis_names(options: dict[str, Any]) -> list[str] | None:
    """Takes the names of the axes of an array out of the settings: ``dims``, or ``axes`` as some formats have it.

    Raises:
        InvalidCall: a setting is about rows that become cells.
    """
    for key in ("shape", "order", "fill"):
        if options.get(key) is not None:
            raise InvalidCall(f"{key}= says how rows become cells, and the data is an array")
    found = [names(given.split(",") if isinstance(given, str) else given) for key in ("dims", "axes") if (given := options.pop(key, None))]
    if len(found) > 1:
        raise InvalidCall("dims= and axes= are the same for an array")
    return found[0] if found else None


def _no_columns() -> InvalidCall:
    return InvalidCall("columns= chooses columns of rows, and an array has none")


def _refused(error: Error) -> Error:
    """Returns the exception for what a format cannot do: the call is wrong, not the data."""
    if error.kind != "unsupported" or error.offset is not None:
        return error
    return InvalidCall(error.message, kind=error.kind, file=error.file, piece=error.piece, hint=error.hint)


def _is_bool(data: Any) -> bool:
    """Whether the cells of an array are truth values."""
    import numpy

    return bool(numpy.asarray(data).dtype == bool)


def _is_masked(data: Any) -> bool:
    """Whether cells of an array are masked."""
    import numpy

    return bool(numpy.ma.is_masked(data))


def _speaks_arrow(data: Any) -> bool:
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def _is_labeled(data: Any) -> bool:
    """Whether it is an object of xarray."""
    return hasattr(data, "dims") and hasattr(data, "coords")


def _is_array(data: Any) -> bool:
    """Whether it is an array rather than a table."""
    if _is_labeled(data):
        return True
    return not _speaks_arrow(data) and hasattr(data, "__array__") and not hasattr(data, "columns")


def cells(data: Any, name: str = "") -> tuple[Any, str, list[int], list[str] | None]:
    """Returns the bytes, type, shape and axes of an array."""
    import numpy

    array = numpy.asarray(data)
    kind = f"{array.dtype.kind}{array.dtype.itemsize}"
    if kind not in _NAMES:
        what = f"the array {name!r}" if name else "an array"
        raise TypeError(f"{what} of {array.dtype} cannot be written; cast it to a number type")
    array = numpy.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    # What h5py calls dims are no names.
    dims = getattr(data, "dims", None)
    axes = [str(name) for name in dims] if isinstance(dims, tuple) else None
    return array.reshape(-1).view(numpy.uint8), _NAMES[kind], list(numpy.shape(data)), axes


def arrow_of(data: Any) -> Any:
    """Returns the data as something that speaks Arrow; what does not, goes through pyarrow."""
    if isinstance(data, Container):
        return data.table()
    if hasattr(data, "to_frame") and not hasattr(data, "columns"):  # a series of pandas or polars
        data = data.to_frame()
    if hasattr(data, "collect") and hasattr(data, "collect_schema"):  # a lazy frame of polars
        data = data.collect()
    if hasattr(data, "compute") and hasattr(data, "partitions"):  # a frame of dask
        data = (part.compute() for part in data.partitions)
    if _speaks_arrow(data):
        return _without_extra_buffers(data)
    if hasattr(data, "scanner"):  # a dataset of pyarrow
        return data.scanner().to_reader()
    if isinstance(data, (str, bytes)) or not (hasattr(data, "__iter__") or hasattr(data, "columns")):
        raise _not_tabular(data)
    if _is_array(data):
        raise TypeError("an array is not tabular; name its columns, as in {'value': array}")
    pyarrow = pyarrow_for(f"data that is a {type(data).__name__}")
    if hasattr(data, "columns") and hasattr(data, "dtypes"):
        return pyarrow.Table.from_pandas(data, preserve_index=False)
    if isinstance(data, Mapping):
        return pyarrow.table(dict(data))
    return _joined(iter(data), pyarrow)


def _without_extra_buffers(data: Any) -> Any:
    """Returns a frame of polars without the buffers that it has for nulls without a type, where Arrow has none."""
    types = getattr(getattr(data, "schema", None), "dtypes", None)
    kinds: Any = types() if callable(types) else ()
    if not any("Null" in str(kind) for kind in kinds):
        return data
    return pyarrow_for("a frame with a column of nulls only").table(data)


def _joined(parts: Iterator[Any], pyarrow: Any) -> Any:
    """Returns rows as a table, and tables or batches one after the other: each is taken when it is read."""
    first = next(parts, None)
    if first is None:
        raise InvalidCall("there are no rows, and nothing says which columns there are")
    if isinstance(first, Mapping):
        rows = [first, *parts]
        for row in rows:
            if not isinstance(row, Mapping):
                raise _not_tabular(row)
        # By itself pyarrow takes the columns of the first row, without what others have besides.
        columns = dict.fromkeys(name for row in rows for name in row)
        return pyarrow.table({name: [row.get(name) for row in rows] for name in columns})

    def table(part: Any) -> Any:
        return pyarrow.table(arrow_of(part))

    head = table(first)

    def batches() -> Iterator[Any]:
        yield from head.to_batches()
        for part in parts:
            found = table(part)
            # A batch of other types than those of the reader would be read as what it is not.
            yield from (found if found.schema.equals(head.schema) else _cast(found, head.schema, pyarrow)).to_batches()

    return pyarrow.RecordBatchReader.from_batches(head.schema, batches())


def _cast(found: Any, schema: Any, pyarrow: Any) -> Any:
    """Returns a table with the types of a schema. Pyarrow refuses values that do not fit, but would round floats."""
    types = pyarrow.types
    for own, wanted in zip(found.schema, schema):
        if not types.is_floating(wanted.type):
            continue
        if types.is_decimal(own.type) or types.is_floating(own.type) and own.type.bit_width > wanted.type.bit_width:
            raise InvalidCall(
                f"column {own.name!r} is {own.type} in one part and {wanted.type} in the first, which would round its values",
                hint="cast the parts to one type",
            )
    return found.cast(schema)


def _not_tabular(data: Any) -> TypeError:
    return TypeError(
        f"{type(data).__name__} is not tabular; pass a table of pyarrow, polars or pandas, "
        "anything with __arrow_c_stream__, or an array"
    )


_OF_SOURCE = {"at", "between", "raw", "text_as_binary", "full_domain", "deleted", "storage_options"}
"""Keywords of :func:`open` that no format has as a setting."""


def convert(
    src: Uri,
    dst: Uri,
    *,
    format: str | None = None,
    overwrite: bool = False,
    columns: Sequence[str] | str | None = None,
    where: str | None = None,
    cast: Mapping[str, str] | str | None = None,
    progress: Progress = None,
    limit: int | None = None,
    table: str | None = None,
    into: str | None = None,
    schema: Mapping[str, str] | str | None = None,
    metadata: Mapping[str, object] | None = None,
    source: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Converts a file into another format, or rewrites it with other settings.

    Args:
        src: what to read, perhaps with ``#table``.
        dst: what to write; its ending determines the format.
        format: the format to write, where the ending does not name it.
        overwrite: replace what is there.
        columns: only these columns, in this order.
        where: only rows where this SQL condition holds.
        cast: other types for some columns, ``{"time": "timestamp_ms"}``; ``"auto"`` for those that the format suggests.
        progress: ``True`` for a bar, ``False`` for none, by default one in notebooks; a function of (bytes done, bytes in
            all); a bar of tqdm or their class; a ``rich.progress.Progress``.
        limit: at most this many rows.
        table: the table to read.
        into: the name of the table to write.
        schema: the types of columns of CSV and JSON lines; inferred by default.
        metadata: attributes to store in addition to those of the source.
        source: how to open the source: the keywords of :func:`open`.
        **options: settings of the format to write.

    Returns:
        The report: format, rows, bytes, changed types, and what was not kept.
    """
    for name in _OF_SOURCE & options.keys():
        raise InvalidCall(f"{name}= is about the source", hint=f"say how to open it: source={{{name!r}: …}}")
    request = {
        "to": format, "table": table, "into": into, "columns": names(columns), "where": where, "limit": limit,
        "cast": types(cast), "types": types(schema), "overwrite": overwrite, "settings": settings(options),
        "metadata": attributes(metadata),
    }  # fmt: skip
    with reporter(progress) as report:
        done = _native.convert(path(src), path(dst), opening(**(source or {})), request, report)
    return json.loads(done)  # type: ignore[no-any-return]
