"""TsFiles of the original engine: every series and every row of expected.json, and what is left of cut files."""

from __future__ import annotations

import datetime
import json
import pathlib
import subprocess
import sys
from typing import Any

import pyarrow
import pyarrow.compute
import pytest
import tesselle as ts
from conftest import cases, expected
from values import assert_same, of_arrow, of_expected

CASES = [case for case in cases("tsfile") if "file" in expected(case)]
WHOLE = [case for case in CASES if expected(case).get("complete") and not expected(case).get("tables")]
TABLES = [case for case in CASES if expected(case).get("tables")]
CUT = [case for case in CASES if expected(case).get("complete") is False]
REFUSED = [case for case in CASES if expected(case).get("opens") is False]

LIVE = [case for case in WHOLE if case.name.startswith("v4")]

LOSSY = ("RLE", "TS_2DIFF", "SPRINTZ", "RLBE", "CAMEL")


def _file(case: pathlib.Path) -> pathlib.Path:
    return case / str(expected(case)["file"])


def _points(series: dict[str, Any]) -> dict[int, Any]:
    """Returns times and values: what lossy encodings mean, and what was written where the original misreads it."""
    points = dict(series["points"])
    if "written" in series and series["encoding"] not in LOSSY:
        points = dict(series["written"])
    return dict(sorted(points.items()))


def _assert_device(table: ts.Table, series: dict[str, Any], where: str | None = None) -> None:
    for measurement, stored in series.items():
        if stored["type"] == "VECTOR":
            continue
        points = _points(stored)
        condition = f'"{measurement}" IS NOT NULL' + (f" AND {where}" if where else "")
        rows = table.scan(columns=["time", measurement], where=condition).to_arrow()
        if len(stored.get("written", [])) > len(points):
            # The original stops early; what it reads is compared.
            times = pyarrow.array(list(points), rows["time"].type)
            rows = rows.filter(pyarrow.compute.is_in(rows["time"], times))
        assert_same(rows["time"], list(points), "INT64")
        assert_same(_days(rows[measurement], stored["type"]), list(points.values()), stored["type"])


def _days(column: pyarrow.ChunkedArray, kind: str) -> pyarrow.ChunkedArray:
    """Returns dates as the original has them, 20240229."""
    if kind != "DATE":
        return column
    days = [None if day is None else int(day.strftime("%Y%m%d")) for day in column.to_pylist()]
    return pyarrow.chunked_array([pyarrow.array(days, pyarrow.int32())])


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case.name)
def test_series_are_those_of_the_original(case: pathlib.Path) -> None:
    devices: dict[str, Any] = expected(case)["devices"]
    container = ts.open(_file(case), text_as_binary=True)
    assert set(devices) <= set(container)
    for device, series in devices.items():
        _assert_device(container[device], series)


@pytest.mark.parametrize("case", TABLES, ids=lambda case: case.name)
def test_rows_are_those_of_the_original(case: pathlib.Path) -> None:
    facts = expected(case)
    ((name, columns),) = facts["tables"].items()
    kinds = {"time": "INT64"} | {column[0]: column[1] for column in columns}
    tags = [column[0] for column in columns if column[5] == 0]
    table = ts.open(_file(case), text_as_binary=True)[name]
    assert set(table.columns) == set(kinds)
    found = table.scan(columns=list(kinds)).to_arrow()
    assert found.num_rows == len(facts["rows"]) == table.scan().count()
    got = {column: of_arrow(_days(found[column], kind)) for column, kind in kinds.items()}
    want = {column: [of_expected(row[column], kind) for row in facts["rows"]] for column, kind in kinds.items()}
    assert _sorted(got, tags) == _sorted(want, tags)


def _sorted(columns: dict[str, list[Any]], tags: list[str]) -> list[tuple[Any, ...]]:
    """Returns rows by device and time: the devices of a table have no order."""
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    rows.sort(key=lambda row: ([(row[tag] is not None, row[tag] or b"") for tag in tags], row["time"]))
    return [tuple(repr(value) for value in row.values()) for row in rows]


@pytest.mark.parametrize("case", CUT, ids=lambda case: case.name)
def test_what_is_left_of_cut_files_is_repaired(case: pathlib.Path, tmp_path: pathlib.Path) -> None:
    facts = expected(case)
    assert not ts.verify(_file(case)).ok
    report = ts.repair(_file(case), tmp_path / "whole.tsfile")
    assert report.findings
    devices = facts.get("devices")
    if devices is None:
        # All data of the uncut file is there: the case of the same version without the cut lists it.
        uncut = case.parent / f"{case.name.split('-')[0]}-multi"
        devices = expected(uncut)["devices"]
    container = ts.open(tmp_path / "whole.tsfile", text_as_binary=True)
    # A device whose chunks are all lost has a name and no rows.
    assert {device for device in container if container[device].scan().count()} == set(devices)
    for device, series in devices.items():
        _assert_device(container[device], series)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_the_original_refuses_is_refused(case: pathlib.Path) -> None:
    with pytest.raises(ts.DataError):
        ts.open(_file(case), format="tsfile")


ORIGINAL = """
import json, sys, tsfile
path, names = sys.argv[1], json.loads(sys.argv[2])
# The reader owns what a query reads.
with tsfile.TsFileReader(path) as reader:
    for device, measurement in names:
        points = []
        try:
            with reader.query_timeseries(device, [measurement], -(2**62), 2**62) as found:
                while found.next():
                    points.append([found.get_value_by_index(1), found.get_value_by_index(2)])
        except Exception:
            continue
        print(json.dumps([device, measurement, points], default=str), flush=True)
"""

COMPARED = {
    "v4-aligned": 5, "v4-aligned-one-page": 3, "v4-blob": 0, "v4-boolean": 2, "v4-date": 10, "v4-double": 9, "v4-extremes": 6,
    "v4-float": 10, "v4-int32": 16, "v4-int64": 14, "v4-multi": 17, "v4-names": 0, "v4-string": 4, "v4-text": 4,
    "v4-timestamp": 10, "v4-wide": 280, "v4py-2diff-overflow": 3, "v4py-camel": 0, "v4py-tree": 16,
}  # fmt: skip
"""How many series of a case are compared at least; the package refuses some encodings."""


def _misread(device: str, measurement: str, stored: dict[str, Any]) -> bool:
    """Whether the package reads other values than were written, or the comparison has no form for them."""
    kind, encoding = stored["type"], stored.get("encoding")
    return (
        kind in ("VECTOR", "BLOB")
        or "written" in stored and encoding != "TS_2DIFF"
        or (kind, encoding) in (("FLOAT", "RLBE"), ("DOUBLE", "RLBE"), ("INT64", "RLE"))
        # It finds no series with such names.
        or not (device + measurement).isascii()
    )


def _theirs(points: list[list[Any]]) -> str:
    """Returns points without those of the other series of an aligned device."""
    return str([[at, value] for at, value in points if value is not None])


def _ours(table: ts.Table, measurement: str) -> str:
    """Returns points as the package has them: its strings end at a NUL."""
    rows = table.scan(["time", measurement], f'"{measurement}" IS NOT NULL').to_arrow()
    values = rows[measurement]
    values = values.cast(pyarrow.int64()) if pyarrow.types.is_timestamp(values.type) else values
    shown = [value.partition("\0")[0] if isinstance(value, str) else value for value in values.to_pylist()]
    shown = [str(value) if isinstance(value, datetime.date) else value for value in shown]
    return str([list(pair) for pair in zip(rows["time"].cast(pyarrow.int64()).to_pylist(), shown, strict=True)])


@pytest.mark.parametrize("case", LIVE, ids=lambda case: case.name)
def test_series_are_those_of_the_python_package_of_tsfile(case: pathlib.Path) -> None:
    """The package reads files of the newest version only. It runs in a process of its own, which it may end."""
    pytest.importorskip("tsfile")
    container = ts.open(_file(case))
    series = {
        (device, measurement): stored
        for device, found in expected(case)["devices"].items()
        for measurement, stored in list(found.items())[:10]
        if not _misread(device, measurement, stored)
    }
    command = [sys.executable, "-c", ORIGINAL, str(_file(case)), json.dumps(list(series))]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    compared = 0
    for line in run.stdout.splitlines():
        device, measurement, points = json.loads(line)
        assert _ours(container[device], measurement) == _theirs(points), (device, measurement)
        compared += 1
    assert compared >= COMPARED.get(case.name, 1), run.stderr
