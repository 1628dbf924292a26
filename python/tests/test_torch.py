"""Datasets for torch. Where torch is not installed, the few names that the adapter uses stand in for it."""

from __future__ import annotations

import importlib.util
import sys
import types
from typing import Any

import numpy
import pytest
import tesselle as ts


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of torch, or what stands in for it; its current worker is an attribute of this module."""
    if importlib.util.find_spec("torch") is not None:
        import torch

        monkeypatch.setattr("tesselle.torch.get_worker_info", lambda: _Worker.current)
        yield torch
    else:
        module, utils, data = (types.ModuleType(name) for name in ("torch", "torch.utils", "torch.utils.data"))
        module.as_tensor = numpy.asarray  # type: ignore[attr-defined]
        module.distributed = types.SimpleNamespace(is_available=lambda: False)  # type: ignore[attr-defined]
        module.utils, utils.data = utils, data  # type: ignore[attr-defined]
        generic = type("Generic", (), {"__class_getitem__": classmethod(lambda cls, _: cls)})
        data.Dataset, data.IterableDataset = type("Dataset", (generic,), {}), type("Iterable", (generic,), {})  # type: ignore[attr-defined]
        data.get_worker_info = lambda: _Worker.current  # type: ignore[attr-defined]
        for name, stand_in in (("torch", module), ("torch.utils", utils), ("torch.utils.data", data)):
            monkeypatch.setitem(sys.modules, name, stand_in)
        yield module
        sys.modules.pop("tesselle.torch", None)
        vars(ts).pop("torch", None)
    _Worker.current = None


class _Worker:
    """One of several workers of a loader."""

    current: _Worker | None = None

    def __init__(self, id: int, num_workers: int) -> None:
        self.id, self.num_workers = id, num_workers


def test_every_worker_reads_its_own_rows(torch, pages) -> None:  # type: ignore[no-untyped-def]
    dataset = ts.torch.rows(pages[0], ["id", "name"], batch_size=300)
    seen = []
    for worker in range(3):
        _Worker.current = _Worker(worker, 3)
        for batch in dataset:
            assert len(batch["name"]) == len(batch["id"]) <= 300
            seen += batch["id"].tolist()
    assert sorted(seen) == list(range(5000))


def test_processes_share_the_rows(torch, pages) -> None:  # type: ignore[no-untyped-def]
    parts = [ts.torch.rows(pages[0], "id", rank=rank, world_size=2) for rank in range(2)]
    rows = [[i for batch in part for i in batch["id"].tolist()] for part in parts]
    assert sorted(rows[0] + rows[1]) == list(range(5000)) and all(rows)
    with pytest.raises(ts.InvalidCall):
        ts.torch.rows(pages[0], rank=1)


def test_batches_have_one_size_and_tensors(torch, pages) -> None:  # type: ignore[no-untyped-def]
    scan = ts.scan(pages[0], ["id", "score", "at", "flag", "name"], "id < 1050")
    batches = list(ts.torch.rows(scan, batch_size=200))
    assert [len(batch["id"]) for batch in batches] == [200] * 5 + [50]
    first = batches[0]
    assert first["id"].tolist()[:3] == [0, 1, 2] and numpy.isnan(first["score"].tolist()[0])
    assert first["at"].tolist()[1] == 1_000_000 and first["flag"].tolist()[:2] == [True, False]
    assert first["name"][1] == "name 1"
    assert sum(ts.torch.rows(scan, transform=lambda batch: len(batch["id"]))) == 1050
    with pytest.raises(ts.InvalidCall):
        ts.torch.rows(scan, columns=["id"])
    with pytest.raises(ts.InvalidCall):
        ts.torch.rows(scan, batch_size=0)


def test_arrays_are_samples(torch, field) -> None:  # type: ignore[no-untyped-def]
    path, cells = field
    dataset = ts.torch.cells(ts.open(path).table().array())
    assert len(dataset) == 6
    assert numpy.array_equal(dataset[2], cells[2]) and numpy.array_equal(dataset[-1], cells[-1])
    batch = dataset.__getitems__([4, 0, 4])
    assert len(batch) == 3 and all(numpy.array_equal(ours, cells[at]) for ours, at in zip(batch, (4, 0, 4)))
    shapes = ts.torch.cells(ts.open(path).table().array(), transform=lambda sample: tuple(sample.shape))
    assert shapes[0] == (20, 15)


def test_a_loader_of_torch(field, pages) -> None:  # type: ignore[no-untyped-def]
    data = pytest.importorskip("torch.utils.data")
    loader = data.DataLoader(ts.torch.rows(pages[0], ["id"], batch_size=500), batch_size=None, num_workers=2)
    assert sorted(i for batch in loader for i in batch["id"].tolist()) == list(range(5000))
    loader = data.DataLoader(ts.torch.cells(ts.open(field[0]).table().array()), batch_size=4)
    assert [batch.shape[0] for batch in loader] == [4, 2]


def test_a_region_goes_into_a_tensor(field) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    path, cells = field
    tensor = torch.zeros(cells.shape[1:])
    assert ts.open(path).table().array().read(2, out=tensor) is tensor
    assert numpy.array_equal(tensor.numpy(), cells[2])
