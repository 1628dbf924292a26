"""Lazy frames of polars that push projection, predicate and limit into the engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars

from ._polars_predicate import to_sql
from ._table import Scan
from ._table import scan as _scan

__all__ = ["scan"]


def scan(uri: Any, **options: Any) -> polars.LazyFrame:
    """A lazy frame over the table that ``uri`` names.

    Args:
        uri: a path, perhaps with ``#table``.
        **options: the keywords of :func:`tesselle.open`.
    """
    base = _scan(uri, **options)
    schema = _schema(base)

    def source(
        columns: list[str] | None, predicate: polars.Expr | None, rows: int | None, batch: int | None
    ) -> Iterator[polars.DataFrame]:
        names = base.schema.names
        pushed = None if predicate is None else to_sql(predicate, schema)
        wanted = columns
        if columns is not None and predicate is not None:
            needed = predicate.meta.root_names()
            wanted = columns + [name for name in needed if name not in columns]
        limit = rows if predicate is None else None
        left = rows
        request = Scan(base._source, wanted if wanted is not None else names, pushed, None, limit, batch)
        for part in request._start():
            frame = polars.DataFrame(part)
            # What was pushed down only skips rows early; the predicate itself decides.
            if predicate is not None:
                frame = frame.filter(predicate)
            if columns is not None:
                frame = frame.select(columns)
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            yield frame
            if left == 0:
                return

    return polars.io.plugins.register_io_source(source, schema=schema)


def _schema(base: Scan) -> polars.Schema:
    """The schema in polars types, from a scan of no rows."""
    empty = Scan(base._source, None, None, None, 0)
    return polars.DataFrame(empty).schema
