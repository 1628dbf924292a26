"""What notebooks show."""

from __future__ import annotations

import html.parser
import itertools
import os
import pathlib

import numpy
import pyarrow
import pytest
import tesselle as ts
from conftest import cases


class _Balance(html.parser.HTMLParser):
    """Checks that every tag is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(thing: object) -> str:
    """Returns the text of what a notebook shows."""
    parser = _Balance()
    parser.feed(thing._repr_html_())  # type: ignore[attr-defined]
    assert not parser.open
    return parser.text


def test_everything_has_a_page(field, plant) -> None:  # type: ignore[no-untyped-def]
    container = ts.open(field[0])
    assert "tet" in shown(container) and "1,800" in shown(container)
    assert "value" in shown(container.table()) and "1,800 rows" in shown(container.table())
    assert "6 × 20 × 15" in shown(container.table().array()) and "<svg" in container.table().array()._repr_html_()
    assert "root.fleet.truck1" in shown(ts.open(plant[0]))
    assert "1,000 rows" in shown(ts.sql(f"SELECT * FROM '{plant[0]}'"))


def test_a_layout_is_a_list_and_a_map(field, plant) -> None:  # type: ignore[no-untyped-def]
    for path in (field[0], plant[0]):
        layout = ts.open(path).layout()
        assert isinstance(layout, list) and all(isinstance(part, dict) for part in layout)
        size = os.path.getsize(path)
        outer = [part for part in layout if part["depth"] == 0]
        assert outer[0]["start"] == 0 and outer[-1]["end"] == size
        assert all(before["end"] == after["start"] for before, after in itertools.pairwise(outer))
        assert f"{size:,} bytes" in shown(layout) and "header" in shown(layout)


def test_names_of_strangers_are_escaped(tmp_path) -> None:  # type: ignore[no-untyped-def]
    ts.write({"<b>x</b>": ["<script>"]}, tmp_path / "odd.tatami")
    page = ts.open(tmp_path / "odd.tatami").table()._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page and "<b>" not in page


def test_times_that_python_does_not_have_are_strings() -> None:
    days = pyarrow.array([1, None, 2**31 - 1], pyarrow.int32()).cast(pyarrow.date32())
    lists = pyarrow.ListArray.from_arrays(pyarrow.array([0, 1, 2, 3], pyarrow.int32()), days)
    table = pyarrow.table(
        {
            "day": days,
            "at": pyarrow.array([0, 2**62, -(2**62)], pyarrow.timestamp("s")),
            "took": pyarrow.array([0, 2**62, 1], pyarrow.duration("s")),
            "several": lists,
            "zoned": pyarrow.array([0, 2**62, None], pyarrow.timestamp("s", "UTC")),
        }
    )
    page = shown(ts.sql("SELECT * FROM t", t=table))
    assert "1970-01-02" in page and "out of range" in page and "1970-01-01 00:00:00" in page


TILEDB = [case / "array" for case in cases("tiledb") if (case / "array").is_dir()]


@pytest.mark.parametrize("path", TILEDB, ids=lambda path: path.parent.name)
def test_every_array_of_the_original_has_a_page_and_cells(path: pathlib.Path) -> None:
    try:
        tables = dict(ts.open(path))
    except ts.Error:
        return  # encrypted, or written to be refused
    for table in tables.values():
        assert shown(table)
        assert all(isinstance(cells, numpy.ndarray) for cells in table.scan(limit=50).to_numpy().values())
