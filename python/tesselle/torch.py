"""Datasets for torch: rows of a scan for its loaders, and dense arrays by position.

>>> import tesselle as ts
>>> loader = torch.utils.data.DataLoader(ts.torch.rows("plant.tsfile", batch_size=256), batch_size=None, num_workers=4)  # doctest: +SKIP
>>> samples = ts.torch.cells(ts.open("run.tet")["wind"].array())                                                         # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from ._array import Array
from ._errors import InvalidCall
from ._scan import Scan
from ._scan import scan as _scan

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Cells", "Rows", "cells", "rows"]


class Rows(IterableDataset[Any]):  # type: ignore[misc, unused-ignore]
    """The rows of a scan in batches: dictionaries of columns, numbers as tensors, everything else as lists.

    Workers of a loader and processes of a distributed run each read parts of their own; together they read every row
    once. A scan has as many parts as its file has pieces that can be read apart, so there may be workers with nothing to do.
    """

    def __init__(
        self,
        scan: Scan,
        batch_size: int | None = None,
        transform: Callable[[dict[str, Any]], Any] | None = None,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        if batch_size is not None and batch_size < 1:
            raise InvalidCall("a batch has one row at least")
        if (rank is None) != (world_size is None):
            raise InvalidCall("rank= and world_size= belong together")
        self.scan: Scan = scan
        self.batch_size: int | None = batch_size
        self.transform: Callable[[dict[str, Any]], Any] | None = transform
        self.rank: int | None = rank
        self.world_size: int | None = world_size

    def parts(self) -> list[Scan]:
        """Returns the parts of the scan that this worker of this process reads."""
        rank, world_size = self._process()
        worker = get_worker_info()
        workers = 1 if worker is None else worker.num_workers
        own = rank * workers + (0 if worker is None else worker.id)
        return self.scan.splits(workers * world_size)[own :: workers * world_size]

    def _process(self) -> tuple[int, int]:
        if self.rank is not None and self.world_size is not None:
            return self.rank, self.world_size
        distributed = torch.distributed
        if distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
        return 0, 1

    def __iter__(self) -> Iterator[Any]:
        batches = (batch for part in self.parts() for batch in part.to_batches())
        for batch in batches if self.batch_size is None else _regular(batches, self.batch_size):
            columns = {name: _tensor(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}
            yield columns if self.transform is None else self.transform(columns)


class Cells(Dataset[Any]):  # type: ignore[misc, unused-ignore]
    """A dense array as samples along its first axis; a batch is read at once."""

    def __init__(self, array: Array, transform: Callable[[Any], Any] | None = None) -> None:
        if array.ndim == 0:
            raise InvalidCall("an array without axes has no samples")
        self.array: Array = array
        self.transform: Callable[[Any], Any] | None = transform

    def __len__(self) -> int:
        return self.array.shape[0]

    def __getitem__(self, at: int) -> Any:
        return self._sample(self.array[at])

    def __getitems__(self, positions: Sequence[int]) -> list[Any]:
        """Returns the samples of a batch; the chunks that they share are read once."""
        return [self._sample(cells) for cells in self.array[list(positions)]]

    def _sample(self, cells: Any) -> Any:
        sample = torch.as_tensor(cells)
        return sample if self.transform is None else self.transform(sample)


def rows(
    source: Scan | Any,
    columns: Sequence[str] | str | None = None,
    where: str | None = None,
    *,
    batch_size: int | None = None,
    transform: Callable[[dict[str, Any]], Any] | None = None,
    rank: int | None = None,
    world_size: int | None = None,
    **options: Any,
) -> Rows:
    """Returns rows as a dataset for ``torch.utils.data.DataLoader(…, batch_size=None)``.

    Args:
        source: a scan, or what :func:`tesselle.scan` takes.
        columns: the columns wanted; all by default.
        where: an SQL condition.
        batch_size: rows of a batch; by default as the file has them.
        transform: what is applied to each batch.
        rank: the number of this process; by default that of ``torch.distributed``.
        world_size: how many processes there are.
        **options: the other keywords of :func:`tesselle.scan`.
    """
    if not isinstance(source, Scan):
        source = _scan(source, columns, where, **options)
    elif columns is not None or where is not None or options:
        raise InvalidCall("a scan states already what is wanted", hint="pass the uri, or narrow the scan itself")
    return Rows(source, batch_size, transform, rank, world_size)


def cells(array: Array, transform: Callable[[Any], Any] | None = None) -> Cells:
    """Returns an array as a dataset of samples along its first axis.

    Args:
        array: the array.
        transform: what is applied to each sample.
    """
    return Cells(array, transform)


def _regular(batches: Iterator[pyarrow.RecordBatch], size: int) -> Iterator[pyarrow.RecordBatch]:
    """Yields the same rows in batches of one size; the last one may be smaller."""
    import pyarrow

    waiting: list[pyarrow.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows < size:
            continue
        table = pyarrow.Table.from_batches(waiting).combine_chunks()
        full = rows - rows % size
        for start in range(0, full, size):
            yield from table.slice(start, size).to_batches()
        waiting = table.slice(full).to_batches()
        rows -= full
    if rows:
        yield from pyarrow.Table.from_batches(waiting).combine_chunks().to_batches()


def _tensor(column: Any) -> Any:
    """Returns numbers as a tensor, NaN where they are missing; everything else as a list."""
    import pyarrow

    kind = column.type
    is_number = pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)
    is_number = is_number or (pyarrow.types.is_boolean(kind) and not column.null_count)
    if pyarrow.types.is_timestamp(kind) or pyarrow.types.is_duration(kind):
        column, is_number = column.cast(pyarrow.int64()), True
    if not is_number:
        return column.to_pylist()
    cells = column.to_numpy(zero_copy_only=False)
    return torch.as_tensor(cells if cells.flags.writeable else cells.copy())
