"""Rows as tables of other libraries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from ._partners import pyarrow_for

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars
    import pyarrow

    from . import _native


class Schema:
    """The columns of a table, for anything that speaks Arrow."""

    def __init__(self, owner: _native.Table | _native.Scan | _native.Answer, names: list[str]) -> None:
        self._owner, self._names = owner, names

    def __arrow_c_schema__(self) -> object:
        return self._owner.__arrow_c_schema__()

    def to_arrow(self) -> pyarrow.Schema:
        """Returns the schema as pyarrow's."""
        return pyarrow_for("a schema of pyarrow").schema(self)  # type: ignore[no-any-return]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __eq__(self, other: Any) -> bool:
        if not hasattr(other, "__arrow_c_schema__"):
            return NotImplemented
        import pyarrow

        return bool(self.to_arrow().equals(pyarrow.schema(other)))

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<tesselle.Schema {', '.join(self._names)}>"


class Rows:
    """What tables, scans and results have in common."""

    def _collect(self) -> _native.Batches:
        """Reads all rows."""
        raise NotImplementedError

    def to_arrow(self) -> pyarrow.Table:
        """Reads all rows into a pyarrow table."""
        pyarrow = pyarrow_for("a table of pyarrow")
        return pyarrow.table(self._collect())  # type: ignore[no-any-return]

    def to_polars(self) -> polars.DataFrame:
        """Reads all rows into a polars data frame."""
        import polars

        return polars.DataFrame(self._collect())

    def to_pandas(self) -> pandas.DataFrame:
        """Reads all rows into a pandas data frame with Arrow-backed columns."""
        import pandas

        frame: pandas.DataFrame = self.to_arrow().to_pandas(types_mapper=pandas.ArrowDtype)
        return frame

    def to_numpy(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """Reads all rows into numpy arrays, one per column."""
        pyarrow_for("to_numpy()")
        table = self.to_arrow()
        return {name: _cells(table.column(name)) for name in table.column_names}


def _cells(column: pyarrow.ChunkedArray[Any]) -> numpy.ndarray[Any, Any]:
    import pyarrow

    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        # Pyarrow cannot look up nulls in a dictionary that is empty.
        column = column.cast(kind.value_type)
    cells: numpy.ndarray[Any, Any] = column.to_numpy()
    return cells
