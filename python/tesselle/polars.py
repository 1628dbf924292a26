"""Lazy frames of polars that push projection, predicate and limit into the engine."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import polars
from polars.io.plugins import register_io_source

from ._polars_predicate import columns_of, to_sql
from ._scan import scan as _scan

__all__ = ["scan"]


def scan(
    uri: Any, columns: Sequence[str] | str | None = None, where: str | None = None, **options: Any
) -> polars.LazyFrame:
    """Returns a lazy frame over the table that ``uri`` names.

    Args:
        uri: what :func:`tesselle.scan` takes.
        columns: the columns of the frame; all by default.
        where: an SQL condition, in addition to what the query filters by.
        **options: the other keywords of :func:`tesselle.scan`.
    """
    base = _scan(uri, columns, where, **options)
    schema = polars.DataFrame(base._narrowed(base.columns, limit=0)).schema
    known = columns_of(schema, base._native.table().times())

    def source(
        wanted: list[str] | None, predicate: polars.Expr | None, rows: int | None, batch: int | None
    ) -> Iterator[polars.DataFrame]:
        read = list(schema) if wanted is None else wanted
        pushed = None
        if predicate is not None:
            read = read + [name for name in predicate.meta.root_names() if name not in read]
            pushed = to_sql(predicate, known)
        # Rows that are still filtered must not be counted.
        limit = rows if predicate is None else None
        for part in base._narrowed(read, pushed, limit, batch)._native.rows():
            frame = polars.DataFrame(part)
            # What was pushed down only skips rows early; the predicate itself decides.
            if predicate is not None:
                frame = frame.filter(predicate)
            if wanted is not None:
                frame = frame.select(wanted)
            if rows is not None:
                frame = frame.head(rows)
                rows -= frame.height
            yield frame
            if rows == 0:
                return

    shown: dict[str, Any] = {"explain_name": "tesselle", "explain_detail": str(uri)}
    if not shown.keys() <= inspect.signature(register_io_source).parameters.keys():
        shown = {}
    return register_io_source(source, schema=schema, is_pure=True, **shown)
