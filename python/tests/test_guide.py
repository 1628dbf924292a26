"""The examples of the guide and of the READMEs run as they are written."""

from __future__ import annotations

import doctest
import os
import pathlib
import re
import warnings
from typing import Any

import numpy
import pandas
import pytest
import tesselle as ts
import xarray

ROOT = pathlib.Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "python.md"


def test_the_examples_of_the_guide_run(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dask", "duckdb", "polars", "xarray"):
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        failed, tried = doctest.testfile(os.fspath(GUIDE), module_relative=False, optionflags=options)
    assert failed == 0 and tried > 0


@pytest.mark.parametrize("page", ["README.md", "python/README.md"])
def test_the_example_of_the_readme_runs(page: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), {})


def _setting(package: str, folder: pathlib.Path) -> dict[str, Any]:
    """Returns what the names in the right column of a table of the guide stand for."""
    cells = numpy.arange(120.0).reshape(6, 20)
    names: dict[str, Any] = {"ts": ts, "numpy": numpy, "cells": cells, "out": numpy.empty((6, 20)), "region": ...}
    if package == "tiledb":
        grid = xarray.DataArray(numpy.arange(400.0).reshape(20, 20), dims=["x", "y"], name="a", attrs={"unit": "m"})
        ts.write(grid, "dense.tiledb")
        frame = pandas.DataFrame({"x": [3, 1, 2], "a": [0.5, 1.5, 2.5]})
        return names | {"uri": "dense.tiledb", "frame": frame, "t": 2**62, "a": 0, "b": 2**62}
    if package == "tsfile":
        times = pandas.to_datetime([10, 20, 30], unit="ms").astype("datetime64[ms]")
        frame = pandas.DataFrame({"time": times, "speed": [0.5, 1.5, 2.5]})
        later = frame.assign(time=frame["time"] + pandas.Timedelta("1s"))
        (folder / "logs").mkdir()
        ts.write(frame, "logs/one.tsfile", device="root.d")
        names |= {"file": "logs/one.tsfile", "folder": "logs", "device": "root.d", "columns": ["speed"]}
        return names | {"start": 10, "end": 20, "frame": frame, "later": later}
    path = "wind.zarr" if package == "zarr" else "run.tet"
    ts.write(xarray.DataArray(cells, dims=["time", "x"]).to_dataset(name="wind"), path)
    return names | {"path": path, "array": ts.open(path).table().array()}


def _sheets() -> dict[str, list[str]]:
    """Returns the Python expressions in the right column of each table of the last section."""
    section = GUIDE.read_text(encoding="utf-8").partition("## From other packages")[2]
    found: dict[str, list[str]] = {}
    for table in re.findall(r"(?:^\|.*\n?)+", section, re.MULTILINE):
        head, _, *lines = table.splitlines()
        codes = [code for line in lines for code in re.findall(r"`([^`]+)`", line.split(" | ")[-1])]
        found[head.split("|")[1].strip()] = [code for code in codes if re.match(r"(ts|array|numpy|list)\b", code)]
    return found


SHEETS = _sheets()


@pytest.mark.parametrize("package", SHEETS)
def test_what_replaces_other_packages_runs(
    package: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = _setting(package, tmp_path)
    assert SHEETS[package]
    for code in SHEETS[package]:
        eval(code, names)
