"""tet files of the original engine, read as arrays and as rows."""

from __future__ import annotations

import hashlib
import pathlib

import numpy
import pytest
import tesselle as ts
from conftest import cases, expected

CASES = [case for case in cases("tet") if (case / expected(case).get("file", "data.tet")).is_file()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_arrays_are_those_of_the_original(case: pathlib.Path) -> None:
    facts = expected(case)
    path = case / facts.get("file", "data.tet")
    if not facts.get("opens", False):
        with pytest.raises(ts.Error) as refused:
            ts.open(path, format="tet")
        assert refused.value.kind == facts["error_class"]
        return
    container = ts.open(path, format="tet")
    assert container.format == "tet"
    seen = set()
    for dataset in facts["datasets"]:
        if dataset["name"] in seen:
            continue
        seen.add(dataset["name"])
        if "read_error" in dataset:
            with pytest.raises(ts.Error):
                container[dataset["name"]].array()[...]
            continue
        array = container[dataset["name"]].array()
        assert array.shape == tuple(dataset["shape"])
        assert array.chunks == tuple(dataset["chunk_shape"])
        cells = array[...]
        assert cells.shape == array.shape
        assert hashlib.sha256(cells.astype(array.dtype.newbyteorder("<")).tobytes()).hexdigest() == dataset["sha256_le"]
        out = numpy.empty_like(cells)
        assert array.read(out=out) is out
        assert out.tobytes() == cells.tobytes()
        if 0 < cells.size <= 100_000:
            rows = container[dataset["name"]].scan(columns=["value"]).to_arrow()["value"].to_numpy()
            assert rows.astype(cells.dtype).tobytes() == cells.tobytes()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_verify_agrees_with_the_original(case: pathlib.Path) -> None:
    facts = expected(case)
    path = case / facts.get("file", "data.tet")
    report = ts.verify(path, format="tet")
    assert report.ok == facts["verify_deep"]["ok"], report
