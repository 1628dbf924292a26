"""tatami files of the original engine: columns, filters, lookups and searches."""

from __future__ import annotations

import pathlib
import struct
from typing import Any

import pytest
import tesselle as ts
from conftest import cases, expected
from values import assert_same, of_arrow, of_expected

CASES = cases("tatami")


def _files(case: pathlib.Path, field: str) -> dict[str, dict[str, Any]]:
    """Returns the files of a case that have this field."""
    files: dict[str, dict[str, Any]] = expected(case).get("files") or {}
    return {name: facts for name, facts in files.items() if field in facts and (case / name).is_file()}


COLUMNS = [case for case in CASES if _files(case, "columns")]
DAMAGED = [case for case in CASES if any(facts["stage"] == "open" for facts in _files(case, "stage").values())]
SCANS = [case for case in CASES if expected(case).get("scans")]
LOOKUPS = [case for case in CASES if expected(case).get("lookups")]
SEGMENTS = [
    (case, name)
    for case in CASES
    for name, segment in (expected(case).get("segments") or {}).items()
    if (case / name).is_file() and any("hits" in query for query in segment.get("queries", []))
]


@pytest.mark.parametrize("case", COLUMNS, ids=lambda case: case.name)
def test_columns_are_those_of_the_original(case: pathlib.Path) -> None:
    for name, facts in _files(case, "columns").items():
        table = ts.open(case / name, text_as_binary=True, deleted=True).table().to_arrow()
        for column, values in facts["columns"].items():
            assert_same(table[column], values, "")


@pytest.mark.parametrize("case", [case for case in CASES if "formula" in expected(case)], ids=lambda case: case.name)
def test_columns_follow_their_formula(case: pathlib.Path) -> None:
    rows = expected(case)["formula"]["rows"]
    table = ts.open(case / "data.tatami").table().to_arrow()
    assert table["a"].to_pylist() == [3 * i for i in range(rows)]
    assert table["b"].to_pylist() == [i % 11 == 0 for i in range(rows)]


@pytest.mark.parametrize("case", DAMAGED, ids=lambda case: case.name)
def test_damage_has_the_class_of_the_original(case: pathlib.Path) -> None:
    for name, facts in _files(case, "stage").items():
        if facts["stage"] != "open":
            continue
        with pytest.raises(ts.DataError) as refused:
            ts.open(case / name, format="tatami")
        assert refused.value.kind == facts["class"], name
        assert refused.value.file


def _source(case: pathlib.Path) -> pathlib.Path:
    """Returns the only file of a case, or its folder, which is a collection."""
    return case / "data.tatami" if (case / "data.tatami").is_file() else case


@pytest.mark.parametrize("case", SCANS, ids=lambda case: case.name)
def test_filters_give_the_rows_of_the_original(case: pathlib.Path) -> None:
    for scan in expected(case)["scans"]:
        where = _condition(scan["predicate"])
        found = ts.scan(_source(case), scan["projection"], where)
        columns = [of_arrow(column) for column in found.to_arrow().columns]
        wanted = [[of_expected(value, "") for value in row] for row in scan["rows"]]
        assert [list(row) for row in zip(*columns, strict=True)] == wanted, where
        assert found.count() == len(wanted)


def _condition(predicate: dict[str, Any]) -> str:
    """Returns a predicate of expected.json as SQL."""
    op = predicate["op"]
    if op in ("and", "or"):
        return f" {op} ".join(f"({_condition(part)})" for part in predicate["args"])
    column = f'"{predicate["col"]}"'
    if op == "is_null":
        return f"{column} IS NULL"
    if op == "between":
        return f"{column} BETWEEN {_literal(predicate['lo'])} AND {_literal(predicate['hi'])}"
    symbol = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}[op]
    return f"{column} {symbol} {_literal(predicate['value'])}"


def _literal(value: Any) -> str:
    if isinstance(value, dict):
        return f"X'{value['hex']}'"
    if isinstance(value, str) and value[:4] in ("f32:", "f64:"):
        return repr(struct.unpack(">f" if value[1] == "3" else ">d", bytes.fromhex(value[4:]))[0])
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


@pytest.mark.parametrize("case", LOOKUPS, ids=lambda case: case.name)
def test_keys_are_found_as_by_the_original(case: pathlib.Path) -> None:
    lookups = expected(case)["lookups"]
    files = {case / n: found for n, found in lookups.items()} if isinstance(lookups, dict) else {_source(case): lookups}
    for file, found in files.items():
        (table,) = ts.open(file).info()["tables"]
        (key,) = [column["name"] for column in table["columns"] if column.get("sort_key")]
        for lookup in found:
            where = f'"{key}" = {_literal(lookup["key"])}'
            assert (ts.scan(file, where=where).count() > 0) == lookup["found"], where


@pytest.mark.parametrize(("case", "name"), SEGMENTS, ids=lambda part: getattr(part, "name", part))
def test_hits_and_scores_are_those_of_the_original(case: pathlib.Path, name: str) -> None:
    for query in expected(case)["segments"][name]["queries"]:
        if "hits" not in query:
            continue
        hits = ts.search(case / name, query["query"], query["k"], plain=query.get("plain", False))
        scores = [struct.pack(">f", hit.score).hex() for hit in hits]
        assert [hit.doc for hit in hits] == [hit["doc"] for hit in query["hits"]], query["query"]
        assert scores == [hit["score"]["bits"] for hit in query["hits"]]
