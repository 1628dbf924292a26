"""Writing and converting."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _native
from ._options import Uri, opening, path, settings, types

_NAMES = {
    "f2": "f16", "f4": "f32", "f8": "f64",
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
    metadata: Mapping[str, str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Writes data to a new file; the file appears whole or not at all.

    Args:
        data: anything with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pyarrow, polars, pandas, duckdb, …), a
            numpy array, an xarray ``DataArray`` or a ``Dataset`` with one variable.
        uri: where to write; its ending chooses the format.
        format: the format, where the ending does not say it.
        overwrite: replace what is there.
        table: the name of the table, where the format has names.
        metadata: attributes to store, where the format has a place for them.
        **options: settings of the format, e.g. ``codec="zstd", chunk=(64, 64)`` or ``dims=["y", "x"]``.

    Returns:
        The report: format, rows, bytes, changed types, and what was not kept.
    """
    target = {
        "uri": path(uri), "format": format, "table": table, "overwrite": overwrite,
        "settings": settings(options),
        "metadata": [(name, str(value)) for name, value in (metadata or {}).items()],
    }  # fmt: skip
    dims = None
    if hasattr(data, "to_dataarray") and hasattr(data, "data_vars"):
        variables = list(data.data_vars)
        if len(variables) != 1:
            raise TypeError(f"a Dataset of {len(variables)} variables cannot be written as one array; pick one")
        data = data[variables[0]]
    if hasattr(data, "dims") and hasattr(data, "to_numpy"):
        dims = [str(name) for name in data.dims]
        target["table"] = target["table"] or (None if data.name is None else str(data.name))
        data = data.to_numpy()
    if hasattr(data, "__array_interface__") and not hasattr(data, "__arrow_c_stream__"):
        return _array(data, dims, target)
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        data = _stream(data)
    return json.loads(_native.write_rows(data, target))  # type: ignore[no-any-return]


def _array(data: Any, dims: list[str] | None, target: dict[str, Any]) -> dict[str, Any]:
    import numpy

    array = numpy.asarray(data)
    kind = f"{array.dtype.kind}{array.dtype.itemsize}"
    if kind not in _NAMES:
        raise TypeError(f"an array of {array.dtype} cannot be written; cast it to a number type")
    array = numpy.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    view = memoryview(array.reshape(-1)).cast("B") if array.size else memoryview(b"")
    report = _native.write_array(view, _NAMES[kind], list(numpy.shape(data)), dims, target)
    return json.loads(report)  # type: ignore[no-any-return]


def _stream(data: Any) -> Any:
    """Old data frames and iterables of batches, by pyarrow."""
    import pyarrow

    if hasattr(data, "columns") and hasattr(data, "dtypes"):
        return pyarrow.Table.from_pandas(data, preserve_index=False)
    if isinstance(data, Mapping):
        return pyarrow.table(dict(data))
    return pyarrow.Table.from_batches(list(data))


def convert(
    src: Uri,
    dst: Uri,
    *,
    format: str | None = None,
    overwrite: bool = False,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    limit: int | None = None,
    table: str | None = None,
    into: str | None = None,
    cast: Mapping[str, str] | str | None = None,
    types_: Mapping[str, str] | str | None = None,
    progress: bool | Callable[[int, int], object] | Any = None,
    source: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Converts a file into another format, or rewrites it with other settings.

    Args:
        src: what to read, perhaps with ``#table``.
        dst: what to write; its ending chooses the format.
        format: the format to write, where the ending does not say it.
        overwrite: replace what is there.
        columns: only these columns, in this order.
        where: only rows where this SQL condition holds.
        limit: at most this many rows.
        table: the table to read.
        into: the name of the table to write.
        cast: other types for some columns, ``{"time": "timestamp_ms"}``.
        types_: the types of columns of CSV and JSON lines; inferred by default.
        progress: ``True`` for a bar, a function of (bytes done, bytes in all), or an object with ``update`` and
            ``total`` such as a tqdm bar.
        source: how to open the source: the keywords of :func:`open`.
        **options: settings of the format to write.
    """
    request = {
        "to": format, "table": table, "into": into,
        "columns": None if columns is None else list(columns),
        "where": where, "limit": limit, "cast": types(cast), "types": types(types_),
        "overwrite": overwrite, "settings": settings(options),
    }  # fmt: skip
    reporter, close = _reporter(progress)
    try:
        report = _native.convert(path(src), path(dst), opening(**(source or {})), request, reporter)
    finally:
        close()
    return json.loads(report)  # type: ignore[no-any-return]


def _reporter(progress: Any) -> tuple[Callable[[int, int], object] | None, Callable[[], object]]:
    """A function of (done, total), and what ends it."""
    if progress is None or progress is False:
        return None, lambda: None
    if progress is True:
        from ._progress import Bar

        bar = Bar()
        return bar.report, bar.close
    if hasattr(progress, "update") and hasattr(progress, "total"):

        def update(done: int, total: int) -> None:
            progress.total = total
            progress.update(done - progress.n)

        return update, lambda: None
    return progress, lambda: None
