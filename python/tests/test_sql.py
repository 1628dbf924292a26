"""Answers of statements: computed once, for every reader."""

from __future__ import annotations

import concurrent.futures

import pytest
import tesselle as ts


def test_an_answer_has_any_number_of_readers() -> None:
    result = ts.sql("SELECT value AS n FROM generate_series(1, 100000)")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        tables = list(pool.map(lambda _: result.to_arrow(), range(16)))
    assert all(table.equals(tables[0]) for table in tables) and tables[0].num_rows == len(result) == 100_000


def test_an_answer_that_failed_fails_again() -> None:
    result = ts.sql("SELECT 1 / n AS q FROM (VALUES (1), (0)) AS t(n)")
    for read in (result.to_arrow, result.fetchall, lambda: repr(result), lambda: len(result)):
        with pytest.raises(ts.InvalidCall, match="(?i)zero"):
            read()


def test_an_answer_that_was_interrupted_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def collect(self) -> None:
            raise KeyboardInterrupt

    result = ts.sql("SELECT 1 AS n")
    monkeypatch.setattr(result, "_answer", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        result.to_arrow()
    with pytest.raises(ts.InvalidCall, match="run it again"):
        result.to_arrow()
