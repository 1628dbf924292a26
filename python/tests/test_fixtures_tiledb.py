"""TileDB arrays of the original engine, every read of expected.json."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import tesselle as ts
from conftest import cases, expected
from values import assert_same, of_arrow, of_expected

CASES = [case for case in cases("tiledb") if (case / "array").is_dir()]


def _options(says: dict[str, Any], read: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {"raw": True, "text_as_binary": True, "format": "tiledb"}
    if "encryption" in says:
        options["key"] = says["encryption"]["key_utf8"]
    times = read.get("open", {})
    if times:
        options["between"] = (times.get("timestamp_start", 0), times.get("timestamp_end", 2**63))
    return options


def _slice(read: dict[str, Any]) -> str | None:
    box = read.get("subarray")
    return None if box is None else ",".join(f"{low}:{high + 1}" for low, high in box)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reads_are_those_of_the_original(case: pathlib.Path) -> None:
    says = expected(case)
    if says.get("kind") not in ("dense", "sparse") or not says.get("reads"):
        pytest.skip("not an array that can be read")
    for read in says["reads"]:
        if "fields" not in read:
            continue
        fields = read["fields"]
        options = _options(says, read)
        if says["kind"] == "sparse" and read.get("subarray") is not None:
            continue
        box = _slice(read) if says["kind"] == "dense" else None
        table = ts.scan(case / "array", columns=list(fields), slice=box, **options).to_arrow()
        if says["kind"] == "dense":
            for name, field in fields.items():
                assert_same(table[name], field["values"], field["type"])
        else:
            found = {name: of_arrow(table[name]) for name in fields}
            wanted = {n: [of_expected(v, field["type"]) for v in field["values"]] for n, field in fields.items()}
            assert _rows(found) == _rows(wanted)


def _rows(columns: dict[str, list[Any]]) -> list[str]:
    """Returns rows in an order of their own: sparse cells come in any order."""
    return sorted(repr(row) for row in zip(*columns.values(), strict=True))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_metadata_is_that_of_the_original(case: pathlib.Path) -> None:
    says = expected(case)
    if not says.get("metadata") or "encryption" in says or says["kind"] == "group":
        pytest.skip("there is none")
    info = ts.open(case / "array", format="tiledb").info()["metadata"]
    assert {key: stored["hex"] for key, stored in info.items()} == {k: v["hex"] for k, v in says["metadata"].items()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_dense_arrays_are_those_of_tiledb_py(case: pathlib.Path) -> None:
    tiledb = pytest.importorskip("tiledb")
    says = expected(case)
    if says.get("kind") != "dense" or "encryption" in says:
        pytest.skip("not a plain dense array")
    try:
        original = tiledb.open(str(case / "array"))
        box = original.nonempty_domain()
    except Exception:  # what the original cannot open is no oracle
        pytest.skip("the original does not open it")
    with original:
        table = ts.open(case / "array").table()
        for name in table.array_columns:
            array = table.array(name)
            if box is None or 0 in array.shape or array.dtype.kind == "b":
                continue
            try:
                cells = original.query(attrs=[name])[...]
            except Exception:
                continue
            cells = cells[name] if isinstance(cells, dict) else cells
            if cells.shape == array.shape and cells.dtype.itemsize == array.dtype.itemsize:
                assert array[...].tobytes() == cells.tobytes()
