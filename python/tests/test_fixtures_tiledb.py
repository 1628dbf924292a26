"""TileDB arrays of the original engine, every read of expected.json."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
import tesselle as ts
from conftest import cases, expected
from values import assert_same, of_arrow, of_expected, of_numpy

CASES = [case for case in cases("tiledb") if (case / "array").is_dir()]
READ = [case for case in CASES if expected(case).get("reads")]
GROUPS = [case for case in CASES if expected(case).get("kind") == "group"]
LABELED = [case for case in CASES if expected(case).get("metadata") and expected(case)["kind"] != "group"]
UNREADABLE = [case for case in CASES if expected(case).get("unreadable_by_2_30")]
OPEN = [case for case in READ if "encryption" not in expected(case)]
PLAIN = [case for case in OPEN if expected(case)["kind"] == "dense"]
SPARSE = [case for case in OPEN if expected(case)["kind"] == "sparse"]


def _options(facts: dict[str, Any], read: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {"raw": True, "text_as_binary": True, "format": "tiledb"}
    if "encryption" in facts:
        options["key"] = facts["encryption"]["key_utf8"]
    times = read.get("open", {})
    if times:
        options["between"] = (times.get("timestamp_start", 0), times.get("timestamp_end", 2**63))
    return options


def _slice(read: dict[str, Any]) -> str | None:
    box = read.get("subarray")
    return None if box is None else ",".join(f"{low}:{high + 1}" for low, high in box)


def _where(facts: dict[str, Any], read: dict[str, Any]) -> str | None:
    """Returns a box of sparse cells as a condition; both ends are inside."""
    box = read.get("subarray")
    if box is None:
        return None
    names = [f'"{dimension["name"]}"' for dimension in facts["dimensions"]]
    return " AND ".join(f"{name} BETWEEN {low!r} AND {high!r}" for name, (low, high) in zip(names, box, strict=True))


@pytest.mark.parametrize("case", READ, ids=lambda case: case.name)
def test_reads_are_those_of_the_original(case: pathlib.Path) -> None:
    facts = expected(case)
    for read in facts["reads"]:
        fields = read["fields"]
        options = _options(facts, read)
        if facts["kind"] == "dense":
            narrowed = {"slice": _slice(read)}
        else:
            narrowed = {"where": _where(facts, read)}
            options["text_as_binary"] = narrowed["where"] is None
        table = ts.scan(case / "array", columns=list(fields), **narrowed, **options).to_arrow()
        if facts["kind"] == "dense":
            for name, field in fields.items():
                assert_same(table[name], field["values"], field["type"])
        else:
            found = {name: of_arrow(table[name]) for name in fields}
            wanted = {n: [of_expected(v, field["type"]) for v in field["values"]] for n, field in fields.items()}
            assert _rows(found) == _rows(wanted)


def _rows(columns: dict[str, list[Any]]) -> list[str]:
    """Returns rows in an order of their own: sparse cells come in any order."""
    return sorted(repr(row) for row in zip(*columns.values(), strict=True))


@pytest.mark.parametrize("case", LABELED, ids=lambda case: case.name)
def test_metadata_is_that_of_the_original(case: pathlib.Path) -> None:
    facts = expected(case)
    info = ts.open(case / "array", format="tiledb", key=_options(facts, {}).get("key")).info()["metadata"]
    assert {key: stored["hex"] for key, stored in info.items()} == {k: v["hex"] for k, v in facts["metadata"].items()}


@pytest.mark.parametrize("case", GROUPS, ids=lambda case: case.name)
def test_groups_are_those_of_the_original(case: pathlib.Path) -> None:
    facts = expected(case)
    group = ts.open(case / "array", format="tiledb")
    assert len(group.info()["members"]) == len(facts["members"])
    assert group.metadata == facts.get("metadata", {})
    if "a1" in facts:
        assert group["first"].array()[...].tolist() == facts["a1"]
        nested = group["sub/nested"].to_arrow()
        assert {name: nested[name].to_pylist() for name in facts["a2"]} == facts["a2"]


@pytest.mark.parametrize("case", UNREADABLE, ids=lambda case: case.name)
def test_arrays_that_the_original_refuses_are_refused_or_read(case: pathlib.Path) -> None:
    try:
        assert ts.open(case / "array", format="tiledb").table().columns
    except ts.DataError as refused:
        assert refused.kind and refused.message


@pytest.mark.parametrize("case", PLAIN, ids=lambda case: case.name)
def test_dense_arrays_are_those_of_tiledb_py(case: pathlib.Path) -> None:
    tiledb = pytest.importorskip("tiledb")
    with tiledb.open(str(case / "array")) as original:
        try:
            box = original.nonempty_domain()
        except tiledb.TileDBError as error:
            pytest.skip(f"the original cannot read it: {error}")
        table = ts.open(case / "array").table()
        for name in table.array_columns:
            array = table.array(name)
            if box is None or 0 in array.shape:
                continue
            # Both ends are inside, and negative numbers are coordinates.
            boxes = tuple(slice(low, high) for low, high in box)
            cells = original.query(attrs=[name]).multi_index[boxes][name]
            assert cells.shape == array.shape, name
            assert array[...].tobytes() == cells.tobytes(), name


@pytest.mark.parametrize("case", SPARSE, ids=lambda case: case.name)
def test_sparse_arrays_are_those_of_tiledb_py(case: pathlib.Path) -> None:
    tiledb = pytest.importorskip("tiledb")
    try:
        with tiledb.open(str(case / "array")) as original:
            # The package shows the values of enumerations.
            coded = any(original.attr(at).enum_label for at in range(original.nattr))
            theirs = original[:]
    except (tiledb.TileDBError, NotImplementedError, TypeError, UnicodeDecodeError) as error:
        pytest.skip(f"the original cannot read it: {error}")
    ours = ts.open(case / "array", raw=not coded, text_as_binary=True).table().to_arrow()
    assert set(ours.column_names) == set(theirs)
    names = sorted(theirs)
    found = {name: _trimmed(of_arrow(ours[name])) for name in names}
    assert _rows(found) == _rows({name: _trimmed(of_numpy(theirs[name])) for name in names})


def _trimmed(values: list[Any]) -> list[Any]:
    """Returns values with bytes as lists of numbers, without the zeros at their end, which numpy does not show."""
    found = [list(value) if isinstance(value, bytes) else value for value in values]
    for value in found:
        while isinstance(value, list) and value and value[-1] == 0:
            value.pop()
    return found
