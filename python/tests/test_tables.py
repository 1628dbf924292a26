"""Tables of any content come back as they were written, and conditions mean what they mean to pyarrow."""

from __future__ import annotations

import datetime
import pathlib
import tempfile
from typing import Any

import pyarrow
import pyarrow.compute as pc
import pytest
import tesselle as ts
from conftest import plain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FOLDER = tempfile.TemporaryDirectory()
VALUES: dict[pyarrow.DataType, st.SearchStrategy[Any]] = {
    pyarrow.int8(): st.integers(-(2**7), 2**7 - 1),
    pyarrow.int32(): st.integers(-(2**31), 2**31 - 1),
    pyarrow.int64(): st.integers(-(2**63), 2**63 - 1),
    pyarrow.uint16(): st.integers(0, 2**16 - 1),
    pyarrow.float32(): st.floats(width=32, allow_nan=False),
    pyarrow.float64(): st.floats(allow_nan=False),
    pyarrow.bool_(): st.booleans(),
    pyarrow.string(): st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    pyarrow.binary(): st.binary(max_size=12),
    pyarrow.date32(): st.dates(datetime.date(1800, 1, 1), datetime.date(2200, 1, 1)),
    pyarrow.timestamp("us"): st.datetimes(datetime.datetime(1800, 1, 1), datetime.datetime(2200, 1, 1)),
}


@st.composite
def tables(draw: st.DrawFn) -> pyarrow.Table:
    """Draws a table of up to four columns and forty rows, with and without missing values."""
    rows = draw(st.integers(0, 40))
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4))
    columns = {}
    for at, kind in enumerate(kinds):
        values = VALUES[kind] | st.none() if draw(st.booleans()) else VALUES[kind]
        columns[f"c{at}"] = pyarrow.array(draw(st.lists(values, min_size=rows, max_size=rows)), kind)
    return pyarrow.table(columns)


@pytest.mark.parametrize("ending", ["tatami", "parquet", "arrow"])
@given(table=tables(), batch=st.integers(1, 50), parts=st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_tables_come_back(ending: str, table: pyarrow.Table, batch: int, parts: int) -> None:
    path = pathlib.Path(FOLDER.name) / f"any.{ending}"
    ts.write(table, path, overwrite=True)
    found = ts.open(path).table()
    assert found.num_rows == table.num_rows
    assert plain(found.to_arrow()).equals(plain(table))
    small = pyarrow.Table.from_batches(list(found.scan(batch_rows=batch).to_batches()), pyarrow.schema(found))
    assert plain(small).equals(plain(table))
    split = pyarrow.concat_tables([part.to_arrow() for part in found.scan().splits(parts)] or [small])
    assert plain(split).equals(plain(table))


def conditions() -> st.SearchStrategy[tuple[str, pc.Expression]]:
    """Draws a condition in SQL and the same one of pyarrow."""
    numbers = st.sampled_from([("id", st.integers(-5, 5005)), ("score", st.floats(-10, 1700).map(lambda n: round(n, 3)))])
    names = st.sampled_from(["name 3", "name 49", "name", "it's", ""])

    def compared(column: str, value: Any, op: str) -> tuple[str, pc.Expression]:
        shown = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)
        field = pc.field(column)
        made = {"=": field == value, "<>": field != value, "<": field < value, "<=": field <= value, ">": field > value,
                ">=": field >= value}[op]  # fmt: skip
        return f"{column} {op} {shown}", made

    op = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    comparison = numbers.flatmap(lambda pair: st.builds(compared, st.just(pair[0]), pair[1], op))
    text = st.builds(compared, st.just("name"), names, op)
    missing = st.sampled_from(
        [
            ("score IS NULL", pc.field("score").is_null()),
            ("score IS NOT NULL", pc.field("score").is_valid()),
            ("flag", pc.field("flag")),
            ("name IN ('name 1', 'name 2')", pc.field("name").isin(["name 1", "name 2"])),
        ]
    )

    def joined(inner: st.SearchStrategy[tuple[str, pc.Expression]]) -> st.SearchStrategy[tuple[str, pc.Expression]]:
        both = st.builds(lambda a, b: (f"({a[0]}) AND ({b[0]})", a[1] & b[1]), inner, inner)
        either = st.builds(lambda a, b: (f"({a[0]}) OR ({b[0]})", a[1] | b[1]), inner, inner)
        return both | either | inner.map(lambda a: (f"NOT ({a[0]})", ~a[1]))

    return st.recursive(comparison | text | missing, joined, max_leaves=4)


FILES: dict[str, str] = {}


@pytest.mark.parametrize("ending", ["tatami", "parquet", "arrow", "tiledb", "csv"])
@given(condition=conditions())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_conditions_are_those_of_pyarrow(ending: str, condition: tuple[str, pc.Expression], pages) -> None:  # type: ignore[no-untyped-def]
    where, expression = condition
    if ending not in FILES:
        FILES[ending] = f"{FOLDER.name}/pages.{ending}"
        ts.write(pages[1], FILES[ending], **{"tiledb": {"dims": ["id"]}, "tatami": {"row_group_rows": 1000}}.get(ending, {}))
    scan = ts.scan(FILES[ending], columns=["id"], where=where)
    wanted = pages[1].filter(expression)["id"].to_pylist()
    assert sorted(scan.to_arrow()["id"].to_pylist()) == wanted
    assert scan.count() == len(wanted)
