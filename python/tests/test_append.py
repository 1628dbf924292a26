"""Adding to files that exist."""

from __future__ import annotations

import pathlib

import numpy
import pytest
import tesselle as ts


def test_cells_along_an_axis(tmp_path: pathlib.Path) -> None:
    cells = numpy.arange(24.0).reshape(4, 6)
    path = tmp_path / "run.tet"
    ts.write(cells, path, chunk=(2, 3))
    report = ts.append(cells + 100, path)
    assert report["format"] == "tet" and report["rows"] == 24
    found = ts.open(path).table().array()
    assert numpy.array_equal(found[...], numpy.concatenate([cells, cells + 100]))
    ts.append(numpy.zeros((8, 2)), path, axis=1)
    assert ts.open(path).table().array().shape == (8, 8)
    ts.append(numpy.zeros((8, 1)), path, axis=-1)
    assert ts.open(path).table().array().shape == (8, 9)
    for axis in (2, -3):
        with pytest.raises(KeyError, match=str(axis)):
            ts.append(numpy.zeros((8, 9)), path, axis=axis)
    with pytest.raises(ts.InvalidCall):
        ts.append(numpy.zeros((3, 3)), path)


@pytest.mark.parametrize("ending", ["tsfile", "tatami", "tiledb"])
def test_rows(ending: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / f"rows.{ending}"
    options = {"tsfile": {"device": "root.d"}, "tiledb": {"dims": ["time"]}}.get(ending, {})
    ts.write({"time": [1, 2, 3], "v": [0.5, 1.5, 2.5]}, path, **options)
    more = {"time": [4, 5], "v": [3.5, 4.5]} if ending != "tiledb" else {"time": [1, 3], "v": [3.5, 4.5]}
    report = ts.append(more, path)
    assert report["rows"] == 2
    found = ts.scan(path, columns=["v"]).to_arrow()["v"].to_pylist()
    assert sorted(found) == ([0.5, 1.5, 2.5, 3.5, 4.5] if ending != "tiledb" else [1.5, 3.5, 4.5])


def test_what_cannot_grow_is_refused(tmp_path: pathlib.Path) -> None:
    ts.write({"a": [1]}, tmp_path / "a.parquet")
    with pytest.raises(ts.Error):
        ts.append({"a": [2]}, tmp_path / "a.parquet")
    with pytest.raises(FileNotFoundError) as missing:
        ts.append({"a": [2]}, tmp_path / "missing.tatami")
    assert isinstance(missing.value, ts.NotFound) and "missing.tatami" in str(missing.value)
    assert ts.scan(tmp_path / "a.parquet").count() == 1
