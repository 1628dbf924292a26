"""A table as a pyarrow dataset, which duckdb and others push projections and filters into."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow
import pyarrow.dataset

from ._arrow_filter import to_sql
from ._scan import Scan, request
from ._scan import scan as _scan


class Dataset(pyarrow.dataset.Dataset):  # type: ignore[misc, unused-ignore]
    """A table of any format.

    Columns and the parts of filters that have a form in SQL are pushed down; pyarrow applies the whole filter to
    what comes back, so the answer does not depend on what was understood.
    """

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        self._schema = scan.schema.to_arrow()

    @property
    def schema(self) -> pyarrow.Schema:
        """The columns and their types."""
        return self._schema

    def scanner(  # type: ignore[override, unused-ignore]
        self,
        columns: Any = None,
        filter: pyarrow.dataset.Expression | None = None,
        batch_size: int | None = None,
        **_: Any,
    ) -> pyarrow.dataset.Scanner:
        """Returns a scanner of the columns and rows wanted."""
        pushed, tested = (None, set[str]()) if filter is None else to_sql(filter, self._schema)
        read = self._schema.names
        if columns is not None and not isinstance(columns, dict) and tested is not None:
            wanted = {*columns, *tested}
            read = [name for name in self._schema.names if name in wanted]
        table = self._scan._native.table()
        native = table.scan(request(read, pushed, None, None, batch_size))
        schema = pyarrow.schema([self._schema.field(name) for name in read])
        options: dict[str, Any] = {"schema": schema, "filter": filter}
        if columns is not None:
            options["columns"] = columns
        return pyarrow.dataset.Scanner.from_batches(Scan(native).to_batches(), **options)

    def to_batches(self, **options: Any) -> Iterator[pyarrow.RecordBatch]:  # type: ignore[override, unused-ignore]
        """Yields the rows as record batches."""
        return self.scanner(**options).to_batches()  # type: ignore[no-any-return, unused-ignore]

    def to_table(self, **options: Any) -> pyarrow.Table:  # type: ignore[override, unused-ignore]
        """Reads the rows into a table."""
        return self.scanner(**options).to_table()

    def head(self, num_rows: int, **options: Any) -> pyarrow.Table:  # type: ignore[override, unused-ignore]
        """Reads the first rows."""
        return self.scanner(**options).head(num_rows)

    def count_rows(self, **options: Any) -> int:  # type: ignore[override, unused-ignore]
        """Returns how many rows there are."""
        if all(value is None for value in options.values()):
            return self._scan.count()
        return self.scanner(**options).count_rows()  # type: ignore[no-any-return, unused-ignore]


def dataset(uri: Any, **options: Any) -> Dataset:
    """Returns the table that ``uri`` names as a pyarrow dataset, e.g. for duckdb.

    Args:
        uri: what :func:`tesselle.scan` takes.
        **options: the keywords of :func:`tesselle.scan`.
    """
    return Dataset(_scan(uri, **options))
