"""Types that are kept, and reductions of the engine."""

from __future__ import annotations

import pathlib

import numpy
import pytest
import tesselle as ts


def test_truth_values_of_npy_stay_truth_values(tmp_path: pathlib.Path) -> None:
    cells = numpy.arange(12).reshape(3, 4) % 3 == 0
    numpy.save(tmp_path / "a.npy", cells)
    read = ts.open(tmp_path / "a.npy").table().array()
    assert read.dtype == bool and (read[...] == cells).all()
    ts.write(cells, tmp_path / "b.npy")
    assert numpy.load(tmp_path / "b.npy").dtype == bool
    assert (numpy.load(tmp_path / "b.npy") == cells).all()
    report = ts.write(cells, tmp_path / "c.zarr")
    assert any("uint8" in lost for lost in report["metadata"]["lost"])


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "f2", "f4", "f8"])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2)])
def test_quantiles_are_those_of_numpy(dtype: str, axis: object, tmp_path: pathlib.Path) -> None:
    cells = numpy.random.default_rng(1).normal(scale=40, size=(6, 7, 8)).astype("i2").astype(dtype)
    if cells.dtype.kind == "f":
        cells[0, 0, 0] = numpy.nan
    ts.write(cells, tmp_path / "a.npy")
    array, wide = ts.open(tmp_path / "a.npy").table().array(), cells.astype("f8")
    assert numpy.array_equal(array.median(axis), numpy.median(wide, axis), equal_nan=True)
    found, wanted = array.quantile([0.1, 0.75], axis), numpy.quantile(wide, [0.1, 0.75], axis)
    assert found.dtype == "f8" and numpy.allclose(found, wanted, rtol=1e-14, equal_nan=True)


def test_what_a_format_cannot_do_is_a_wrong_call(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.parquet"
    with pytest.raises(ts.InvalidCall):
        ts.write(numpy.zeros((2, 2)), path)
    ts.write({"a": [1]}, path)
    with pytest.raises(ts.InvalidCall):
        ts.append({"a": [2]}, path)
    with pytest.raises(ts.Error):
        ts.verify("s3://bucket/a.parquet")
