"""One engine for chunked data files: TileDB arrays, TsFile, tet and tatami, next to Parquet, Arrow, CSV, npy and Zarr.

>>> import tesselle as ts
>>> table = ts.open("run.tet").table()                                   # doctest: +SKIP
>>> table.scan(columns=["value"], where="value > 20").to_arrow()         # doctest: +SKIP
>>> ts.open("run.tet")["temperature"][0, 10:20, ::2]                     # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._array import Array
from ._container import Container, Layout, open
from ._errors import DataError, Error, InvalidCall, NotFound, StorageError, UnknownName
from ._health import Difference, Finding, Report, diff, repair, verify
from ._native import __version__, configure
from ._rows import Schema
from ._scan import Scan, scan
from ._search import Hit, index, search
from ._sql import Result, sql
from ._table import Table
from ._write import append, convert, write

if TYPE_CHECKING:
    from . import polars as polars
    from . import torch as torch
    from . import xarray as xarray
    from ._dataset import Dataset as Dataset
    from ._dataset import dataset as dataset

__all__ = [
    "Array", "Container", "DataError", "Difference", "Error", "Finding", "Hit", "InvalidCall", "Layout", "NotFound",
    "Report", "Result", "Scan", "Schema", "StorageError", "Table", "UnknownName", "__version__", "append", "configure",
    "convert", "diff", "index", "open", "repair", "scan", "search", "sql", "verify", "write",
]  # fmt: skip

_ADAPTERS = {
    "Dataset": "._dataset", "dataset": "._dataset", "polars": ".polars", "torch": ".torch", "xarray": ".xarray",
}  # fmt: skip
"""What needs another library, and the module it is in."""

# Public names belong to the package, not to the module that happens to hold them.
for _public in (
    Array, Container, DataError, Difference, Error, Finding, Hit, InvalidCall, Layout, NotFound, Report, Result, Scan,
    Schema, StorageError, Table, UnknownName,
):  # fmt: skip
    _public.__module__ = __name__


def __getattr__(name: str) -> Any:
    """Imports the adapters for other libraries when they are used."""
    import importlib

    if name not in _ADAPTERS:
        raise AttributeError(f"module 'tesselle' has no attribute {name!r}")
    module = importlib.import_module(_ADAPTERS[name], __name__)
    return module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ADAPTERS})
