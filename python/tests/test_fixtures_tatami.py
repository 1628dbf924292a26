"""tatami files of the original engine: columns and searches."""

from __future__ import annotations

import pathlib
import struct

import pytest
import tesselle as ts
from conftest import cases, expected
from values import assert_same

CASES = cases("tatami")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_columns_are_those_of_the_original(case: pathlib.Path) -> None:
    files = expected(case).get("files") or {}
    stored = {name: found["columns"] for name, found in files.items() if "columns" in found and (case / name).is_file()}
    if not stored:
        pytest.skip("no columns are given")
    for name, columns in stored.items():
        table = ts.open(case / name, text_as_binary=True, deleted=True).table().to_arrow()
        for column, values in columns.items():
            assert_same(table[column], values, "")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_damage_has_the_class_of_the_original(case: pathlib.Path) -> None:
    files = expected(case).get("files") or {}
    for name, found in files.items():
        if found.get("stage") != "open" or not (case / name).is_file():
            continue
        with pytest.raises(ts.DataError) as refused:
            ts.open(case / name, format="tatami")
        assert refused.value.kind == found["class"], name
        assert refused.value.file


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_hits_and_scores_are_those_of_the_original(case: pathlib.Path) -> None:
    segments = expected(case).get("segments") or {}
    if not segments:
        pytest.skip("no searches are given")
    for name, segment in segments.items():
        for query in segment.get("queries", []):
            if not (case / name).is_file() or "hits" not in query:
                continue
            hits = ts.search(case / name, query["query"], query["k"], plain=query.get("plain", False))
            scores = [struct.pack(">f", hit.score).hex() for hit in hits]
            assert [hit.doc for hit in hits] == [hit["doc"] for hit in query["hits"]], query["query"]
            assert scores == [hit["score"]["bits"] for hit in query["hits"]]
