"""TsFiles of the original engine: every series and every row of expected.json, and what is left of cut files."""

from __future__ import annotations

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
path, device, measurement = sys.argv[1:]
points = []
with tsfile.TsFileReader(path).query_timeseries(device, [measurement], -(2**62), 2**62) as found:
    while found.next():
        points.append([found.get_value_by_index(1), found.get_value_by_index(2)])
print(json.dumps(points, default=str))
"""


@pytest.mark.parametrize("case", LIVE, ids=lambda case: case.name)
def test_series_are_those_of_the_python_package_of_tsfile(case: pathlib.Path) -> None:
    """The package reads files of the newest version only. It runs in a process of its own, which it may end."""
    pytest.importorskip("tsfile")
    container = ts.open(_file(case))
    compared = 0
    for device, series in expected(case)["devices"].items():
        for measurement, stored in list(series.items())[:10]:
            command = [sys.executable, "-c", ORIGINAL, str(_file(case)), device, measurement]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if stored["type"] in ("VECTOR", "BLOB", "DATE") or run.returncode != 0:
                continue
            theirs = json.loads(run.stdout)
            rows = container[device].scan(["time", measurement], f'"{measurement}" IS NOT NULL').to_arrow()
            times = rows["time"].cast(pyarrow.int64()).to_pylist()
            values = rows[measurement]
            values = values.cast(pyarrow.int64()) if pyarrow.types.is_timestamp(values.type) else values
            assert str([[at, value] for at, value in zip(times, values.to_pylist(), strict=True)]) == str(theirs)
            compared += 1
    if not compared:
        pytest.skip("the original cannot read it")
