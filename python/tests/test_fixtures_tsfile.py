"""TsFiles of the original engine, every series of expected.json."""

from __future__ import annotations

import pathlib
from typing import Any

import pyarrow
import pyarrow.compute
import pytest
import tesselle as ts
from conftest import cases, expected
from values import assert_same

CASES = cases("tsfile")


LOSSY = ("RLE", "TS_2DIFF", "SPRINTZ", "RLBE", "CAMEL")


def _points(series: dict[str, Any]) -> dict[int, Any]:
    """Returns times and values: what lossy encodings mean, and what was written where the original misreads it."""
    points = dict(series["points"])
    if "written" in series and series["encoding"] not in LOSSY:
        points = dict(series["written"])
    return dict(sorted(points.items()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_series_are_those_of_the_original(case: pathlib.Path) -> None:
    says = expected(case)
    devices: dict[str, Any] = says.get("devices") or {}
    if not devices or not says.get("complete", False) or "tables" in says:
        pytest.skip("not a whole file of devices")
    container = ts.open(case / says.get("file", "data.tsfile"), text_as_binary=True)
    for device, series in devices.items():
        table = container[device]
        for measurement, stored in series.items():
            if stored["type"] == "VECTOR":
                continue
            points = _points(stored)
            rows = table.scan(columns=["time", measurement], where=f'"{measurement}" IS NOT NULL').to_arrow()
            if len(stored.get("written", [])) > len(points):
                # The original stops early; what it reads is compared.
                times = pyarrow.array(list(points), rows["time"].type)
                rows = rows.filter(pyarrow.compute.is_in(rows["time"], times))
            assert_same(rows["time"], list(points), "INT64")
            column = rows[measurement]
            if stored["type"] == "DATE":
                column = pyarrow.chunked_array([[int(day.strftime("%Y%m%d")) for day in column.to_pylist()]])
            assert_same(column, list(points.values()), stored["type"])
