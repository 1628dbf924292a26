"""File objects instead of names."""

from __future__ import annotations

import io
import pathlib
import pickle

import numpy
import pyarrow
import pytest
import tesselle as ts
from conftest import plain


def test_open_files_and_buffers(field, pages, plant) -> None:  # type: ignore[no-untyped-def]
    path, cells = field
    with open(path, "rb") as file:
        found = ts.open(file)
        assert found.format == "tet" and found.uri == path
        assert numpy.array_equal(found.table().array()[...], cells)
        assert numpy.array_equal(found.table().array()[1:3, ::2], cells[1:3, ::2])
    buffer = io.BytesIO(pathlib.Path(pages[0]).read_bytes())
    container = ts.open(buffer)
    assert plain(container.table().to_arrow()).equals(plain(pages[1]))
    assert container.table().scan(where="id > 4990").count() == 9
    assert ts.sql("SELECT count(*) AS n FROM t", t=container.table()).fetchall() == [(5000,)]
    assert ts.open(pyarrow.OSFile(plant[0])).format == "tsfile"
    import polars

    assert polars.DataFrame(container.table()).height == 5000 and pyarrow.table(container.table()).num_rows == 5000


def test_a_file_of_text_is_refused(field) -> None:  # type: ignore[no-untyped-def]
    for file in (open(field[0], encoding="latin-1"), io.StringIO("text")):
        with file, pytest.raises(TypeError, match="'rb'"):
            ts.open(file)


def test_file_objects_stay_in_their_process(pages) -> None:  # type: ignore[no-untyped-def]
    container = ts.open(io.BytesIO(pathlib.Path(pages[0]).read_bytes()))
    for held in (container, container.table(), container.table().scan()):
        with pytest.raises(ts.InvalidCall, match="this process only"):
            pickle.dumps(held)


def test_a_file_that_fails(field) -> None:  # type: ignore[no-untyped-def]
    class Failing(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError("the disk is gone")

    with pytest.raises(ts.StorageError, match="the disk is gone"):
        ts.open(Failing(pathlib.Path(field[0]).read_bytes()))

    class Short(io.BytesIO):
        def seek(self, offset: int, whence: int = 0, /) -> int:
            return super().seek(offset, whence) + (1000 if whence == 2 else 0)

    with pytest.raises(ts.Error):
        ts.open(Short(pathlib.Path(field[0]).read_bytes())).table()[...]
