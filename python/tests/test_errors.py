"""Errors are exceptions with fields, worded for Python."""

from __future__ import annotations

import pathlib
import pickle

import numpy
import pyarrow as pa
import pytest
import tesselle as ts


def test_a_missing_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / "run.tet").write_bytes(b"x")
    for call in (ts.open, ts.scan, ts.verify):
        with pytest.raises(FileNotFoundError) as raised:
            call(tmp_path / "ran.tet")
        error = raised.value
        assert isinstance(error, ts.NotFound) and isinstance(error, ts.Error)
        assert "ran.tet" in str(error)


def test_fields_and_plain_form(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "bad.tatami"
    ts.write({"a": list(range(100))}, path)
    data = bytearray(path.read_bytes())
    data[ts.open(path).chunks()[0]["pages"][0]["offset"] + 40] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(ts.DataError) as raised:
        ts.open(path).table().to_arrow()
    error = raised.value
    assert isinstance(error, ValueError)
    assert error.kind and error.message and error.file and "bad.tatami" in error.file
    assert error.kind != "internal"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is ts.DataError
    for name in ("kind", "message", "file", "offset", "piece", "hint"):
        assert getattr(again, name) == getattr(error, name)
    assert str(again) == str(error)


def test_hints_speak_python(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.tatami"
    ts.write({"a": [1]}, path)
    with pytest.raises(ts.InvalidCall, match="overwrite=True") as raised:
        ts.write({"a": [1]}, path)
    assert "--" not in str(raised.value)
    with pytest.raises(KeyError, match="did you mean 'name'") as unknown:
        ts.write({"name": ["x"]}, tmp_path / "b.tatami")
        ts.scan(tmp_path / "b.tatami", columns=["nam"]).to_arrow()
    assert isinstance(unknown.value, ts.UnknownName) and isinstance(unknown.value, ts.InvalidCall)
    with pytest.raises(ts.InvalidCall, match="condition"):
        ts.scan(path, where="a >")
    with pytest.raises(KeyError, match="setting"):
        ts.write({"a": [1]}, tmp_path / "c.tatami", compresion="zstd")
    with pytest.raises(ts.InvalidCall):
        ts.write({"a": [1]}, tmp_path / "no-ending")


def test_no_hint_of_the_package_has_a_flag(tmp_path: pathlib.Path) -> None:
    rows = {"time": [3, 1, 2], "text": ["a", None, "c"], "list": [[1], [2], [3]]}
    seen = 0
    for ending in ("tsfile", "tet", "tiledb", "tatami", "npy", "zarr", "csv", "parquet"):
        try:
            ts.write(rows, tmp_path / f"x.{ending}")
        except ts.Error as error:
            seen += 1
            assert "--" not in str(error), str(error)
    assert seen


def test_arguments_of_other_kinds() -> None:
    with pytest.raises(TypeError):
        ts.open(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        ts.write(object(), "x.tet")
    with pytest.raises(TypeError):
        ts.write(numpy.array(["a"]), "x.tet")
    with pytest.raises(TypeError):
        ts.open("x.tet", nonsense=1)  # type: ignore[call-arg]


def test_a_time_is_refused_where_no_earlier_states_are_kept(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "rows.parquet"
    ts.write(pa.table({"x": [1, 2]}), file)
    with pytest.raises(ts.InvalidCall, match="no earlier states"):
        ts.open(file, at=5)
