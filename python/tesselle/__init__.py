"""One engine for chunked data files: TileDB arrays, TsFile, tet and tatami, and Parquet, Arrow, CSV, npy and Zarr.

>>> import tesselle as ts
>>> table = ts.open("run.tet").table()                                   # doctest: +SKIP
>>> table.scan(columns=["value"], where="value > 20").to_arrow()         # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._array import Array
from ._container import Container, open
from ._errors import DataError, Error, InvalidCall, NotFound, StorageError, UnknownName
from ._health import Difference, Finding, Report, diff, repair, verify
from ._native import __version__, configure
from ._search import Hit, index, search
from ._sql import Result, sql
from ._table import Scan, Schema, Table, scan
from ._write import convert, write

if TYPE_CHECKING:
    from . import polars as polars
    from ._dataset import Dataset, dataset

__all__ = [
    "Array", "Container", "DataError", "Dataset", "Difference", "Error", "Finding", "Hit", "InvalidCall",
    "NotFound", "Report", "Result", "Scan", "Schema", "StorageError", "Table", "UnknownName", "__version__",
    "configure", "convert", "dataset", "diff", "index", "open", "polars", "repair", "scan", "search", "sql",
    "verify", "write",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Partners are imported when they are used."""
    import importlib

    if name in ("dataset", "Dataset"):
        return getattr(importlib.import_module("tesselle._dataset"), name)
    if name in ("polars", "xarray"):
        return importlib.import_module(f"tesselle.{name}")
    raise AttributeError(f"module 'tesselle' has no attribute {name!r}")
