"""The same tables and arrays through every partner library."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy
import pyarrow
import pyarrow.compute as pc
import pytest
import tesselle as ts
from conftest import plain


@pytest.fixture(params=["tatami", "parquet", "arrow", "tiledb"])
def pages(request: pytest.FixtureRequest, pages, tmp_path: pathlib.Path) -> tuple[str, pyarrow.Table]:  # type: ignore[no-untyped-def]
    """The same rows in a file of each kind."""
    if request.param == "tatami":
        return pages  # type: ignore[no-any-return]
    path = str(tmp_path / f"pages.{request.param}")
    ts.write(pages[1], path, **({"dims": ["id"]} if request.param == "tiledb" else {}))
    return path, pages[1]


@pytest.fixture(params=["tet", "zarr"])
def field(request: pytest.FixtureRequest, field, tmp_path: pathlib.Path) -> tuple[str, Any]:  # type: ignore[no-untyped-def]
    """The same cells in a file of each kind."""
    if request.param == "tet":
        return field  # type: ignore[no-any-return]
    path = str(tmp_path / f"field.{request.param}")
    ts.write(field[1], path, chunk=(2, 8, 5))
    return path, field[1]


def test_pyarrow(pages) -> None:  # type: ignore[no-untyped-def]
    path, wanted = pages
    table = ts.open(path).table()
    assert plain(pyarrow.table(table)).equals(plain(wanted))
    reader = pyarrow.RecordBatchReader.from_stream(table.scan(columns=["id"]))
    assert reader.read_all().num_rows == 5000
    dataset = ts.dataset(path)
    assert isinstance(dataset, pyarrow.dataset.Dataset) and dataset.schema.names == wanted.column_names
    assert dataset.count_rows() == 5000 and dataset.head(3).num_rows == 3
    for condition in CONDITIONS:
        found = dataset.to_table(columns=["id", "score"], filter=condition)
        assert plain(found).equals(plain(wanted.filter(condition).select(["id", "score"]))), condition
    assert dataset.to_table(columns={"twice": pc.field("id") * 2})["twice"][2].as_py() == 4


TYPES_WANTED: dict[str, list[tuple[Any, bool]]] = {
    "tiny": [(pyarrow.int64(), True), (pyarrow.int16(), True), (pyarrow.int8(), False), (pyarrow.float64(), False)],
    "code": [(pyarrow.int16(), True), (pyarrow.uint64(), True), (pyarrow.int8(), False)],
    "name": [(pyarrow.large_string(), True), (pyarrow.string_view(), True), (pyarrow.binary(), False),
        (pyarrow.dictionary(pyarrow.int32(), pyarrow.large_string()), True), (pyarrow.dictionary(pyarrow.int8(), pyarrow.string()), False)],
    "word": [(pyarrow.string(), True), (pyarrow.dictionary(pyarrow.int64(), pyarrow.string_view()), True), (pyarrow.int32(), False)],
    "half": [(pyarrow.float64(), True), (pyarrow.float16(), False), (pyarrow.int64(), False)],
    "many": [(pyarrow.large_list(pyarrow.int64()), True), (pyarrow.list_(pyarrow.int16()), False)],
    "raw": [(pyarrow.large_binary(), True), (pyarrow.binary_view(), True), (pyarrow.string(), False)],
    "at": [(pyarrow.timestamp("ns"), False), (pyarrow.int64(), False)],
}  # fmt: skip
"""Types that a consumer asks for, and whether they have the same values."""


@pytest.mark.parametrize("column", TYPES_WANTED)
def test_consumers_get_the_types_they_ask_for(column: str, tmp_path: pathlib.Path) -> None:
    rows = pyarrow.table(
        {
            "tiny": pyarrow.array([-1, None, 100], pyarrow.int16()),
            "code": pyarrow.array([0, 255, None], pyarrow.uint8()),
            "name": ["a", None, "it's"],
            "word": pyarrow.array(["x", None, "x"]).dictionary_encode(),
            "half": pyarrow.array([1.5, None, 2.5], pyarrow.float32()),
            "many": pyarrow.array([[1], [], None], pyarrow.list_(pyarrow.int32())),
            "raw": [b"a", None, b""],
            "at": pyarrow.array([1, None, 7], pyarrow.timestamp("us")),
        }
    )
    path = tmp_path / "rows.arrow"
    ts.write(rows, path)
    with open(path, "rb") as file:
        sources = (ts.scan(path), ts.open(path).table(), ts.scan(path).splits(1)[0], ts.scan(file), ts.sql(f"SELECT * FROM '{path}'"))
        for wanted, same in TYPES_WANTED[column]:
            at = rows.schema.get_field_index(column)
            asked = rows.schema.set(at, pyarrow.field(column, wanted))
            for source in sources:
                found = pyarrow.RecordBatchReader.from_stream(source, asked).read_all()
                assert found.schema.field(column).type == (wanted if same else rows.schema.field(column).type)
                assert found.to_pydict() == rows.to_pydict()
        for other in (rows.schema.remove(0), rows.schema.set(0, pyarrow.field("other", pyarrow.int16()))):
            for source in sources:
                with pytest.raises(ts.InvalidCall, match="requested schema"):
                    pyarrow.RecordBatchReader.from_stream(source, other)
                assert pyarrow.table(source).num_rows == 3


CONDITIONS: list[Any] = [
    pc.field("id") > 4000,
    (pc.field("id") >= 10) & (pc.field("id") < 20),
    (pc.field("id") < 3) | (pc.field("name") == "name 7"),
    pc.field("name").isin(["name 1", "it's"]),
    pc.field("score").is_null(),
    pc.field("score").is_valid() & (pc.field("score") <= 5.5),
    pc.field("at") >= pyarrow.scalar(4_000_000_000, pyarrow.timestamp("us")),
    ~(pc.field("id") > 10),
    pc.field("flag"),
    (pc.field("id") + 1) == 5,
    5 > pc.field("id"),
]


def test_filters_are_pushed_down(pages) -> None:  # type: ignore[no-untyped-def]
    from tesselle._arrow_filter import to_sql

    schema = pyarrow.schema(ts.open(pages[0]).table())
    pushed = [to_sql(condition, schema)[0] for condition in CONDITIONS]
    assert pushed[0] == '"id" > 4000'
    assert pushed[1] == '("id" >= 10) AND ("id" < 20)'
    assert pushed[3] == "\"name\" IN ('name 1', 'it''s')"
    assert pushed[6] == '"at" >= 4000000000'
    assert pushed[7] is None and pushed[9] is None
    assert to_sql(CONDITIONS[9], schema)[1] == {"id"}
    for condition, where in zip(CONDITIONS, pushed):
        if where is not None:
            rows = ts.scan(pages[0], where=where).to_arrow().filter(condition)
            assert rows.num_rows == pages[1].filter(condition).num_rows


def test_duckdb(pages, plant) -> None:  # type: ignore[no-untyped-def]
    duckdb = pytest.importorskip("duckdb")
    path, wanted = pages
    for source in (ts.dataset(path), ts.open(path).table(), ts.scan(path)):
        assert duckdb.sql("SELECT count(*), sum(id) FROM source").fetchall() == [(5000, sum(range(5000)))]
        assert duckdb.sql("SELECT id FROM source WHERE id BETWEEN 5 AND 7 AND name = 'name 6'").fetchall() == [(6,)]
    pages_, plant_ = ts.dataset(path), ts.dataset(plant[0])
    joined = duckdb.sql("SELECT count(*) FROM pages_ JOIN plant_ ON pages_.id = plant_.count").fetchall()
    assert joined == [(1000,)]
    last = duckdb.sql('SELECT max("at") FROM pages_ WHERE "at" < TIMESTAMP \'1970-01-01 00:10:00\'').fetchall()
    assert last[0][0].minute == 9


DUCKDB_FILTERS: dict[str, str | None] = {
    "name IN ('name 1', 'it''s')": """("name" IS NOT NULL) AND ("name" IN ('name 1', 'it''s'))""",
    "id IN (3, 99, 4000)": '("id" IS NOT NULL) AND ("id" IN (3, 99, 4000))',
    "name > 'name 3' AND id IN (3, 99)": """(("id" IS NOT NULL) AND ("id" IN (3, 99))) AND ("name" > 'name 3')""",
    "id IN (1, 5) OR name = 'name 1'": """(("id" IS NOT NULL) AND ("id" IN (1, 5))) OR ("name" = 'name 1')""",
    "day = DATE '1970-01-05'": """"day" = DATE '1970-01-05'""",
    "day IN (DATE '1970-01-05', DATE '1971-01-09')":
        """("day" IS NOT NULL) AND ("day" IN (DATE '1970-01-05', DATE '1971-01-09'))""",
    "day BETWEEN DATE '1960-01-05' AND DATE '1970-01-07'":
        """("day" >= DATE '1960-01-05') AND ("day" <= DATE '1970-01-07')""",
    "tiny = 4": '"tiny" = 4',
    "zoned < TIMESTAMPTZ '1970-01-01 00:00:10+00'": '"zoned" < 10000',
    "id IS NULL": '"id" IS NULL',
    "id <> 4": '"id" <> 4',
    "name NOT IN ('name 1')": None,
    "price > 3.5": None,
}  # fmt: skip


@pytest.mark.parametrize("where", DUCKDB_FILTERS)
def test_what_duckdb_filters_by_is_pushed_down(where: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = 5000
    original = table = pyarrow.table(
        {
            "id": pyarrow.array([None if i == 7 else i for i in range(rows)], pyarrow.int64()),
            "name": [None if i % 9 == 0 else f"name {i % 50}" for i in range(rows)],
            "day": pyarrow.array([i % 400 - 50 for i in range(rows)], pyarrow.date32()),
            "tiny": pyarrow.array([i % 200 for i in range(rows)], pyarrow.uint8()),
            "zoned": pyarrow.array([i * 1000 for i in range(rows)], pyarrow.timestamp("ms", "UTC")),
            "price": pyarrow.array([i * 100 % 999 for i in range(rows)], pyarrow.int64()).cast(pyarrow.decimal128(25, 2)),
            "score": [i / 2 for i in range(rows)],
            "other": ["a long string that nobody reads"] * rows,
        }
    )
    ts.write(table, tmp_path / "rows.parquet")
    asked = []
    narrowed = ts.Scan._narrowed

    def noted(scan: ts.Scan, columns: Any, where: str | None = None, *rest: Any, **options: Any) -> ts.Scan:
        asked.append((set(columns), where))
        return narrowed(scan, columns, where, *rest, **options)

    monkeypatch.setattr(ts.Scan, "_narrowed", noted)
    source = ts.dataset(tmp_path / "rows.parquet")
    query = f"SELECT count(*), sum(score) FROM {{}} WHERE {where}"
    assert duckdb.sql(query.format("source")).fetchall() == duckdb.sql(query.format("original")).fetchall()
    ((columns, pushed),) = asked
    assert pushed == DUCKDB_FILTERS[where]
    tested = {name for name in table.column_names if name in where.replace("'name", "")}
    assert columns <= {"score", *tested}


def test_polars(pages) -> None:  # type: ignore[no-untyped-def]
    import datetime

    import polars as pl

    path, wanted = pages
    frame = pl.DataFrame(wanted)
    lazy = ts.polars.scan(path)
    assert lazy.collect().equals(frame)
    assert pl.DataFrame(ts.open(path).table()).equals(frame)
    for condition in [
        pl.col("id") > 4000,
        (pl.col("id") >= 10) & (pl.col("id") < 20),
        (pl.col("id") < 3) | (pl.col("name") == "name 7"),
        pl.col("score").is_null(),
        pl.col("id").is_between(5, 9, closed="left"),
        pl.col("at") < datetime.datetime(1970, 1, 1, 0, 1),
        pl.col("name").str.ends_with("9"),
        pl.col("flag") & (pl.lit(100) > pl.col("id")),
        ~(pl.col("id") > 10),
        pl.col("score") >= 1000,
    ]:
        query = lazy.filter(condition).select("name", "id")
        assert query.collect().equals(frame.filter(condition).select("name", "id")), str(condition)
        assert query.head(3).collect().equals(frame.filter(condition).select("name", "id").head(3))
    assert lazy.select(pl.len()).collect().item() == 5000
    assert lazy.head(10).collect().equals(frame.head(10))
    assert lazy.group_by("flag").agg(pl.col("id").sum()).collect().height == 2
    assert ts.polars.scan(path, where="id < 100").filter(pl.col("id") > 97).collect().height == 2


def test_polars_predicates_are_pushed_down(pages) -> None:  # type: ignore[no-untyped-def]
    import polars as pl
    from tesselle._polars_predicate import columns_of, to_sql

    schema = columns_of(pl.DataFrame(pages[1]).schema, [("at", "datetime64[us]")])
    assert to_sql((pl.col("id") > 5) & (pl.col("name") == "it's"), schema) == "(\"id\" > 5) AND (\"name\" = 'it''s')"
    assert to_sql((pl.col("id") > 5) & pl.col("name").str.contains("x"), schema) == '("id" > 5)'
    assert to_sql((pl.col("id") > 5) | pl.col("name").str.contains("x"), schema) is None
    assert to_sql(~(pl.col("id") > 5), schema) is None
    assert to_sql(pl.col("id").is_between(1, 2), schema) == '("id" >= 1) AND ("id" <= 2)'
    assert to_sql(pl.col("id").is_in([1, 2]), schema) == '"id" IN (1, 2)'
    assert to_sql(pl.col("name").is_in(["a", None]), schema) is None
    assert to_sql(pl.col("flag"), schema) == '"flag" = TRUE'
    assert to_sql(pl.col("id") == pl.lit(3, dtype=pl.UInt8), schema) == '"id" = 3'
    assert to_sql(pl.col("at") > pl.lit(7, dtype=pl.Datetime("ms")), schema) == '"at" > 7000'
    plan = ts.polars.scan(pages[0]).filter(pl.col("id") > 5).explain()
    assert "tesselle" in plan


def test_polars_predicates_of_every_type(tmp_path: pathlib.Path) -> None:
    import datetime

    import polars as pl

    nan, utc = float("nan"), datetime.timezone.utc
    frame = pl.DataFrame(
        {
            "half": pl.Series([1.1, -0.0, nan, None, 3.0], dtype=pl.Float32),
            "full": [nan, 0.0, 2.5, None, float("inf")],
            "day": [datetime.date(2025, 1, day) for day in range(1, 6)],
            "zoned": pl.Series([datetime.datetime(2025, 1, day, tzinfo=utc) for day in range(1, 6)]),
            "tiny": pl.Series([-1, 0, 1, None, 2], dtype=pl.Int8),
            "flag": [True, False, None, True, False],
            "name": ["a", "b", None, "", "it's"],
        }
    )
    noon = datetime.datetime(2025, 1, 3, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    conditions = [
        pl.col("half") > 1.1, pl.col("half") >= 1.1, pl.col("half") == 0, pl.col("half") < 3, pl.col("half") != 3,
        pl.col("full") > 2, pl.col("full") >= 2.5, pl.col("full") < 1e300, pl.col("full") == 0, pl.col("full") != 0,
        pl.col("day") > datetime.date(2025, 1, 3), pl.col("day") == datetime.date(2025, 1, 1), pl.col("zoned") >= noon,
        pl.col("tiny") > 0, pl.col("tiny").is_in([0, 2]), pl.col("tiny") == pl.lit(1), pl.col("tiny") > 0.5,
        pl.col("flag"), ~pl.col("flag"), pl.col("flag") | (pl.col("tiny") == 2),
        pl.col("day") < pl.lit(3_000_000).cast(pl.Date), pl.col("name").is_in(["it's", "b"]), pl.col("name") == "", pl.col("name").is_in([None, "a"]),
    ]  # fmt: skip
    for ending in ("parquet", "arrow", "tatami"):
        ts.write(frame, tmp_path / f"all.{ending}")
        lazy = ts.polars.scan(tmp_path / f"all.{ending}")
        for condition in conditions:
            if ending == "tatami" and "zoned" in condition.meta.root_names():
                continue  # it has no zones
            found = lazy.filter(condition).collect()
            assert found.equals(frame.filter(condition).cast(found.schema)), (ending, str(condition))


def test_polars_predicates_on_times_of_every_unit(tmp_path: pathlib.Path) -> None:
    import datetime

    import polars as pl

    # Polars counts no seconds: it has them as milliseconds.
    times = {unit: pyarrow.array(range(20), pyarrow.timestamp("s")).cast(pyarrow.timestamp(unit)) for unit in ("s", "ms", "us", "ns")}
    rows = pyarrow.table({"id": list(range(20)), **times})
    at = datetime.datetime(1970, 1, 1, 0, 0, 5)
    for ending in ("parquet", "arrow", "tiledb", "csv"):
        path = tmp_path / f"times.{ending}"
        ts.write(rows, path, **({"dims": ["id"]} if ending == "tiledb" else {}))
        lazy = ts.polars.scan(path)
        for unit in times:
            found = [lazy.filter(condition).collect().height for condition in (
                pl.col(unit) > at, pl.col(unit) <= at, pl.col(unit) == at, pl.col(unit).is_between(at, at),
                pl.col(unit) > at + datetime.timedelta(milliseconds=1),
            )]  # fmt: skip
            assert found == [14, 6, 1, 1, 14], (ending, unit)


def test_pandas(pages) -> None:  # type: ignore[no-untyped-def]
    import pandas

    frame = ts.open(pages[0]).table().to_pandas()
    assert frame.shape == (5000, 5) and isinstance(frame["id"].dtype, pandas.ArrowDtype)
    assert frame["score"].isna().sum() == pages[1]["score"].null_count
    assert frame["id"].sum() == sum(range(5000))


def test_datafusion(pages, field) -> None:  # type: ignore[no-untyped-def]
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    context.register_table("pages", ts.open(pages[0]).table())
    context.register_table("field", ts.open(field[0]).table())
    found = context.sql("SELECT count(*) AS n, sum(id) AS s FROM pages WHERE id > 100 AND name <> 'name 3'").to_arrow_table()
    chosen = pages[1].filter((pc.field("id") > 100) & (pc.field("name") != "name 3"))
    assert found["n"].to_pylist() == [chosen.num_rows] and found["s"].to_pylist() == [pc.sum(chosen["id"]).as_py()]
    plan = context.sql("EXPLAIN SELECT id FROM pages WHERE id > 4000").to_arrow_table()["plan"].to_pylist()
    assert "pruned=" in str(plan) or "id > 4000" in str(plan) or "Tesselle" in str(plan)
    total = context.sql("SELECT count(*) AS n FROM field JOIN pages ON field.i0 = pages.id").to_arrow_table()
    assert total["n"].to_pylist() == [6 * 20 * 15]


def test_xarray(field, tmp_path: pathlib.Path) -> None:  # type: ignore[no-untyped-def]
    import xarray

    path, cells = field
    dataset = xarray.open_dataset(path, engine="tesselle")
    (name,) = dataset.data_vars
    variable = dataset[name]
    assert variable.shape == cells.shape and variable.dims == ("i0", "i1", "i2")
    assert variable.encoding["preferred_chunks"] == {"i0": 2, "i1": 8, "i2": 5}
    assert numpy.array_equal(variable, cells)
    assert numpy.array_equal(variable[2, ::3, [4, 1]], cells[2, ::3][:, [4, 1]])
    assert numpy.array_equal(variable[::-1, 5, ::-2], cells[::-1, 5, ::-2])
    assert numpy.array_equal(variable.isel(i1=slice(3, 9)).mean("i0"), cells[:, 3:9].mean(0), equal_nan=True)
    wind = xarray.DataArray(
        numpy.arange(12.0).reshape(3, 4), dims=["lat", "lon"], name="wind", attrs={"units": "m/s"}
    )
    ts.write(wind, tmp_path / "wind.zarr")
    found = xarray.open_dataarray(tmp_path / "wind.zarr", engine="tesselle")
    assert numpy.array_equal(found, wind) and found.dims == ("lat", "lon")
    assert numpy.array_equal(ts.open(path).table().array().to_xarray(), cells)


@pytest.mark.parametrize("ending", ["tet", "tiledb", "zarr", "npy"])
def test_xarray_opens_every_dense_format(ending: str, tmp_path: pathlib.Path) -> None:
    import xarray

    cells = numpy.random.default_rng(5).normal(size=(12, 9))
    ts.write(cells, tmp_path / f"cells.{ending}")
    dataset = xarray.open_dataset(tmp_path / f"cells.{ending}", engine="tesselle", chunks={})
    (variable,) = dataset.data_vars.values()
    assert numpy.array_equal(variable.compute(), cells)
    assert numpy.allclose(variable.mean(variable.dims[0]).compute(), cells.mean(0))
    with pytest.raises(ts.InvalidCall):
        ts.write({"a": [1]}, tmp_path / "rows.tatami", overwrite=True)
        xarray.open_dataset(tmp_path / "rows.tatami", engine="tesselle")


def test_dask(field, pages) -> None:  # type: ignore[no-untyped-def]
    dask_array = pytest.importorskip("dask.array")
    import xarray

    path, cells = field
    array = ts.open(path).table().array()
    lazy = array.to_dask()
    assert isinstance(lazy, dask_array.Array) and lazy.chunksize == (2, 8, 5)
    assert numpy.array_equal(lazy[1:5, ::2].compute(), cells[1:5, ::2])
    chunked = xarray.open_dataset(path, engine="tesselle", chunks={})
    (name,) = chunked.data_vars
    assert chunked[name].chunks[0] == (2, 2, 2)
    assert numpy.allclose(chunked[name].sum().compute(), cells.sum(dtype="f8"), rtol=1e-5)
    import dask

    parts = [dask.delayed(lambda scan: scan.count())(part) for part in ts.scan(pages[0]).splits(4)]
    assert sum(dask.compute(*parts)) == 5000


def test_zarr_reads_what_we_write(tmp_path: pathlib.Path) -> None:
    zarr = pytest.importorskip("zarr")
    cells = numpy.random.default_rng(1).normal(size=(30, 20))
    ts.write(cells, tmp_path / "cells.zarr", chunk=(7, 7))
    assert numpy.array_equal(zarr.open(str(tmp_path / "cells.zarr"), mode="r")[...], cells)


def test_tsfile_of_the_original(tmp_path: pathlib.Path, plant) -> None:  # type: ignore[no-untyped-def]
    tsfile = pytest.importorskip("tsfile")
    path, wanted = plant
    reader = tsfile.TsFileReader(path)
    with reader.query_timeseries("root.fleet.truck1", ["speed", "count"], 0, 2**62) as result:
        times, speeds = [], []
        while result.next():
            times.append(result.get_value_by_index(1))
            speeds.append(result.get_value_by_index(2))
    assert times == wanted["time"].cast(pyarrow.int64()).to_pylist()
    assert speeds == wanted["speed"].to_pylist()


SERIES = {
    "time": pyarrow.array(range(1_000_000, 1_000_000 + 2000 * 10, 10), pyarrow.timestamp("ms")),
    "count": pyarrow.array([i % 97 for i in range(2000)], pyarrow.int64()),
    "speed": pyarrow.array([None if i % 13 == 0 else i / 4 for i in range(2000)], pyarrow.float64()),
    "state": pyarrow.array([None if i % 7 == 0 else f"s{i % 5}" for i in range(2000)]),
}
SOME = [(i % 97, None if i % 13 == 0 else i / 4) for i in range(2000) if i % 97 < 5 and i % 7 and i % 5 == 3]
"""The counts and speeds of the rows with a count below 5 in the state ``s3``."""


def _datafusion(path: str) -> Any:
    context = pytest.importorskip("datafusion").SessionContext()
    context.register_table("t", ts.open(path).table())
    return context.sql("SELECT count, speed FROM t WHERE count < 5 AND state = 's3' ORDER BY time").to_arrow_table()


def _duckdb(path: str) -> Any:
    duckdb = pytest.importorskip("duckdb")
    source = ts.dataset(path)  # noqa: F841, by its name in the query
    found = duckdb.sql("SELECT count, speed FROM source WHERE count < 5 AND state = 's3' ORDER BY time")
    return pyarrow.table(found)


def _polars(path: str) -> Any:
    import polars as pl

    lazy = ts.polars.scan(path).filter((pl.col("count") < 5) & (pl.col("state") == "s3"))
    return lazy.sort("time").select("count", "speed").collect()


def _pandas(path: str) -> Any:
    frame = ts.open(path).table().to_pandas()
    some = frame[(frame["count"] < 5) & (frame["state"] == "s3")].sort_values("time")
    return pyarrow.Table.from_pandas(some[["count", "speed"]], preserve_index=False)


def _pyarrow(path: str) -> Any:
    condition = (pc.field("count") < 5) & (pc.field("state") == "s3")
    return ts.dataset(path).to_table(columns=["count", "speed", "time"], filter=condition).sort_by("time")


def _dask(path: str) -> Any:
    dask, cloudpickle = pytest.importorskip("dask"), pytest.importorskip("cloudpickle")
    parts = ts.scan(path, where="count < 5 AND state = 's3'").splits(3)
    # How dask and ray send them to their workers.
    read = dask.delayed(lambda part: cloudpickle.loads(part).to_arrow())
    return pyarrow.concat_tables(dask.compute(*map(read, map(cloudpickle.dumps, parts)))).sort_by("time")


def _own(path: str) -> Any:
    return ts.sql("SELECT count, speed FROM t WHERE count < 5 AND state = 's3' ORDER BY time", t=ts.scan(path))


@pytest.mark.parametrize("partner", [_pyarrow, _polars, _pandas, _duckdb, _datafusion, _dask, _own], ids=lambda call: call.__name__)
@pytest.mark.parametrize("ending", ["tatami", "parquet", "arrow", "tiledb", "tsfile", "csv", "jsonl"])
def test_every_partner_finds_the_same_rows(partner: Any, ending: str, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / f"rows.{ending}")
    options: dict[str, Any] = {"tiledb": {"dims": ["time"]}, "tsfile": {"device": "root.d"}}.get(ending, {})
    ts.write(pyarrow.table(SERIES), path, **options)
    found = pyarrow.table(partner(path))
    assert list(zip(found["count"].to_pylist(), found["speed"].to_pylist(), strict=True)) == SOME


CELLS = numpy.random.default_rng(11).normal(size=(9, 14)).astype("f4")


def _zarr(path: str) -> Any:
    zarr = pytest.importorskip("zarr")
    ts.convert(path, path + ".copy.zarr")
    stored = zarr.open(path + ".copy.zarr", mode="r")
    return (stored if hasattr(stored, "shape") else next(iter(stored.arrays()))[1])[...]


def _xarray(path: str, **options: Any) -> Any:
    import xarray

    (variable,) = xarray.open_dataset(path, engine="tesselle", **options).data_vars.values()
    return variable.to_numpy()


ARRAYS: dict[str, Any] = {
    "numpy": lambda path: numpy.asarray(ts.open(path).table().array()),
    "dlpack": lambda path: numpy.from_dlpack(ts.open(path).table().array()),
    "xarray": _xarray,
    "xarray in dask": lambda path: _xarray(path, chunks={}),
    "dask": lambda path: ts.open(path).table().array().to_dask().compute(),
    "zarr": _zarr,
    "rows of polars": lambda path: ts.polars.scan(path).collect().get_columns()[-1].to_numpy().reshape(CELLS.shape),
    "rows of pandas": lambda path: ts.scan(path).to_pandas().iloc[:, -1].to_numpy("f4").reshape(CELLS.shape),
    "rows of pyarrow": lambda path: ts.dataset(path).to_table().columns[-1].to_numpy().reshape(CELLS.shape),
}


@pytest.mark.parametrize("partner", ARRAYS)
@pytest.mark.parametrize("ending", ["tet", "zarr", "npy", "tiledb"])
def test_every_partner_finds_the_same_cells(partner: str, ending: str, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / f"cells.{ending}")
    ts.write(CELLS, path, **({"chunk": (4, 5)} if ending in ("tet", "zarr") else {}))
    found = ARRAYS[partner](path)
    assert found.dtype == CELLS.dtype and numpy.array_equal(found, CELLS)
