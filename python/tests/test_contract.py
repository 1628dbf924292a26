"""The public face in one place: names, keywords, kinds of results. Values are the subject of the other tests."""

from __future__ import annotations

import importlib.metadata
import inspect
import pathlib
import pickle
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest
import tesselle as ts

KEYWORDS = {
    ts.open: "uri * format at between key storage_options",
    ts.scan: "uri columns where",
    ts.sql: "query **tables",
    ts.write: "data uri * format overwrite metadata **options",
    ts.append: "data uri **options",
    ts.convert: "src dst * format overwrite columns where cast progress **options",
    ts.verify: "uri depth",
    ts.repair: "src dst",
    ts.diff: "a b key",
    ts.search: "uri query k where",
    ts.index: "src dst text stored id",
    ts.Container.table: "self name",
    ts.Table.scan: "self columns where slice limit",
    ts.Table.array: "self column",
    ts.Scan.splits: "self n",
    ts.Array.read: "self region out",
}


@pytest.mark.parametrize("call", KEYWORDS, ids=lambda call: call.__qualname__)
def test_keywords(call: Any) -> None:
    parameters = inspect.signature(call).parameters
    words = KEYWORDS[call].split()
    only_by_name = False
    positional = [name for name, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    for at, word in enumerate(words):
        if word == "*":
            only_by_name = True
        elif word.startswith("**"):
            assert parameters[word[2:]].kind is inspect.Parameter.VAR_KEYWORD
        elif only_by_name:
            assert parameters[word].kind is inspect.Parameter.KEYWORD_ONLY
        else:
            assert positional[at] == word
    defaults = {"depth": "deep", "k": 10, "overwrite": False}
    for name, parameter in parameters.items():
        if parameter.default is not inspect.Parameter.empty and name in defaults:
            assert parameter.default == defaults[name], name


def test_the_version_is_that_of_the_package() -> None:
    assert ts.__version__ == importlib.metadata.version("tesselle")


def test_a_container(field) -> None:  # type: ignore[no-untyped-def]
    with ts.open(field[0]) as container:
        assert isinstance(container, ts.Container)
        (name,) = container.keys()
        assert isinstance(container.metadata, dict) and isinstance(container.info(), dict)
        assert isinstance(container.version, str) and container.uri == field[0]
        assert container.info()["tables"][0]["name"] == name
        layout = container.layout()
        assert isinstance(layout, list) and all(isinstance(part, dict) for part in layout)
        assert isinstance(container.table(), ts.Table) and container.get("other") is None
        with pytest.raises(KeyError, match=name):
            container.table("other")
        assert container._repr_html_().startswith("<div")


def test_a_table(field, pages) -> None:  # type: ignore[no-untyped-def]
    table = ts.open(pages[0]).table()
    assert isinstance(table.name, str) and table.num_rows == 5000 and table.columns == pages[1].column_names
    assert pyarrow.schema(table.schema).names == table.columns
    assert isinstance(table.to_arrow(), pyarrow.Table) and isinstance(table.to_polars(), polars.DataFrame)
    assert isinstance(table.to_pandas(), pandas.DataFrame) and table.to_numpy()["id"].shape == (5000,)
    assert all(hasattr(table, f"__{name}__") for name in ("arrow_c_stream", "arrow_c_schema", "datafusion_table_provider"))
    with pytest.raises(TypeError):
        table.array()
    assert isinstance(ts.open(field[0]).table().array(), ts.Array)


def test_a_scan(pages) -> None:  # type: ignore[no-untyped-def]
    scan = ts.open(pages[0]).table().scan(["id"], "id < 10", None, 5)
    assert scan.count() == 5 and isinstance(scan.count(), int)
    assert set(scan.explain()) >= {"pieces", "pruned", "read", "requests", "bytes"}
    batches = scan.to_batches()
    assert iter(batches) is batches and all(isinstance(batch, pyarrow.RecordBatch) for batch in batches)
    assert all(isinstance(part, ts.Scan) for part in scan.splits(2))
    assert pickle.loads(pickle.dumps(scan)).to_arrow() == scan.to_arrow()
    assert pyarrow.table(scan).num_rows == 5


def test_an_array(field) -> None:  # type: ignore[no-untyped-def]
    path, cells = field
    array = ts.open(path).table().array()
    assert array.shape == cells.shape and array.dtype == cells.dtype and array.ndim == 3
    assert array.chunks == (2, 8, 5) and len(array.dims) == 3 and isinstance(array.attrs, dict)
    assert numpy.array_equal(array[0, 10:20, ::2], cells[0, 10:20, ::2])
    assert numpy.array_equal(array[..., -1], cells[..., -1])
    rows, mask = numpy.array([3, 1, 3]), numpy.arange(15) % 2 == 0
    assert numpy.array_equal(array[rows, :, mask], cells[numpy.ix_(rows, range(20), mask.nonzero()[0])])
    assert numpy.array_equal(array[cells > 1], cells[cells > 1]) and array[cells > 99].shape == (0,)
    for op in ("sum", "mean", "min", "max", "std", "var", "median"):
        assert numpy.allclose(getattr(array, op)(axis=1), getattr(numpy, op)(cells.astype("f8"), axis=1)), op
    assert numpy.allclose(array.quantile([0.1, 0.9]), numpy.quantile(cells, [0.1, 0.9]))
    assert numpy.array_equal(numpy.asarray(array), cells) and numpy.array_equal(numpy.from_dlpack(array), cells)
    assert array.to_xarray().dims == array.dims
    out = bytearray(cells[1].nbytes)
    assert array.read(1, out=out) is out and bytes(out) == cells[1].tobytes()


def test_calls_over_files(plant, tmp_path: pathlib.Path) -> None:  # type: ignore[no-untyped-def]
    report = ts.convert(plant[0], tmp_path / "p.parquet", columns=["time", "speed"])
    assert isinstance(report, dict) and report["rows"] == 1000
    assert ts.verify(plant[0]).ok is True and isinstance(ts.verify(plant[0]).findings, list)
    difference = ts.diff(plant[0], tmp_path / "p.parquet")
    assert difference.equal is False and difference.first is not None
    written = ts.write(ts.scan(plant[0]), tmp_path / "q.tatami")
    assert isinstance(written, dict) and written["rows"] == 1000
    result = ts.sql("SELECT count(*) AS n FROM a JOIN b USING (time)", a=ts.scan(plant[0]), b=ts.open(plant[0]).table())
    assert isinstance(result, ts.Result) and pyarrow.table(result)["n"].to_pylist() == [1000] and "1000" in repr(result)


def test_errors() -> None:
    assert issubclass(ts.NotFound, (ts.Error, FileNotFoundError)) and issubclass(ts.NotFound, FileNotFoundError)
    assert issubclass(ts.InvalidCall, ts.Error) and issubclass(ts.InvalidCall, ValueError)
    assert issubclass(ts.DataError, ts.Error) and issubclass(ts.DataError, ValueError)
    with pytest.raises(ts.NotFound) as missing:
        ts.open("nowhere.tet")
    for name in ("kind", "message", "file", "offset", "piece", "hint"):
        assert hasattr(missing.value, name)


def test_adapters(field, pages) -> None:  # type: ignore[no-untyped-def]
    import pyarrow.dataset
    import xarray

    assert isinstance(ts.polars.scan(pages[0]), polars.LazyFrame)
    assert isinstance(ts.dataset(pages[0]), pyarrow.dataset.Dataset)
    assert xarray.open_dataset(field[0], engine="tesselle").sizes
