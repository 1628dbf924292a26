"""Errors are exceptions with fields, worded for Python."""

from __future__ import annotations

import errno
import pathlib
import pickle
import subprocess
import sys

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
        again = pickle.loads(pickle.dumps(error))
        assert error.errno == again.errno == errno.ENOENT and str(error.filename).endswith("ran.tet")


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


def test_hints_name_keywords_that_the_call_has(tmp_path: pathlib.Path) -> None:
    key = bytes(range(32))
    secret = tmp_path / "secret.tiledb"
    ts.write(numpy.arange(6.0), secret, key=key)
    with pytest.raises(ts.DataError, match="give the key with key=…"):
        ts.open(secret)
    for options in ({}, {"key": key}):
        with pytest.raises(ts.DataError, match='source={"key": …} or TESSELLE_KEY'):
            ts.convert(secret, tmp_path / "plain.tiledb", **options)
    assert ts.convert(secret, tmp_path / "plain.npy", source={"key": key})["rows"] == 6
    with pytest.raises(ts.InvalidCall, match="source={'raw': …}"):
        ts.convert(secret, tmp_path / "raw.npy", raw=True)
    with pytest.raises(ts.DataError, match="tesselle.open"):
        ts.sql(f"SELECT * FROM '{secret}'")
    assert ts.sql("SELECT count(*) FROM t", t=ts.open(secret, key=key)).fetchall() == [(6,)]
    with pytest.raises(ts.InvalidCall, match=r"OPTIONS \('overwrite' 'true'\)"):
        ts.sql(f"COPY (SELECT 1 AS a) TO '{tmp_path / 'plain.npy'}'")


def test_hints_name_settings_as_keywords(tmp_path: pathlib.Path) -> None:
    rows = {"x": [1, 2], "v": [0.5, 1.5]}
    cases = [
        (rows, "a.tiledb", {"dims": "x", "kind": "dense"}, 'domain_x="low:high", or kind="sparse"'),
        (rows, "a.tiledb", {"dims": "x", "extent_x": 5}, 'add domain_x="low:high"'),
        ({"x": [1, 1], "v": [0.5, 1.5]}, "a.tiledb", {"dims": "x"}, 'dups="true"'),
        (numpy.zeros(3), "a.tet", {"level": 3}, 'add codec="zstd"'),
    ]
    for data, name, options, hint in cases:
        with pytest.raises(ts.InvalidCall) as raised:
            ts.write(data, tmp_path / name, **options)
        assert hint in str(raised.value.hint), raised.value


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


WITHOUT_PYARROW = {
    "ts.sql('SELECT 1 AS n').fetchall()": "pyarrow; install it with: pip install 'tesselle[arrow]'",
    "ts.scan(path).to_numpy()": "to_numpy() needs pyarrow",
    "next(ts.scan(path).to_batches())": "to_batches() needs pyarrow",
    "ts.scan(path).to_arrow()": "a table of pyarrow needs pyarrow",
    "ts.scan(path).schema.to_arrow()": "a schema of pyarrow needs pyarrow",
    "ts.write({'a': [1]}, path + '.tatami')": "data that is a dict needs pyarrow",
    "ts.sql('SELECT * FROM t', t={'a': [1]})": "data that is a dict needs pyarrow",
    "ts.sql('SELECT 1 AS n')._repr_html_()": "",
    "ts.open(path).table()._repr_html_()": "",
    "repr(ts.sql('SELECT 1 AS n'))": "",
}
WITHOUT_NUMPY = {
    "repr(ts.open(path).table().array())": "",
    "ts.open(path).table().array().read(out=bytearray(6 * 20 * 15 * 4))": "",
    "ts.open(path).table().array().read(0, out=memoryview(bytearray(20 * 15 * 4)).cast('f'))": "",
    "ts.open(path).table().array().nbytes": "",
}


@pytest.mark.parametrize("call", [*WITHOUT_PYARROW, *WITHOUT_NUMPY])
def test_without_other_libraries(call: str, field) -> None:  # type: ignore[no-untyped-def]
    script = f"""
import sys
sys.modules["pyarrow"] = None
if {call in WITHOUT_NUMPY}:
    sys.modules["numpy"] = None
import tesselle as ts
path = {field[0]!r}
{call}
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    wanted = (WITHOUT_PYARROW | WITHOUT_NUMPY)[call]
    assert (wanted in run.stderr and "pip install" in run.stderr) if wanted else run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"where": 5}, "where= is an SQL condition"),
        ({"slice": numpy.s_[0:3]}, "slice= is a box"),
        ({"limit": "5"}, "limit= is a number of rows"),
        ({"limit": -1}, "not negative"),
        ({"batch_rows": 1.5}, "batch_rows= is a number of rows"),
        ({"columns": [1]}, "by name"),
        ({"at": -1}, "before 1970"),
        ({"at": 1.5}, "a time is"),
        ({"at": "soon"}, "5 minutes ago"),
        ({"at": 1 << 64}, "64 bits"),
        ({"between": "now"}, "pair of times"),
    ],
)
def test_arguments_of_scans(options: dict[str, object], message: str, field) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ts.InvalidCall, match=message):
        ts.scan(field[0], **options)  # type: ignore[arg-type]


def test_times_are_those_of_the_command_line(tmp_path: pathlib.Path) -> None:
    ts.write(numpy.arange(4.0), tmp_path / "a.tiledb")
    assert len(ts.open(tmp_path / "a.tiledb", at="now").info()["fragments"]) == 1
    assert not ts.open(tmp_path / "a.tiledb", at="5 minutes ago").info()["fragments"]
    for early in ("90 Seconds ago", "2days ago", "1 week ago", "1000", "1970-01-02", "1970-01-01T00:00:01.5Z"):
        assert not ts.open(tmp_path / "a.tiledb", at=early).info()["fragments"], early
    assert len(ts.open(tmp_path / "a.tiledb", between=("1 hour ago", "now")).info()["fragments"]) == 1


def test_calls_over_files_take_names(tmp_path: pathlib.Path, field) -> None:  # type: ignore[no-untyped-def]
    path = pathlib.Path(field[0])
    assert ts.verify(path).ok and ts.diff(path, path).equal
    with open(path, "rb") as file:
        for call in (
            lambda: ts.verify(file),  # type: ignore[arg-type]
            lambda: ts.convert(file, tmp_path / "x.npy"),  # type: ignore[arg-type]
            lambda: ts.convert(path, file),  # type: ignore[arg-type]
            lambda: ts.search(file, "x"),  # type: ignore[arg-type]
            lambda: ts.diff(path, file),  # type: ignore[arg-type]
            lambda: ts.repair(file, tmp_path / "y.tet"),  # type: ignore[arg-type]
        ):
            with pytest.raises(TypeError, match="takes the name of a file"):
                call()


def test_an_array_is_no_table() -> None:
    for call in (lambda: ts.sql("SELECT * FROM t", t=numpy.arange(3)), lambda: ts.sql("SELECT * FROM t", t=numpy.zeros((2, 2)))):
        with pytest.raises(TypeError, match="{'value': array}"):
            call()
    assert ts.sql("SELECT sum(value) AS s FROM t", t={"value": numpy.arange(3)}).fetchall() == [(3,)]
