"""SQL over files and tables in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _native
from ._options import opening
from ._table import Scan, Table, _Rows

if TYPE_CHECKING:
    import pyarrow


class Result(_Rows):
    """The answer of a statement, computed when it is read and kept then."""

    def __init__(self, session: _native.Session, query: str) -> None:
        self._session, self._query = session, query
        self._answer: _native.Answer | None = session.query(query)
        self._table: pyarrow.Table | None = None

    def _start(self) -> Any:
        if self._table is not None:
            return _Stream(self._table)
        answer, self._answer = self._answer, None
        return answer if answer is not None else self._session.query(self._query)

    def to_arrow(self) -> pyarrow.Table:
        """All rows as a pyarrow table."""
        if self._table is None:
            import pyarrow

            batches = [b for batch in self._start() for b in pyarrow.RecordBatchReader.from_stream(batch)]
            if not batches:
                return pyarrow.RecordBatchReader.from_stream(self._session.query(self._query)).read_all()
            self._table = pyarrow.Table.from_batches(batches)
        return self._table

    def __repr__(self) -> str:
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            return f"<tesselle.Result of {self._query!r}>"
        table = self.to_arrow()
        return f"{table.slice(0, 20)}\n{table.num_rows:,} rows"

    def _repr_html_(self) -> str:
        from ._html import rows

        return rows(self.to_arrow())


class _Stream:
    """A pyarrow table as an iterator of streams."""

    def __init__(self, table: pyarrow.Table) -> None:
        self._table = table

    def __iter__(self) -> Iterator[Any]:
        yield self._table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def sql(query: str, **tables: Any) -> Result:
    """Runs SQL over files and over tables in memory.

    Files are named in quotes: ``SELECT * FROM 'run.tet' JOIN 'plant.tsfile#root.d1' …``.

    Args:
        query: one or more statements; the result is that of the last one.
        **tables: tables by name: a :class:`Table` or :class:`Scan` of this package, a data frame, anything Arrow.
    """
    session = _native.Session(opening())
    for name, table in tables.items():
        if isinstance(table, Table):
            session.register_table(name, table._native)
        elif isinstance(table, Scan) or hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
            session.register_rows(name, table)
        else:
            from ._write import _stream

            session.register_rows(name, _stream(table))
    return Result(session, query)
