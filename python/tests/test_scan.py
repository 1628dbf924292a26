"""Tables and scans: columns, conditions, parts, plain form."""

from __future__ import annotations

import pathlib
import pickle
from typing import Any

import numpy
import pyarrow
import pyarrow.compute as pc
import pytest
import tesselle as ts
from conftest import plain


def test_a_container_is_a_mapping(field, plant) -> None:  # type: ignore[no-untyped-def]
    with ts.open(plant[0]) as container:
        assert list(container) == ["root.fleet.truck1"] and len(container) == 1
        assert "root.fleet.truck1" in container and "other" not in container
        assert [table.name for table in container.values()] == ["root.fleet.truck1"]
        assert dict(container.items())["root.fleet.truck1"].num_rows == 1000
        assert container.format == "tsfile" and container.uri == plant[0]
        assert container.info()["tables"][0]["rows"] == 1000
        assert container.version == container.info()["version"]
        assert container.layout() and container.chunks(limit=2)
        with pytest.raises(KeyError, match="root.fleet.truck1"):
            container["root.fleet.truck"]
    assert ts.open(pathlib.Path(field[0])).format == "tet"
    assert "tet" in repr(ts.open(field[0]))


def test_a_table_is_read_by_columns_rows_and_limit(pages) -> None:  # type: ignore[no-untyped-def]
    path, wanted = pages
    table = ts.open(path).table()
    assert table.columns == wanted.column_names and table.num_rows == wanted.num_rows
    assert plain(table.to_arrow()).equals(plain(wanted))
    assert pyarrow.schema(table).names == wanted.column_names
    assert table.schema.names == wanted.column_names and table.schema == table.schema.to_arrow()
    part = table.scan(columns=["score", "id"], where="id >= 100 AND id < 200 AND name <> 'name 3'", limit=50)
    chosen = wanted.filter((pc.field("id") >= 100) & (pc.field("id") < 200) & (pc.field("name") != "name 3"))
    assert plain(part.to_arrow()).equals(plain(chosen.select(["score", "id"]).slice(0, 50)))
    assert part.columns == ["score", "id"] == part.schema.names
    assert part.count() == 50 and table.scan().count() == 5000 and table.scan(limit=7).count() == 7
    assert table.scan(where="score IS NULL").count() == wanted["score"].null_count
    assert part.to_polars().shape == (50, 2) and part.to_pandas().shape == (50, 2)
    assert part.to_numpy()["id"].shape == (50,)
    assert sum(batch.num_rows for batch in table.scan(columns="id").to_batches()) == 5000
    assert plain(pyarrow.table(part)).equals(plain(part.to_arrow()))
    assert table.scan(columns=[]).to_arrow().num_columns == 0


def test_a_scan_can_be_asked_again_and_elsewhere(pages) -> None:  # type: ignore[no-untyped-def]
    path, _ = pages
    scan = ts.scan(path, columns=["id"], where="id > 10 AND name IN ('name 1', 'it''s')", limit=5)
    other = pickle.loads(pickle.dumps(scan))
    assert scan.to_arrow().equals(scan.to_arrow()) and other.to_arrow().equals(scan.to_arrow())
    assert other == scan and hash(other) == hash(scan) and repr(other) == repr(scan)
    assert other != ts.scan(path)
    table = pickle.loads(pickle.dumps(ts.open(path).table()))
    assert table.num_rows == 5000
    container = pickle.loads(pickle.dumps(ts.open(path)))
    assert container.table().num_rows == 5000


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("id % 1000 = 7", lambda row: row["id"] % 1000 == 7),
        ("name LIKE '%9' AND id < 100", lambda row: row["name"].endswith("9") and row["id"] < 100),
        ("upper(name) = 'NAME 3' OR length(name) = 6", lambda row: row["name"] == "name 3" or len(row["name"]) == 6),
        ("abs(score - 100) < 1", lambda row: row["score"] is not None and abs(row["score"] - 100) < 1),
        ("NOT (name LIKE 'name%')", lambda row: False),
    ],
)
def test_conditions_have_the_functions_of_sql(where: str, kept: Any, pages, tmp_path: pathlib.Path) -> None:  # type: ignore[no-untyped-def]
    path, table = pages
    wanted = [row["id"] for row in table.to_pylist() if kept(row)]
    scan = ts.scan(path, columns=["id"], where=where)
    assert scan.to_arrow()["id"].to_pylist() == wanted and scan.count() == len(wanted)
    # In another process they mean the same, also in parts.
    assert pickle.loads(pickle.dumps(scan)) == scan
    parts = [pickle.loads(pickle.dumps(part)).to_arrow()["id"].to_pylist() for part in scan.splits(3)]
    assert sum(parts, []) == wanted
    assert ts.convert(path, tmp_path / "some.parquet", where=where)["rows"] == len(wanted)


def test_a_condition_that_is_no_sql_is_refused(pages) -> None:  # type: ignore[no-untyped-def]
    for where in ("id >", "missing(id) = 1", "id IN (SELECT 1)"):
        with pytest.raises(ts.InvalidCall):
            ts.scan(pages[0], where=where).count()
    with pytest.raises(KeyError, match="missing"):
        ts.scan(pages[0], where="abs(missing) > 1").count()


def test_an_array_travels(field) -> None:  # type: ignore[no-untyped-def]
    path, cells = field
    array = pickle.loads(pickle.dumps(ts.open(path).table().array()))
    assert (array[...] == cells).all()


@pytest.mark.parametrize("n", [1, 2, 3, 8, 100])
def test_parts_give_every_row_once(n: int, pages, field, plant) -> None:  # type: ignore[no-untyped-def]
    for path, where in [(pages[0], "id > 1234"), (field[0], "value > 0"), (plant[0], "speed >= 10"), (pages[0], None)]:
        scan = ts.scan(path, where=where)
        split = scan.splits(n)
        assert 1 <= len(split) <= n
        parts = [pickle.loads(pickle.dumps(part)).to_arrow() for part in split]
        assert pyarrow.concat_tables(parts).equals(scan.to_arrow())
        assert sum(part.count() for part in split) == scan.count()
        with pytest.raises(ts.InvalidCall):
            split[0].splits(2)
    limited = ts.scan(pages[0], where="id > 1234", limit=1500).splits(n)
    assert pyarrow.concat_tables([part.to_arrow() for part in limited])["id"].to_pylist() == list(range(1235, 2735))
    with pytest.raises(ts.InvalidCall):
        ts.scan(pages[0]).splits(0)


def test_a_part_of_a_file_that_changed_is_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "changing.tatami"
    for uri in (path, tmp_path / "*.tatami", tmp_path):
        # Other rows, but as many in as many tasks.
        ts.write({"id": list(range(4000))}, path, row_group_rows=1000, overwrite=True)
        split = ts.scan(uri).splits(2)
        kept = [pickle.dumps(part) for part in split]
        assert pickle.loads(kept[1]).to_arrow()["id"][0].as_py() == 2000
        ts.write({"id": list(range(5000, 9000))}, path, row_group_rows=1000, overwrite=True)
        for part in kept:
            with pytest.raises(ts.InvalidCall, match="changed"):
                pickle.loads(part).to_arrow()
        # Here the file is still open.
        assert split[1].to_arrow()["id"][0].as_py() == 2000


def test_a_part_of_an_earlier_state_stays_readable(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "growing.tiledb"
    ts.write({"id": list(range(100))}, path, dims=["id"], domain_id="0:999", kind="sparse")
    now, then = ([pickle.dumps(part) for part in ts.scan(path, at=at).splits(1)] for at in (None, 1 << 50))
    ts.append({"id": list(range(100, 200))}, path)
    with pytest.raises(ts.InvalidCall, match="changed"):
        pickle.loads(now[0]).count()
    assert pickle.loads(then[0]).count() == 200


def test_explain_says_what_is_skipped(pages) -> None:  # type: ignore[no-untyped-def]
    everything = ts.scan(pages[0]).explain()
    some = ts.scan(pages[0], where="id < 500").explain()
    assert set(everything) == {"pieces", "pruned", "read", "requests", "bytes"}
    assert everything["pruned"] == 0 and some["pruned"] > 0 and some["bytes"] < everything["bytes"]


def test_slices_and_axes(field) -> None:  # type: ignore[no-untyped-def]
    path, cells = field
    rows = ts.scan(path, slice="1:3,::4,2").to_arrow()
    assert rows.num_rows == 2 * 5
    assert rows["value"].to_pylist() == cells[1:3, ::4, 2].ravel().tolist()
    assert ts.open(path).table()[1, 2, 3] == cells[1, 2, 3]
    name = next(iter(ts.open(path)))
    assert (ts.open(path)[name][0] == cells[0]).all()


def test_patterns_and_folders_are_one_table(tmp_path: pathlib.Path) -> None:
    for day in range(3):
        ts.write({"day": [day] * 10, "v": list(range(10))}, tmp_path / f"{day}.tatami")
    for uri in (tmp_path, f"{tmp_path}/*.tatami"):
        scan = ts.scan(uri, where="v >= 5")
        assert scan.count() == 15
        assert scan.to_arrow()["day"].to_pylist() == [0] * 5 + [1] * 5 + [2] * 5
        assert pickle.loads(pickle.dumps(scan)).count() == 15
    with pytest.raises(ts.Error):
        ts.scan(f"{tmp_path}/*.parquet")


def test_a_table_is_named_after_the_sign(plant, tmp_path: pathlib.Path) -> None:  # type: ignore[no-untyped-def]
    path, wanted = plant
    assert ts.scan(f"{path}#root.fleet.truck1", columns=["speed"]).count() == wanted.num_rows
    assert ts.scan(path, table="*").columns[:3] == ["device", "measurement", "time"]
    with pytest.raises(KeyError):
        ts.scan(f"{path}#missing")


def test_time_travel() -> None:
    import conftest

    case = next((c for c in conftest.cases("tiledb") if c.name == "dense_2d_multi_fragment"), None)
    if case is None:
        pytest.skip("the fixtures are not there")
    counts = {at: ts.open(case / "array", at=at).info()["fragments"] for at in (10, 40)}
    assert len(counts[10]) < len(counts[40])
    both = ts.open(case / "array", between=("1970-01-01T00:00:00.020Z", "1970-01-01T00:00:00.030")).info()
    assert [f["timestamps"][0] for f in both["fragments"]] == [20, 30]
    for at in (numpy.int64(10), numpy.datetime64(10, "ms"), numpy.datetime64("1970-01-01T00:00:00.010"), "10"):
        assert ts.open(case / "array", at=at).info()["fragments"] == counts[10]
    with pytest.raises(ts.InvalidCall):
        ts.open(case / "array", at=10, between=(1, 2))


def test_dense_only(plant) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TypeError, match="not a dense array"):
        ts.open(plant[0]).table().array()


@pytest.mark.parametrize("ending", ["parquet", "tatami", "arrow", "tiledb", "tsfile"])
def test_rows_read_at_once_are_those_of_the_batches(ending: str, tmp_path: pathlib.Path) -> None:
    rows = 300_000
    numbers = {"time": pyarrow.array(range(rows), pyarrow.timestamp("ms")), "v": pyarrow.array(range(rows), pyarrow.int64())}
    path = tmp_path / f"numbers.{ending}"
    options: dict[str, Any] = {"tiledb": {"dims": ["time"]}, "tsfile": {"device": "root.d"}}.get(ending, {})
    ts.write(numbers, path, **options)
    scan = ts.scan(path, columns=["v"])
    assert scan.to_arrow()["v"].to_pylist() == list(range(rows))
    assert scan.to_arrow().equals(pyarrow.Table.from_batches(scan.to_batches(), scan.schema.to_arrow()))
    assert pyarrow.concat_tables([part.to_arrow() for part in scan.splits(3)]).equals(scan.to_arrow())
    assert ts.scan(path, where="v >= 299990").to_arrow()["v"].to_pylist() == list(range(299_990, rows))
