"""What the tests share: the fixtures of the original engines, and small files of our own."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import numpy
import pyarrow
import pytest
import tesselle as ts

FIXTURES = os.environ.get("TESSELLE_FIXTURES")


def cases(name: str) -> list[pathlib.Path]:
    """Returns the cases of a format; none where the fixtures are not there."""
    if FIXTURES is None:
        return []
    root = pathlib.Path(FIXTURES)
    return sorted(p.parent for folder in (name, f"{name}-upstream") for p in (root / folder).glob("*/expected.json"))


def expected(case: pathlib.Path) -> Any:
    """Returns the expected contents of a case."""
    return json.loads((case / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture
def fixtures() -> pathlib.Path:
    """The files of the original engines."""
    if FIXTURES is None:
        pytest.skip("TESSELLE_FIXTURES is not set")
    return pathlib.Path(FIXTURES)


@pytest.fixture
def field(tmp_path: pathlib.Path) -> tuple[str, Any]:
    """A tet file with one tensor of three axes, and its cells."""
    cells = numpy.random.default_rng(7).normal(size=(6, 20, 15)).astype("f4")
    path = str(tmp_path / "field.tet")
    ts.write(cells, path, chunk=(2, 8, 5))
    return path, cells


@pytest.fixture
def plant(tmp_path: pathlib.Path) -> tuple[str, pyarrow.Table]:
    """A TsFile with one device, and its rows."""
    rows = 1000
    table = pyarrow.table(
        {
            "time": pyarrow.array(range(1_700_000_000_000, 1_700_000_000_000 + rows * 10, 10), pyarrow.timestamp("ms")),
            "count": pyarrow.array([i % 97 for i in range(rows)], pyarrow.int32()),
            "speed": pyarrow.array([i * 0.25 for i in range(rows)], pyarrow.float64()),
            "state": pyarrow.array([None if i % 7 == 0 else f"s{i % 5}" for i in range(rows)]),
        }
    )
    path = str(tmp_path / "plant.tsfile")
    ts.write(table, path, device="root.fleet.truck1")
    return path, table


@pytest.fixture
def pages(tmp_path: pathlib.Path) -> tuple[str, pyarrow.Table]:
    """A tatami file in several row groups, and its rows."""
    rows = 5000
    table = pyarrow.table(
        {
            "id": pyarrow.array(range(rows), pyarrow.int64()),
            "name": pyarrow.array([f"name {i % 50}" for i in range(rows)]),
            "score": pyarrow.array([None if i % 11 == 0 else i / 3 for i in range(rows)], pyarrow.float64()),
            "at": pyarrow.array([i * 1_000_000 for i in range(rows)], pyarrow.timestamp("us")),
            "flag": pyarrow.array([i % 2 == 0 for i in range(rows)]),
        }
    )
    path = str(tmp_path / "pages.tatami")
    ts.write(table, path, row_group_rows=1000)
    return path, table


def plain(table: pyarrow.Table) -> pyarrow.Table:
    """Returns a table without metadata, its fields nullable: what is compared is values and types."""
    fields = [pyarrow.field(f.name, f.type) for f in table.schema]
    return pyarrow.Table.from_arrays([column.combine_chunks() for column in table.columns], schema=pyarrow.schema(fields))


PEAK = """
def peak(call):
    "Returns by how many bytes the resident memory of the process grows at most during a call; the kernel resets its peak."
    def status(name):
        lines = open("/proc/self/status").read().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":"))
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")
    before = status("VmRSS")
    result = call()
    return status("VmHWM") - before, result
"""
"""The source of a function for other processes. ``ru_maxrss`` does not do: a child begins with the peak of its parent."""

needs_peak = pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="the system does not reset peaks")
