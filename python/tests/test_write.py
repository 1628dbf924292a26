"""Writing and converting."""

from __future__ import annotations

import datetime
import pathlib
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest
import tesselle as ts
import tesselle._write
from conftest import plain

ROWS = {
    "time": pyarrow.array([1, 2, 3], pyarrow.timestamp("ms")),
    "a": pyarrow.array([1.5, None, 2.5]),
    "b": pyarrow.array(["x", "y", None]),
}


@pytest.mark.parametrize("make", [lambda t: t, lambda t: t.to_batches()[0], polars.DataFrame, lambda t: t.to_pandas()])
@pytest.mark.parametrize("ending", ["tatami", "parquet", "arrow", "csv", "jsonl", "tsfile"])
def test_rows_of_all_kinds(ending: str, make: Any, tmp_path: pathlib.Path) -> None:
    table = pyarrow.table(ROWS)
    path = tmp_path / f"rows.{ending}"
    options = {"device": "root.d"} if ending == "tsfile" else {}
    report = ts.write(make(table), path, **options)
    assert report["rows"] == 3 and report["bytes"] > 0 and report["format"]
    found = ts.open(path).table().to_arrow()
    assert found["a"].to_pylist() == [1.5, None, 2.5]
    assert found["b"].to_pylist() == ["x", "y", None]


def test_plain_python(tmp_path: pathlib.Path) -> None:
    ts.write({"a": [1, 2]}, tmp_path / "dict.tatami")
    ts.write([{"a": 1}, {"a": 2}], tmp_path / "rows.tatami")
    ts.write(iter(pyarrow.table({"a": [1, 2]}).to_batches()), tmp_path / "batches.tatami")
    for name in ("dict", "rows", "batches"):
        assert ts.scan(tmp_path / f"{name}.tatami").to_arrow()["a"].to_pylist() == [1, 2]


PARTS = {
    "tables": lambda at: pyarrow.table({"a": [at, at + 1]}),
    "batches": lambda at: pyarrow.record_batch({"a": [at, at + 1]}),
    "polars": lambda at: polars.DataFrame({"a": [at, at + 1]}),
    "pandas": lambda at: pandas.DataFrame({"a": [at, at + 1]}),
    "scans": lambda at: ts.sql(f"SELECT {at} AS a UNION ALL SELECT {at} + 1 AS a"),
}


@pytest.mark.parametrize("kind", PARTS)
def test_parts_are_taken_one_by_one(kind: str, tmp_path: pathlib.Path) -> None:
    done: list[int] = []

    def parts() -> Any:
        for at in range(0, 40, 2):
            yield PARTS[kind](at)
            done.append(at)

    source = tesselle._write.arrow_of(parts())
    assert len(done) <= 1
    reader = pyarrow.RecordBatchReader.from_stream(source)
    assert reader.read_next_batch().num_rows and len(done) <= 2
    ts.write(parts(), tmp_path / "parts.parquet")
    assert sorted(ts.scan(tmp_path / "parts.parquet").to_arrow()["a"].to_pylist()) == list(range(40))
    ts.write(({"a": at} for at in range(3)), tmp_path / "rows.parquet")
    assert ts.scan(tmp_path / "rows.parquet").count() == 3


def test_series_containers_and_columns_of_nulls(tmp_path: pathlib.Path) -> None:
    for series in (polars.Series("a", [1, 2]), pandas.Series([1, 2], name="a")):
        ts.write(series, tmp_path / "series.parquet", overwrite=True)
        assert ts.scan(tmp_path / "series.parquet").to_arrow().to_pydict() == {"a": [1, 2]}
        assert ts.sql("SELECT sum(a) FROM t", t=series).fetchall() == [(3,)]
    container = ts.open(tmp_path / "series.parquet")
    assert ts.sql("SELECT sum(a) FROM t", t=container).fetchall() == [(3,)]
    assert ts.write(container, tmp_path / "copy.tatami")["rows"] == 2
    # Polars gives such columns a buffer that Arrow does not have.
    nulls = polars.DataFrame({"a": [1, 2], "n": [None, None], "l": [[None], []]})
    for frame in (nulls, nulls.lazy()):
        ts.write(frame, tmp_path / "nulls.parquet", overwrite=True)
        assert ts.scan(tmp_path / "nulls.parquet").to_polars().equals(nulls)
        assert ts.sql("SELECT count(*), count(n) FROM t", t=frame).fetchall() == [(2, 0)]


def test_categories_come_back(tmp_path: pathlib.Path) -> None:
    words = ["x", None, "y", "x"]
    frame = polars.DataFrame(
        {
            "time": range(4),
            "category": polars.Series(words, dtype=polars.Categorical),
            "enum": polars.Series(words, dtype=polars.Enum(["y", "x"])),
        }
    )
    for ending in ("parquet", "arrow", "tatami", "tsfile", "tiledb", "csv", "jsonl"):
        path = tmp_path / f"words.{ending}"
        ts.write(frame, path, **{"tsfile": {"device": "root.d"}, "tiledb": {"dims": ["time"]}}.get(ending, {}))  # type: ignore[arg-type]
        found = ts.scan(path).to_arrow()
        assert found["category"].to_pylist() == found["enum"].to_pylist() == words, ending
    pandas_frame = pandas.DataFrame({"category": pandas.Categorical(words)})
    ts.write(pandas_frame, tmp_path / "pandas.parquet")
    assert ts.scan(tmp_path / "pandas.parquet").to_arrow()["category"].to_pylist() == words


def test_parts_that_are_no_tables(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ts.InvalidCall, match="no rows"):
        ts.write(iter([]), tmp_path / "none.parquet")
    with pytest.raises(TypeError, match="not tabular"):
        ts.write(iter([1, 2]), tmp_path / "none.parquet")
    with pytest.raises(TypeError, match="not tabular"):
        ts.write(iter([{"a": 1}, 5]), tmp_path / "none.parquet")
    for other in ({"b": [1]}, {"a": ["x"]}):
        mixed = iter([pyarrow.table({"a": [1]}), pyarrow.table(other)])
        with pytest.raises(ts.Error):
            ts.write(mixed, tmp_path / "none.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["tet", "zarr", "tiledb", "npy"])
def test_axes_are_named(ending: str, tmp_path: pathlib.Path) -> None:
    cells, path = numpy.arange(6.0).reshape(2, 3), tmp_path / f"a.{ending}"
    for options in ({"dims": ["y", "x"]}, {"dims": "y,x"}, {"axes": ("y", "x")}):
        report = ts.write(cells, path, overwrite=True, **options)  # type: ignore[arg-type]
        found = ts.open(path).table().array()
        assert numpy.array_equal(found, cells)
        if ending == "npy":
            assert report["metadata"]["lost"] == ["the names of the axes: y, x"]
        else:
            assert found.dims == ("y", "x") and report["metadata"]["lost"] == []
    for wrong in ({"dims": ["y"]}, {"dims": ["y", "x", "z"]}, {"dims": ["y", "x"], "axes": ["y", "x"]}, {"dims": [0, 1]}, {"shape": (3, 2)}, {"fill": 0}):
        with pytest.raises(ts.InvalidCall):
            ts.write(cells, path, overwrite=True, **wrong)  # type: ignore[arg-type]


def test_the_time_of_a_fragment_is_a_datetime(tmp_path: pathlib.Path) -> None:
    for at in (datetime.datetime(1970, 1, 1, 0, 0, 5), 5000, "5000", numpy.datetime64(5, "s")):
        ts.write({"x": [1], "v": [0.5]}, tmp_path / "a.tiledb", dims="x", timestamp=at, overwrite=True)
        assert ts.open(tmp_path / "a.tiledb").info()["fragments"][0]["timestamps"] == [5000, 5000]


def test_columns_are_chosen(tmp_path: pathlib.Path) -> None:
    rows = pyarrow.table({"a": [1, 2], "b": [[1], [2]], "c": ["x", "y"]})
    with pytest.raises(ts.InvalidCall, match=r'columns=\["a", "c"\]'):
        ts.write(rows, tmp_path / "rows.csv")
    for data in (rows, polars.DataFrame(rows), iter(rows.to_batches(max_chunksize=1)), rows.to_pydict(), rows.to_pylist()):
        assert ts.write(data, tmp_path / "rows.csv", columns=["c", "a"], overwrite=True)["rows"] == 2
        assert ts.scan(tmp_path / "rows.csv").to_arrow().to_pydict() == {"c": ["x", "y"], "a": [1, 2]}
    ts.write(rows, tmp_path / "rows.tatami", columns="a")
    with pytest.raises(ts.InvalidCall, match="columns="):
        ts.append(rows, tmp_path / "rows.tatami")
    assert ts.append(rows, tmp_path / "rows.tatami", columns=["a"])["rows"] == 2
    assert ts.scan(tmp_path / "rows.tatami").to_arrow().to_pydict() == {"a": [1, 2, 1, 2]}
    with pytest.raises(KeyError, match="'d' does not exist"):
        ts.write(rows, tmp_path / "other.parquet", columns=["d"])
    for data in (numpy.zeros(3), numpy.zeros((2, 2))):
        with pytest.raises(ts.InvalidCall, match="an array has none"):
            ts.write(data, tmp_path / "other.npy", columns=["a"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.csv", "rows.tatami"]


def test_rows_that_are_null_as_a_whole_are_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ts.InvalidCall, match="null as a whole"):
        ts.write(pyarrow.array([{"a": 1}, None]), tmp_path / "rows.parquet")
    assert ts.write(pyarrow.array([{"a": 1}, {"a": None}]), tmp_path / "rows.parquet")["rows"] == 2


def test_rows_have_the_columns_of_all_of_them(tmp_path: pathlib.Path) -> None:
    ts.write([{"a": 1}, {"b": "x", "a": 2}, {}], tmp_path / "rows.parquet")
    found = ts.scan(tmp_path / "rows.parquet").to_arrow().to_pylist()
    assert found == [{"a": 1, "b": None}, {"a": 2, "b": "x"}, {"a": None, "b": None}]


def test_parts_are_widened_and_not_rounded(tmp_path: pathlib.Path) -> None:
    parts = [pyarrow.table({"a": pyarrow.array([0.1], kind)}) for kind in ("float32", "float64")]
    with pytest.raises(ts.Error):
        ts.write(iter(parts), tmp_path / "parts.parquet")
    assert list(tmp_path.iterdir()) == []
    ts.write(iter(parts[::-1]), tmp_path / "parts.parquet")
    found = ts.scan(tmp_path / "parts.parquet").to_arrow()["a"]
    assert found.to_pylist() == [0.1, float(numpy.float32(0.1))]


def test_settings_are_keywords(tmp_path: pathlib.Path) -> None:
    cells = numpy.arange(100.0).reshape(20, 5)
    ts.write(cells, tmp_path / "a.tet", chunk=(10, 5), codec="zstd", level=3)
    assert ts.open(tmp_path / "a.tet").table().array().chunks == (10, 5)
    assert ts.open(tmp_path / "a.tet").chunks()[0]["codec"] == "zstd"
    ts.write(cells, tmp_path / "b.tet", chunk="10,5")
    assert ts.open(tmp_path / "b.tet").table().array().chunks == (10, 5)
    ts.write(cells, tmp_path / "b.tet", chunk=numpy.array([4, 5]), level=numpy.int64(3), codec="zstd", overwrite=True)
    assert ts.open(tmp_path / "b.tet").table().array().chunks == (4, 5)
    key = bytes(range(32))
    for form in (key, f"hex:{key.hex()}", f"hex:{key.hex()}".encode()):
        ts.write(cells, tmp_path / "secret.tiledb", key=form, overwrite=True)
        assert numpy.array_equal(ts.open(tmp_path / "secret.tiledb", key=key).table()[...], cells)
    ts.write({"x": [1], "v": [0.5]}, tmp_path / "wide.tiledb", dims="x", domain_x=(-5, 9))
    assert ts.append({"x": [-5, 9], "v": [1.5, 2.5]}, tmp_path / "wide.tiledb")["rows"] == 2
    rows = {"y": [1, 5, 9], "x": [2, 2, 8], "v": [0.5, 1.5, 2.5]}
    ts.write(rows, tmp_path / "c.tiledb", dims=["y", "x"], filters_v="zstd")
    info = ts.open(tmp_path / "c.tiledb").info()
    assert info["kind"] == "sparse"
    column = next(c for c in info["tables"][0]["columns"] if c["name"] == "v")
    assert column["filters"][0]["name"] == "zstd"


def test_metadata_is_kept(tmp_path: pathlib.Path) -> None:
    for ending in ("tiledb", "tatami"):
        path = tmp_path / f"m.{ending}"
        ts.write({"v": [1.0, 2.0]}, path, metadata={"unit": "m"})
        assert ts.open(path).metadata["unit"] == "m", ending
    ts.write(numpy.zeros((2, 2), "f4"), tmp_path / "m.tet", metadata={"unit": "m"})
    assert ts.open(tmp_path / "m.tet").table().attrs["unit"] == "m"
    numbers: dict[Any, Any] = {"scale": numpy.float32(1.5), "levels": numpy.arange(3), 5: True}
    ts.write(numpy.zeros((2, 2)), tmp_path / "n.zarr", metadata=numbers)
    assert ts.open(tmp_path / "n.zarr").table().attrs == {"scale": 1.5, "levels": [0, 1, 2], "5": True}
    for raw in ([b"x"], {"n": float("nan")}):
        with pytest.raises(ts.InvalidCall, match="'raw' has no JSON form"):
            ts.write({"v": [1]}, tmp_path / "o.tatami", metadata={"raw": raw})
    with pytest.raises(ts.InvalidCall, match="a mapping"):
        ts.write({"v": [1]}, tmp_path / "o.tatami", metadata=[("raw", 1)])  # type: ignore[arg-type]


def test_nothing_is_left_of_a_write_that_fails(tmp_path: pathlib.Path) -> None:
    def rows() -> Any:
        yield pyarrow.record_batch({"a": [1]})
        raise RuntimeError("the source ended")

    reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema([("a", pyarrow.int64())]), rows())
    with pytest.raises((ts.Error, RuntimeError)):
        ts.write(reader, tmp_path / "x.tatami")
    assert list(tmp_path.iterdir()) == []


def test_convert(plant, tmp_path: pathlib.Path) -> None:  # type: ignore[no-untyped-def]
    path, wanted = plant
    seen: list[tuple[int, int]] = []
    report = ts.convert(path, tmp_path / "p.parquet", progress=lambda done, total: seen.append((done, total)))
    assert report["rows"] == 1000 and seen and seen[-1][0] == seen[-1][1]
    assert plain(ts.scan(tmp_path / "p.parquet").to_arrow()).equals(plain(wanted))
    ts.convert(path, tmp_path / "q.csv", columns=["speed", "count"], where="count < 5", cast={"speed": "float32"})
    found = ts.scan(tmp_path / "q.csv").to_arrow()
    assert found.column_names == ["speed", "count"] and found.num_rows == sum(i % 97 < 5 for i in range(1000))
    with pytest.raises(ts.InvalidCall):
        ts.convert(path, tmp_path / "q.csv")
    ts.convert(path, tmp_path / "q.csv", overwrite=True, limit=3)
    assert ts.scan(tmp_path / "q.csv").count() == 3

    class Bar:
        total, n = 0, 0

        def update(self, step: int) -> None:
            self.n += step

    bar = Bar()
    ts.convert(path, tmp_path / "r.parquet", progress=bar)
    assert bar.n == bar.total > 0
    ts.convert(path, tmp_path / "s.parquet", progress=True)


def test_arrays_of_others(tmp_path: pathlib.Path) -> None:
    class Proxies:
        """What h5py has for the axes of a dataset."""

        def __iter__(self) -> Any:
            return iter([object(), object()])

    class Stored:
        dims = Proxies()

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            return numpy.arange(6.0).reshape(2, 3)

    ts.write(Stored(), tmp_path / "stored.tet")
    assert ts.open(tmp_path / "stored.tet").table().array().dims == ("i0", "i1")
    alone = ts.write(numpy.array(5.0), tmp_path / "alone.npy")
    assert "the shape ()" in alone["metadata"]["lost"][0]
    masked = numpy.ma.array([1.0, 2.0], mask=[False, True])
    assert "the mask" in ts.write(masked, tmp_path / "masked.npy")["metadata"]["lost"][0]
    assert ts.write(numpy.ma.array([1.0, 2.0]), tmp_path / "plain.npy")["metadata"]["lost"] == []


def test_times_of_python_and_pandas(tmp_path: pathlib.Path) -> None:
    frame = pandas.DataFrame({"at": [datetime.datetime(2024, 5, 1), datetime.datetime(2024, 5, 2)], "v": [1, 2]})
    ts.write(frame, tmp_path / "t.tatami", cast=None)
    back = ts.scan(tmp_path / "t.tatami").to_pandas()
    assert back["at"].astype("datetime64[us]").tolist() == frame["at"].astype("datetime64[us]").tolist()


def test_columns_are_cast(tmp_path: pathlib.Path) -> None:
    days = [datetime.datetime(2024, 5, 1), datetime.datetime(2024, 5, 2, 3, 4, 5)]
    frame = pandas.DataFrame({"time": pandas.Series(days, dtype="datetime64[us]"), "v": [1.5, 2.5]})
    path = tmp_path / "t.tsfile"
    with pytest.raises(ts.InvalidCall, match='cast={"time": "timestamp_ms"}'):
        ts.write(frame, path, device="root.d")
    ts.write(frame, path, device="root.d", cast={"time": "timestamp_ms"})
    found = ts.scan(path).to_arrow()
    assert found.schema.field("time").type.unit == "ms" and [t.replace(tzinfo=None) for t in found["time"].to_pylist()] == days
    later = frame.assign(time=frame["time"] + pandas.Timedelta("7D"))
    ts.append(later, path, cast={"time": "timestamp_ms"})
    assert ts.scan(path).count() == 4
    report = ts.write(frame, path, device="root.d", cast="auto", overwrite=True)
    assert [change["column"] for change in report["changed_types"]] == ["time"]
    with pytest.raises(KeyError, match="nobody"):
        ts.write(frame, tmp_path / "n.parquet", cast={"nobody": "int64"})
    with pytest.raises(ts.InvalidCall, match="does not fit int8"):
        ts.write({"v": [1, 1000]}, tmp_path / "n.parquet", cast={"v": "int8"})
    assert not (tmp_path / "n.parquet").exists()
    ts.write({"v": [1, 2]}, tmp_path / "n.parquet", cast={"v": "int8"})
    assert ts.scan(tmp_path / "n.parquet").to_arrow()["v"].type == pyarrow.int8()
    with pytest.raises(ts.InvalidCall, match="auto"):
        ts.append(later, path, cast="auto")


def test_lazy_sources_are_written(pages, tmp_path: pathlib.Path) -> None:  # type: ignore[no-untyped-def]
    import polars
    import pyarrow.dataset

    path, wanted = pages
    lazy = polars.DataFrame(wanted).lazy().filter(polars.col("id") < 100)
    assert ts.write(lazy, tmp_path / "l.parquet")["rows"] == 100
    assert ts.write(ts.dataset(path), tmp_path / "d.parquet")["rows"] == 5000
    own = pyarrow.dataset.dataset(str(tmp_path / "d.parquet"))
    assert ts.sql("SELECT count(*) AS n FROM d", d=own).fetchall() == [(5000,)]


def test_frames_of_dask_are_written_part_by_part(tmp_path: pathlib.Path) -> None:
    dask_frames = pytest.importorskip("dask.dataframe")
    frame = pandas.DataFrame({"a": range(10), "s": [f"s{i % 3}" for i in range(10)]})
    lazy = dask_frames.from_pandas(frame, npartitions=3)
    assert ts.write(lazy, tmp_path / "d.parquet")["rows"] == 10
    found = ts.scan(tmp_path / "d.parquet", columns=["a", "s"]).to_arrow().to_pydict()
    assert found == {"a": frame["a"].tolist(), "s": frame["s"].tolist()}
    assert ts.sql("SELECT sum(a) FROM t", t=lazy).fetchall() == [(45,)]


def test_xarray_in(tmp_path: pathlib.Path) -> None:
    import xarray

    cells = xarray.DataArray(numpy.arange(12.0).reshape(3, 4), dims=["lat", "lon"], name="wind")
    for data in (cells, cells.to_dataset()):
        ts.write(data, tmp_path / "x.tet", overwrite=True)
        container = ts.open(tmp_path / "x.tet")
        assert list(container) == ["wind"]
        assert container["wind"].array().dims == ("lat", "lon")
    labelled = cells.assign_coords(lat=[10.0, 20.0, 30.0]).assign_attrs(unit="m/s", level=numpy.int64(3))
    report = ts.write(labelled, tmp_path / "x.npy", metadata={"level": 5})
    assert "the coordinates 'lat'" in report["metadata"]["lost"]
    ts.write(labelled.drop_vars("lat"), tmp_path / "x.tiledb", metadata={"level": 5})
    assert ts.open(tmp_path / "x.tiledb").metadata == {"unit": "m/s", "level": 5}
    both = xarray.Dataset({"u": cells, "v": cells * 2})
    ts.write(both, tmp_path / "both.tet")
    found = ts.open(tmp_path / "both.tet")
    assert set(found) == {"u", "v"}
    assert numpy.array_equal(found["v"][...], cells.to_numpy() * 2)
    for ending in ("tet", "zarr", "tiledb"):
        ts.write(both, tmp_path / f"all.{ending}")
        read = xarray.open_dataset(tmp_path / f"all.{ending}", engine="tesselle")
        assert set(read.data_vars) == {"u", "v"} and read["u"].dims == ("lat", "lon"), ending
        assert numpy.array_equal(read["v"], both["v"]), ending
