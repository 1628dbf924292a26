"""TsFiles of the original engine, every series of expected.json."""

from __future__ import annotations

import pathlib
from typing import Any

import pyarrow
import pytest
import tesselle as ts
from conftest import cases, expected
from values import assert_same

CASES = cases("tsfile")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_series_are_those_of_the_original(case: pathlib.Path) -> None:
    says = expected(case)
    devices: dict[str, Any] = says.get("devices") or {}
    if not devices or not says.get("complete", False):
        pytest.skip("not a whole file of devices")
    container = ts.open(case / says.get("file", "data.tsfile"), text_as_binary=True)
    for device, series in devices.items():
        table = container[device]
        for measurement, stored in series.items():
            points = stored.get("written", stored["points"])
            rows = table.scan(columns=["time", measurement], where=f'"{measurement}" IS NOT NULL').to_arrow()
            assert_same(rows["time"], [time for time, _ in points], "INT64")
            column = rows[measurement]
            if stored["type"] == "DATE":
                column = pyarrow.chunked_array([[int(day.strftime("%Y%m%d")) for day in column.to_pylist()]])
            assert_same(column, [value for _, value in points], stored["type"])
