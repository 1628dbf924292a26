"""Tables as datasets of pyarrow: every name of its class works, or is refused with a clear error."""

from __future__ import annotations

import pathlib
import pickle
import subprocess
import sys
import textwrap
from typing import Any

import polars
import pyarrow
import pyarrow.compute as pc
import pyarrow.dataset
import pytest
import tesselle as ts

CALLS = {
    "count_rows": "d.count_rows() == 5000 and d.count_rows(filter=field('id') < 7) == 7",
    "filter": "d.filter(field('id') >= 10).filter(field('id') < 15).to_table()['id'].to_pylist() == [10, 11, 12, 13, 14]",
    "get_fragments": "sum(part.count_rows() for part in d.get_fragments()) == 5000 == "
    "sum(part.to_table().num_rows for part in d.get_fragments())",
    "head": "d.head(3).num_rows == 3 and d.head(2, columns=['id']).column_names == ['id']",
    "join": "d.join(names, 'id').sort_by('id').head(2).to_pydict()['note'] == ['zero', 'one'] "
    "and names.join(d, 'id').to_table().num_rows == 2 "
    "and d.join(d, 'id', right_suffix='_right').count_rows() == 5000",
    "join_asof": "d.join_asof(names, on='id', by=[], tolerance=0).to_table()['note'][1].as_py() == 'one'",
    "partition_expression": "d.partition_expression.equals(pyarrow.compute.scalar(True))",
    "replace_schema": "d.replace_schema(pyarrow.schema([('id', 'int64')])).to_table().num_rows == 5000",
    "scanner": "d.scanner(['id'], field('id') < 3).to_table().to_pydict() == {'id': [0, 1, 2]}",
    "scanner that is not read to its end": "d.scanner(['id']).head(2).num_rows == 2 and next(d.to_batches()).num_rows > 0",
    "schema": "d.schema.names == ['id', 'name', 'score', 'at', 'flag']",
    "sort_by": "d.sort_by([('id', 'descending')]).head(1).to_pydict()['id'] == [4999] "
    "and d.sort_by('id').count_rows() == 5000",
    "take": "d.take([4999, 0], columns=['id']).to_pydict() == {'id': [4999, 0]}",
    "to_batches": "sum(batch.num_rows for batch in d.to_batches(['id'], batch_size=100)) == 5000 "
    "and max(batch.num_rows for batch in d.to_batches(batch_size=100)) == 100",
    "to_table": "d.to_table(['id', 'name'], field('id') == 3).to_pydict() == {'id': [3], 'name': ['name 3']}",
    # What FileSystemDataset has as well.
    "files": "len(d.files) == 1",
    "filesystem": "pyarrow.ipc.open_file(d.filesystem.open_input_file(d.files[0])).read_all().num_rows == 5000",
    "format": "d.format == pyarrow.dataset.IpcFileFormat()",
    "partitioning": "d.partitioning is None",
    "from_paths": "d.from_paths",
    # Methods of Python, and what takes datasets.
    "pickle": "pickle.loads(pickle.dumps(d.filter(field('id') < 9))).to_table().num_rows == 9",
    "equality": "d == d and d != names and isinstance(hash(d), int)",
    "repr": "'pages.tatami' in repr(d)",
    "union": "pyarrow.dataset.dataset([d, d]).count_rows() == 10000 == pyarrow.dataset.dataset([d, d]).to_table().num_rows",
    "union of a filtered dataset": "pyarrow.dataset.dataset([d, d.filter(field('id') < 5)]).to_table().num_rows == 5005",
    "UnionDataset": "pyarrow.dataset.UnionDataset(d.schema, [d, d]).to_table().num_rows == 10000",
    "Scanner.from_dataset": "pyarrow.dataset.Scanner.from_dataset(d, columns=['id']).to_table().num_rows == 5000",
    "write_dataset": "pyarrow.dataset.write_dataset(d, str(path) + '.d', format='parquet') is None "
    "and pyarrow.dataset.dataset(str(path) + '.d').count_rows() == 5000",
    "the package": "ts.sql('SELECT count(*) FROM d', d=d).fetchall() == [(5000,)]",
    "a filtered dataset in C++": "d.filter(field('id') < 10).sort_by('id').count_rows() == 10 "
    "== d.filter(field('id') < 10).count_rows() == sum(f.count_rows() for f in d.filter(field('id') < 10).get_fragments())",
}


def test_every_name_has_a_call() -> None:
    public = {name for name in dir(ts.Dataset) if not name.startswith("_")}
    assert public <= set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_no_name_ends_the_process(name: str, pages) -> None:  # type: ignore[no-untyped-def]
    script = f"""
        import os, pathlib, pickle
        import pyarrow, pyarrow.compute, pyarrow.dataset
        import tesselle as ts
        field, path = pyarrow.compute.field, {pages[0]!r}
        d = ts.dataset(path)
        names = pyarrow.dataset.InMemoryDataset(pyarrow.table({{"id": [0, 1], "note": ["zero", "one"]}}))
        assert {CALLS[name]}
        # The end of the process, where threads of pyarrow may still run, is not part of the call.
        os._exit(0)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 0, f"{run.returncode}: {run.stderr}"


def test_what_has_no_meaning_is_refused(pages) -> None:  # type: ignore[no-untyped-def]
    dataset = ts.dataset(pages[0])
    with pytest.raises(TypeError, match="expression"):
        dataset.filter("id < 5")  # type: ignore[arg-type, unused-ignore]
    with pytest.raises(TypeError, match="filtr"):
        dataset.scanner(filtr=pc.field("id") < 5)
    with pytest.raises(pyarrow.ArrowInvalid, match="missing"):
        dataset.to_table(["missing"])
    with pytest.raises(ts.InvalidCall, match="read only"):
        dataset.filesystem.open_output_stream("x")  # type: ignore[union-attr, unused-ignore]


def narrowings(table: pyarrow.Table) -> list[tuple[dict[str, Any], pyarrow.Table]]:
    """Returns keywords of scans, and the rows that they select."""
    some = table.filter(pc.field("id") < 10)
    return [
        ({"where": "id < 10"}, some),
        ({"where": "id < 100 -- of all"}, table.slice(0, 100)),
        ({"where": "id = 3 OR id = 5"}, table.filter(pc.field("id").isin([3, 5]))),
        ({"limit": 7}, table.slice(0, 7)),
        ({"limit": 3, "where": "id >= 10"}, table.slice(10, 3)),
        ({"columns": ["name", "id"], "where": "score > 4"}, table.filter(pc.field("score") > 4).select(["name", "id"])),
    ]


def rows(data: Any) -> list[dict[str, Any]]:
    """Returns the rows of anything Arrow."""
    return pyarrow.table(data).to_pylist()  # type: ignore[no-any-return, unused-ignore]


@pytest.mark.parametrize("at", range(6))
def test_a_dataset_has_the_rows_of_its_scan(at: int, pages, tmp_path: pathlib.Path) -> None:  # type: ignore[no-untyped-def]
    duckdb = pytest.importorskip("duckdb")
    options, wanted = narrowings(pages[1])[at]
    dataset = ts.dataset(pages[0], **options)
    assert dataset.schema.names == wanted.column_names
    assert dataset.count_rows() == wanted.num_rows and rows(dataset.to_table()) == rows(wanted)
    assert duckdb.sql("SELECT count(*), sum(id) FROM dataset").fetchall()[0] == (wanted.num_rows, pc.sum(wanted["id"]).as_py())
    assert duckdb.sql("SELECT count(*) FROM dataset WHERE id % 2 = 1 AND id > 4").fetchall()[0][0] == sum(
        row["id"] % 2 == 1 and row["id"] > 4 for row in rows(wanted)
    )
    assert ts.sql("SELECT count(*) AS n FROM dataset", dataset=dataset).fetchall() == [(wanted.num_rows,)]
    ts.write(dataset, tmp_path / "copy.tatami")
    assert rows(ts.scan(tmp_path / "copy.tatami").to_arrow()) == rows(wanted)
    odd = pc.field("id") > 4
    assert rows(dataset.to_table(filter=odd)) == rows(wanted.filter(odd)) == rows(dataset.filter(odd).to_table())
    assert rows(dataset.sort_by("id").to_table()) == rows(wanted)
    assert sum((rows(part.to_table()) for part in dataset.get_fragments()), []) == rows(wanted)
    assert rows(pickle.loads(pickle.dumps(dataset)).to_table(columns=["id"])) == rows(wanted.select(["id"]))


@pytest.mark.parametrize("at", range(6))
def test_a_lazy_frame_has_the_rows_of_its_scan(at: int, pages) -> None:  # type: ignore[no-untyped-def]
    import polars as pl

    options, wanted = narrowings(pages[1])[at]
    frame, lazy = pl.DataFrame(wanted), ts.polars.scan(pages[0], **options)
    assert lazy.collect().equals(frame)
    assert lazy.select("id").collect().equals(frame.select("id"))
    assert lazy.head(2).collect().equals(frame.head(2))
    assert lazy.filter(pl.col("id") > 4).collect().equals(frame.filter(pl.col("id") > 4))
    assert lazy.select(pl.len()).collect().item() == wanted.num_rows


def test_a_slice_stays(field) -> None:  # type: ignore[no-untyped-def]
    import polars as pl

    path, cells = field
    wanted = cells[1:3, ::4, 2].ravel()
    for options, values in [
        ({"slice": "1:3,::4,2"}, wanted),
        ({"slice": "1:3,::4,2", "limit": 4}, wanted[:4]),
        ({"slice": "1:3,::4,2", "where": "value > 0"}, wanted[wanted > 0]),
    ]:
        dataset = ts.dataset(path, **options)
        assert dataset.count_rows() == len(values)
        assert dataset.to_table(columns=["value"])["value"].to_pylist() == values.tolist()
        above = values[values > 0.5].tolist()
        assert dataset.to_table(filter=pc.field("value") > 0.5)["value"].to_pylist() == above
        lazy = ts.polars.scan(path, **options)
        assert lazy.collect()["value"].to_list() == values.tolist()
        assert lazy.filter(pl.col("value") > 0.5).collect()["value"].to_list() == above


def test_parts_are_datasets(pages) -> None:  # type: ignore[no-untyped-def]
    parts = [ts.Dataset(part) for part in ts.scan(pages[0], where="id >= 1500").splits(3)]
    assert sum(part.count_rows() for part in parts) == 3500
    small = pc.field("id") < 1600
    found = [part.to_table(columns=["id"], filter=small) for part in parts]
    assert pyarrow.concat_tables(found)["id"].to_pylist() == list(range(1500, 1600))
    assert sum(f.count_rows() for part in parts for f in part.get_fragments()) == 3500


def test_datafusion_reads_a_dataset(pages) -> None:  # type: ignore[no-untyped-def]
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    context.register_dataset("d", ts.dataset(pages[0], where="id < 4000"))
    found = context.sql("SELECT count(*) AS n, max(id) AS top FROM d WHERE id > 100").to_arrow_table()
    assert found.to_pylist() == [{"n": 3899, "top": 3999}]


def test_fragments_are_pruned(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tesselle._dataset._FRAGMENT_BYTES", 50)
    ts.write({"id": list(range(5000))}, tmp_path / "rows.tatami", row_group_rows=500)
    dataset = ts.dataset(tmp_path / "rows.tatami")
    fragments = list(dataset.get_fragments())
    assert len(fragments) > 2
    assert sum((part.to_table()["id"].to_pylist() for part in fragments), []) == list(range(5000))
    some = list(dataset.get_fragments(filter=pc.field("id") >= 4000))
    assert len(some) < len(fragments)
    assert sum((part.to_table()["id"].to_pylist() for part in some), [])[-1000:] == list(range(4000, 5000))


def test_a_list_of_doubles_selects_floats(tmp_path: pathlib.Path) -> None:
    table = pyarrow.table({"half": pyarrow.array([0.1, -0.0, 2.0, None], "float"), "full": [0.1, -0.0, 2.0, None]})
    ts.write(table, tmp_path / "floats.parquet")
    dataset = ts.dataset(tmp_path / "floats.parquet")
    for values in ([0.1, 3.0], [0.0, 2.0], pyarrow.array([0.1, 2.0], "float")):
        for column in ("half", "full"):
            condition = pc.field(column).isin(values)
            assert dataset.to_table(filter=condition).equals(table.filter(condition)), str(condition)


def test_strings_of_polars_are_filtered(tmp_path: pathlib.Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    names = [None if i % 7 == 0 else f"name {i % 50}" for i in range(1000)]
    frame = polars.DataFrame({"id": range(1000), "name": names, "words": [[name, "x"] for name in names]})
    path = tmp_path / "rows.parquet"
    ts.write(frame, path)
    assert ts.scan(path).to_arrow().schema.field("name").type == pyarrow.string_view()
    dataset = ts.dataset(path)
    named = frame.filter(polars.col("name") == "name 3")
    for condition in (pc.field("name") == "name 3", pc.field("name").isin(["name 3"])):
        assert polars.DataFrame(dataset.to_table(filter=condition)).equals(named)
    assert dataset.to_table(["name", "words"], pc.field("id") > 990).num_rows == 9
    assert dataset.take([5, 3])["name"].to_pylist() == ["name 5", "name 3"]
    assert dataset.sort_by([("name", "descending"), ("id", "ascending")]).head(1)["id"].to_pylist() == [9]
    assert sum(part.to_table(filter=pc.field("name") == "name 3").num_rows for part in dataset.get_fragments()) == named.height
    assert duckdb.sql("SELECT name FROM dataset WHERE id = 993").fetchall() == [("name 43",)]
    found = polars.scan_pyarrow_dataset(dataset).filter(polars.col("id") > 990).collect()
    assert found["name"].to_list() == names[991:]


def test_dictionaries_and_empty_tables(tmp_path: pathlib.Path) -> None:
    table = pyarrow.table({"state": pyarrow.array(["a", None, "b"] * 10).dictionary_encode(), "x": range(30)})
    ts.write(table, tmp_path / "rows.parquet")
    dataset = ts.dataset(tmp_path / "rows.parquet")
    assert dataset.to_table(filter=pc.field("state") == "a").num_rows == 10
    assert pyarrow.dataset.dataset([dataset, dataset]).to_table().num_rows == 60
    none = ts.dataset(tmp_path / "rows.parquet", where="x > 99")
    assert none.count_rows() == 0 == none.to_table().num_rows and none.sort_by("x").count_rows() == 0
