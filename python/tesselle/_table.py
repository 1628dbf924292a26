"""Tables and scans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import _native
from ._array import Array
from ._options import path

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Schema:
    """The columns of a table, for anything that speaks Arrow."""

    def __init__(self, table: _native.Table, columns: list[str] | None) -> None:
        self._table, self._columns = table, columns

    def __arrow_c_schema__(self) -> object:
        return self._table.schema(self._columns)

    def to_arrow(self) -> pyarrow.Schema:
        """The schema as pyarrow's."""
        import pyarrow

        return pyarrow.schema(self)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self._table.columns if self._columns is None else list(self._columns)

    def __repr__(self) -> str:
        return f"<tesselle.Schema {', '.join(self.names)}>"


class _Rows:
    """What a table and a scan have in common: their rows in other libraries' tables."""

    def _start(self) -> _native.Rows:
        raise NotImplementedError

    def to_batches(self) -> Iterator[pyarrow.RecordBatch]:
        """The rows as pyarrow record batches, one by one."""
        import pyarrow

        for batch in self._start():
            yield from pyarrow.RecordBatchReader.from_stream(batch)

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a pyarrow table."""
        import pyarrow

        rows = self._start()
        schema = pyarrow.schema(self)  # type: ignore[arg-type]
        batches = [b for batch in rows for b in pyarrow.RecordBatchReader.from_stream(batch)]
        return pyarrow.Table.from_batches(batches, schema)

    def to_polars(self) -> polars.DataFrame:
        """All rows as a polars data frame."""
        import polars

        frames = [polars.DataFrame(batch) for batch in self._start()]
        return polars.concat(frames) if frames else polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """All rows as a pandas data frame with Arrow-backed columns."""
        import pandas

        return self.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype)

    def to_numpy(self) -> Any:
        """All rows as a dict of numpy arrays, one per column."""
        table = self.to_arrow()
        return {name: table.column(name).to_numpy() for name in table.column_names}

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._start().__arrow_c_stream__(requested_schema)


class Scan(_Rows):
    """A read request: lazy, reusable and picklable.

    Nothing is read before somebody asks for rows, and every ask reads anew.
    """

    def __init__(
        self,
        source: _Source,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        slice: str | None = None,
        limit: int | None = None,
        batch_rows: int | None = None,
        split: tuple[int, int] | None = None,
    ) -> None:
        self._source = source
        self._request = {
            "columns": None if columns is None else list(columns),
            "where": where,
            "slice": slice,
            "limit": limit,
            "batch_rows": batch_rows,
            "split": split,
        }

    def _start(self) -> _native.Rows:
        return self._source.table().rows(self._request)

    @property
    def schema(self) -> Schema:
        """The columns of the rows."""
        return Schema(self._source.table(), self._request["columns"])

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def count(self) -> int:
        """How many rows there are; from metadata where that suffices."""
        return self._source.table().count(self._request)

    def explain(self) -> dict[str, int]:
        """What the scan would read: chunks in all, pruned, to read, requests, bytes."""
        pieces, pruned, tasks, size = self._source.table().explain(self._request)
        return {"pieces": pieces, "pruned": pruned, "read": pieces - pruned, "requests": tasks, "bytes": size}

    def splits(self, n: int) -> list[Scan]:
        """The scan in at most ``n`` parts of about equal size, for workers of dask, ray, spark or torch."""
        if self._request["split"] is not None:
            raise ValueError("a part of a scan cannot be split again")
        if n < 1:
            raise ValueError("a scan is split into one part at least")
        if self._request["limit"] is not None:
            raise ValueError("a scan with a limit cannot be split")
        return [Scan(self._source, **{**self._request, "split": (part, n)}) for part in range(n)]

    def __getstate__(self) -> object:
        return {"source": self._source, "request": self._request}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._source, self._request = state["source"], state["request"]

    def __repr__(self) -> str:
        wanted = ", ".join(f"{k}={v!r}" for k, v in self._request.items() if v is not None)
        return f"<tesselle.Scan {self._source.uri}{': ' + wanted if wanted else ''}>"


class _Source:
    """A table that can be opened again in another process."""

    def __init__(
        self, uri: str, name: str | None, opening: dict[str, Any], table: _native.Table | None = None
    ) -> None:
        self.uri, self.name, self.opening = uri, name, opening
        self._table = table

    def table(self) -> _native.Table:
        if self._table is None:
            self._table = _native.open(self.uri, self.opening).table(self.name)
        return self._table

    def __getstate__(self) -> object:
        return (self.uri, self.name, self.opening)

    def __setstate__(self, state: tuple[str, str | None, dict[str, Any]]) -> None:
        self.uri, self.name, self.opening = state
        self._table = None


class Table(_Rows):
    """A table of a container."""

    def __init__(self, source: _Source) -> None:
        self._source = source
        self._native = source.table()

    def _start(self) -> _native.Rows:
        return self.scan()._start()

    @property
    def name(self) -> str:
        """The name inside the container; empty where there is just one table."""
        return self._native.name

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._native.columns

    @property
    def num_rows(self) -> int | None:
        """The number of rows, or ``None`` where only reading the data shows it."""
        return self._native.num_rows

    @property
    def schema(self) -> Schema:
        """The columns and their types."""
        return Schema(self._native, None)

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def scan(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        slice: str | None = None,
        limit: int | None = None,
        batch_rows: int | None = None,
    ) -> Scan:
        """A read request for some columns and rows.

        Args:
            columns: the columns wanted, in this order; all by default.
            where: an SQL condition, e.g. ``"speed > 3 AND time < 1700000000000"``.
            slice: a box of a dense table, ``"lo:hi[:step]"`` for each axis.
            limit: at most this many rows.
            batch_rows: rows of a batch, where the format can choose.
        """
        return Scan(self._source, columns, where, slice, limit, batch_rows)

    def array(self, column: str | None = None) -> Array:
        """A column of a dense table as an array.

        Raises:
            TypeError: the table is not dense, or has several such columns and none is named.
        """
        names = self._native.array_columns()
        if not names:
            raise TypeError(f"table {self.name!r} is not a dense array of numbers; use scan()")
        if column is None:
            if len(names) > 1:
                raise TypeError(f"the table has several arrays, name one: {', '.join(names)}")
            column = names[0]
        array = self._native.array(column)
        if array is None:
            raise TypeError(f"column {column!r} is not an array; there are: {', '.join(names)}")
        return Array(array, column, self._source)

    def __getitem__(self, key: Any) -> Any:
        """The cells of a dense table with one array: ``table[0, 10:20]``; or a column by name."""
        if isinstance(key, str):
            return self.array(key)
        return self.array()[key]

    def _repr_html_(self) -> str:
        from ._html import table

        return table(self)

    def __repr__(self) -> str:
        rows = "" if self.num_rows is None else f"{self.num_rows:,} rows, "
        name = f" {self.name!r}" if self.name else ""
        return f"<tesselle.Table{name}: {rows}{', '.join(self.columns)}>"


def scan(
    uri: Any,
    columns: Sequence[str] | None = None,
    where: str | None = None,
    slice: str | None = None,
    limit: int | None = None,
    **options: Any,
) -> Scan:
    """A read request for the table that ``uri`` names, ``file#table`` included."""
    from ._options import opening

    source = _Source(path(uri), None, opening(**options))
    source.table()
    return Scan(source, columns, where, slice, limit)
