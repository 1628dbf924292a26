"""Tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._array import Array
from ._rows import Rows, Schema
from ._scan import Scan, request

if TYPE_CHECKING:
    from . import _native


class Table(Rows):
    """A table of a container: named columns, read on demand."""

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """The name; empty where the container has just one table."""
        return self._native.name

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._native.columns

    @property
    def num_rows(self) -> int | None:
        """The number of rows; ``None`` where only reading the data shows it."""
        return self._native.num_rows

    @property
    def schema(self) -> Schema:
        """The columns and their types."""
        return Schema(self._native, self._native.columns)

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes of the table and its container."""
        return json.loads(self._native.attributes())  # type: ignore[no-any-return]

    def scan(
        self,
        columns: Sequence[str] | str | None = None,
        where: str | None = None,
        slice: str | None = None,
        limit: int | None = None,
        batch_rows: int | None = None,
    ) -> Scan:
        """Returns a read request for some columns and rows.

        Args:
            columns: the columns wanted, in this order; all by default.
            where: an SQL condition, e.g. ``"speed > 3 AND time < 1700000000000"``.
            slice: a box of a dense table, ``"lo:hi[:step]"`` for each axis.
            limit: at most this many rows.
            batch_rows: rows of a batch, where the format can choose.
        """
        wanted = request(columns, where, slice, limit, batch_rows)
        return Scan(self._native.scan(wanted), wanted)

    def array(self, column: str | None = None) -> Array:
        """Returns a column of a dense table as an array.

        Raises:
            TypeError: the table is not dense, or has several such columns and none is named.
        """
        names = self._native.array_columns()
        if column is None and len(names) > 1:
            raise TypeError(f"the table has several arrays, name one: {', '.join(names)}")
        if column is None and not names:
            raise TypeError(f"table {self.name!r} is not a dense array of numbers, truth values or times; use scan()")
        column = names[0] if column is None else column
        array = self._native.array(column) if column in names else None
        if array is None:
            hint = f"there are: {', '.join(names)}" if names else "the table has none"
            if column in self.columns:
                hint = f"read its rows with scan([{column!r}])"
            raise TypeError(f"column {column!r} is not an array of numbers, truth values or times; {hint}")
        return Array(array, column, self)

    @property
    def array_columns(self) -> list[str]:
        """The columns that :meth:`array` takes."""
        return self._native.array_columns()

    def _collect(self) -> _native.Batches:
        return self.scan()._collect()

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.scan().__arrow_c_stream__(requested_schema)

    def __datafusion_table_provider__(self, session: Any) -> object:
        return self._native.__datafusion_table_provider__(session)

    def __getitem__(self, key: Any) -> Any:
        """Returns a column as an array by its name, or the cells of the only array: ``table[0, 10:20]``."""
        return self.array(key) if isinstance(key, str) else self.array()[key]

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self.scan(),)

    def _repr_html_(self) -> str:
        from ._html import table

        return table(self)

    def __repr__(self) -> str:
        rows = "" if self.num_rows is None else f"{self.num_rows:,} rows, "
        name = f" {self.name!r}" if self.name else ""
        return f"<tesselle.Table{name}: {rows}{', '.join(self.columns)}>"


def _restore(scan: Scan) -> Table:
    return Table(scan._native.table())
