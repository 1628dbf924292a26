"""A table as a pyarrow dataset, which duckdb and others push projections and filters into."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow
import pyarrow.dataset

from ._table import Scan
from ._table import scan as _scan


class Dataset(pyarrow.dataset.Dataset):  # type: ignore[misc]
    """A table of any format. Columns are pushed down; filters are applied by pyarrow on each batch."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan
        self._schema = scan.schema.to_arrow()

    @property
    def schema(self) -> pyarrow.Schema:
        return self._schema

    def scanner(
        self,
        columns: Any = None,
        filter: pyarrow.dataset.Expression | None = None,
        batch_size: int | None = None,
        **_: Any,
    ) -> pyarrow.dataset.Scanner:
        if isinstance(columns, dict):
            needed = None
        else:
            needed = None if columns is None else list(columns)
        wanted = needed if filter is None else None
        request = Scan(self._scan._source, wanted, None, None, None, batch_size)
        schema = self._schema if wanted is None else pyarrow.schema([self._schema.field(n) for n in wanted])

        def batches() -> Iterator[pyarrow.RecordBatch]:
            yield from request.to_batches()

        options: dict[str, Any] = {"schema": schema, "filter": filter}
        if columns is not None:
            options["columns"] = columns
        return pyarrow.dataset.Scanner.from_batches(batches(), **options)

    def to_batches(self, **options: Any) -> Iterator[pyarrow.RecordBatch]:
        return self.scanner(**options).to_batches()  # type: ignore[no-any-return]

    def to_table(self, **options: Any) -> pyarrow.Table:
        return self.scanner(**options).to_table()

    def head(self, num_rows: int, **options: Any) -> pyarrow.Table:
        return self.scanner(**options).head(num_rows)

    def count_rows(self, **options: Any) -> int:
        if not options:
            return self._scan.count()
        return self.scanner(**options).count_rows()  # type: ignore[no-any-return]


def dataset(uri: Any, **options: Any) -> Dataset:
    """The table that ``uri`` names as a pyarrow dataset, e.g. for duckdb.

    Args:
        uri: a path, perhaps with ``#table``.
        **options: the keywords of :func:`tesselle.open`.
    """
    return Dataset(_scan(uri, **options))
