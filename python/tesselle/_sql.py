"""SQL over files and tables in memory."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from . import _native
from ._container import Container
from ._errors import Error, InvalidCall
from ._options import opening
from ._partners import pyarrow_for
from ._rows import Rows, Schema
from ._scan import Scan

if TYPE_CHECKING:
    import pyarrow


class Result(Rows):
    """The answer of a statement: computed when it is first read, and kept then."""

    def __init__(self, answer: _native.Answer, query: str) -> None:
        self._answer, self._query = answer, query
        self._batches: _native.Batches | None = None
        self._failed: Error | None = None
        self._lock = threading.Lock()

    def _collect(self) -> _native.Batches:
        with self._lock:
            if self._failed is not None:
                raise self._failed.with_traceback(None)
            if self._batches is None:
                try:
                    self._batches = self._answer.collect()
                except Error as error:
                    self._failed = error
                    raise
                except KeyboardInterrupt:
                    self._failed = InvalidCall("the statement was interrupted", hint="run it again")
                    raise
            return self._batches

    @property
    def schema(self) -> Schema:
        """The columns of the answer."""
        return Schema(self._answer, self._answer.columns)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._answer.columns

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return len(self._collect())

    def __len__(self) -> int:
        return len(self._collect())

    def __arrow_c_schema__(self) -> object:
        return self._answer.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._collect().__arrow_c_stream__(requested_schema)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Returns all rows as tuples of Python values."""
        pyarrow_for("fetchall()")
        table: pyarrow.Table = self.to_arrow()
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def __repr__(self) -> str:
        return self._collect().show(20)

    def _repr_html_(self) -> str:
        from ._html import rows

        return rows(self._collect())


def sql(query: str, **tables: Any) -> Result:
    """Runs SQL over files and over tables in memory.

    Files are named in quotes: ``SELECT * FROM 'run.tet' JOIN 'plant.tsfile#root.d1' …``.

    Args:
        query: one or more statements; the result is that of the last one.
        **tables: tables by name: a :class:`Table` or :class:`Scan` of this package, a data frame, anything Arrow. Tables and
            scans of whole tables are read as the query needs them, everything else at once.
    """
    session = _native.Session(opening())
    for name, table in tables.items():
        if isinstance(table, Container):
            table = table.table()
        whole = table._native.whole_table() if isinstance(table, Scan) else getattr(table, "_native", None)
        if isinstance(whole, _native.Table):
            session.register_table(name, whole)
        else:
            from ._write import arrow_of

            session.register_rows(name, arrow_of(table))
    return Result(session.query(query), query)
