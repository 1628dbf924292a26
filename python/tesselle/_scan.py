"""Read requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from . import _native
from ._errors import InvalidCall
from ._options import Uri, names, opening, path, secret, whole
from ._partners import pyarrow_for
from ._rows import Rows, Schema
from ._stores import place

if TYPE_CHECKING:
    import pyarrow


Wanted: TypeAlias = dict[str, Any]
"""What :func:`request` returns."""


class Scan(Rows):
    """A read request: lazy, reusable and picklable.

    Nothing is read before rows are requested, and every request reads again.
    """

    def __init__(self, native: _native.Scan, wanted: Wanted | None = None) -> None:
        self._native, self._wanted = native, wanted

    @property
    def schema(self) -> Schema:
        """The columns of the rows."""
        return Schema(self._native, self._native.columns())

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the rows."""
        return self._native.columns()

    def _collect(self) -> _native.Batches:
        return self._native.collect()

    def to_batches(self) -> Iterator[pyarrow.RecordBatch]:
        """Yields the rows as pyarrow record batches, read one by one."""
        pyarrow = pyarrow_for("to_batches()")
        for batch in self._native.rows():
            yield from pyarrow.RecordBatchReader.from_stream(batch)

    def count(self) -> int:
        """Returns how many rows there are; from metadata where that suffices."""
        return self._native.count()

    def explain(self) -> dict[str, int]:
        """Returns what the scan would read, without reading it.

        ``pieces`` in all, ``pruned`` by metadata, ``read``; ``requests`` to the storage at least, and ``bytes``.
        """
        pieces, pruned, requests, size = self._native.explain()
        return {"pieces": pieces, "pruned": pruned, "read": pieces - pruned, "requests": requests, "bytes": size}

    def _narrowed(
        self,
        columns: Sequence[str],
        where: str | None = None,
        limit: int | None = None,
        batch_rows: int | None = None,
    ) -> Scan:
        """Returns a scan of some columns that has every row of this one where ``where`` holds, and possibly others.

        Which rows a limit selects does not depend on a further condition; the caller applies the condition to what is read.

        Args:
            columns: the columns wanted, in this order. A part of a scan has all of its columns.
            where: an SQL condition, in addition to that of this scan.
            limit: at most this many rows; only without ``where``.
            batch_rows: rows of a batch, where the format can choose.
        """
        own = self._wanted
        if own is None:
            return self
        conditions = [f"({part}\n)" for part in (own["where"], where if own["limit"] is None else None) if part is not None]
        limits = [rows for rows in (own["limit"], limit) if rows is not None]
        wanted = {
            "columns": list(columns),
            "where": " AND ".join(conditions) or None,
            "slice": own["slice"],
            "limit": min(limits, default=None),
            "batch_rows": own["batch_rows"] if batch_rows is None else batch_rows,
        }
        return Scan(self._native.table().scan(wanted), wanted)

    def splits(self, n: int) -> list[Scan]:
        """Cuts the scan into at most ``n`` parts of about equal size, for workers of dask, ray, spark or torch.

        Together the parts give every row once, in order; a scan with a limit is one part. A file that changes
        afterwards is refused.
        """
        if n < 1:
            raise InvalidCall("a scan is split into one part at least")
        return [Scan(part) for part in self._native.splits(n)]

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.rows().__arrow_c_stream__(requested_schema)

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self._native.to_plain(), self._native.store(), self._wanted)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scan):
            return NotImplemented
        same = self._native.to_plain() == other._native.to_plain()
        return same and bool(self._native.store() == other._native.store())

    def __hash__(self) -> int:
        return hash(self._native.to_plain())

    def __repr__(self) -> str:
        return f"<tesselle.Scan {self._native.describe()}>"


def _restore(plain: str, store: Any = None, wanted: Wanted | None = None) -> Scan:
    """Restores a scan from another process. Keys do not travel: each process has its own ``TESSELLE_KEY``."""
    return Scan(_native.Scan.from_plain(plain, secret(None), store), wanted)


def request(
    columns: Sequence[str] | str | None,
    where: str | None,
    slice: str | None,
    limit: int | None,
    batch_rows: int | None,
) -> Wanted:
    """Returns what is wanted of a table."""
    for keyword, value, form in (
        ("where", where, "an SQL condition such as \"speed > 3\""),
        ("slice", slice, "a box such as \"0:10,::2\", 'lo:hi[:step]' for each axis"),
    ):
        if value is not None and not isinstance(value, str):
            raise InvalidCall(f"{keyword}= is {form}, as a string, not {type(value).__name__}")
    limit, batch_rows = whole("limit", limit), whole("batch_rows", batch_rows)
    return {
        "columns": names(columns),
        "where": where,
        "slice": slice,
        "limit": limit,
        "batch_rows": batch_rows,
    }


def scan(
    uri: Uri | BinaryIO | Any,
    columns: Sequence[str] | str | None = None,
    where: str | None = None,
    slice: str | None = None,
    limit: int | None = None,
    *,
    table: str | None = None,
    batch_rows: int | None = None,
    store: Any = None,
    storage_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Scan:
    """Returns a read request for what ``uri`` names.

    Args:
        uri: a file, perhaps with ``#table``; a folder of files with the same columns; a pattern such as ``logs/*.tsfile``; or
            what else :func:`open` takes.
        columns: the columns wanted, in this order; all by default.
        where: an SQL condition, e.g. ``"speed > 3 AND time < 1700000000000"``.
        slice: a box of a dense table, ``"lo:hi[:step]"`` for each axis.
        limit: at most this many rows.
        table: the table, instead of the one that the uri names.
        batch_rows: rows of a batch, where the format can choose.
        store: what ``uri`` is a path in; see :func:`open`. It has no patterns.
        storage_options: settings of the storage; see :func:`open`. They travel with a scan to other processes.
        **options: the other keywords of :func:`open`.
    """
    found = place(uri, store, storage_options)
    if found is None:
        opened = _native.open_table(path(uri), table, opening(**options, storage_options=storage_options))
    else:
        opened = _native.open_table(found.path, table, opening(**options), found.store)
    wanted = request(columns, where, slice, limit, batch_rows)
    return Scan(opened.scan(wanted), wanted)
