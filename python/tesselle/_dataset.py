"""A table as a pyarrow dataset, which duckdb and others push projections and filters into."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import pyarrow
import pyarrow.dataset
import pyarrow.fs

from ._arrow_filter import columns_of, to_sql
from ._errors import InvalidCall
from ._scan import Scan
from ._scan import scan as _scan

_FRAGMENT_BYTES = 64 << 20
"""About what a fragment reads of the file."""
_DEFAULT_BATCH = 131_072
"""The size of batches of pyarrow, where the caller names none."""


class Dataset(pyarrow.dataset.FileSystemDataset):  # type: ignore[misc, unused-ignore]
    """A table of any format.

    Columns and the parts of filters that have a form in SQL are pushed down; pyarrow applies the whole filter to
    what comes back, so the answer does not depend on what was understood. Methods that pyarrow implements in C++ (joins,
    unions, fragments) read whole fragments into memory, one file in memory for each.
    """

    def __init__(self, scan: Scan, filter: pyarrow.dataset.Expression | None = None) -> None:
        self._scan, self._filter = scan, filter
        # The C++ object has the same rows: code that reads it directly gets them, without what is pushed down here.
        format = pyarrow.dataset.IpcFileFormat()
        files = pyarrow.fs.PyFileSystem(_Fragments([(scan, filter)]))
        super().__init__([format.make_fragment("0", files)], _without_views(scan.schema.to_arrow()), format, files)

    def scanner(  # type: ignore[override, unused-ignore]
        self,
        columns: Any = None,
        filter: pyarrow.dataset.Expression | None = None,
        batch_size: int | None = None,
        **options: Any,
    ) -> pyarrow.dataset.Scanner:
        """Returns a scanner of the columns and rows wanted, for one pass.

        The other options are those of ``pyarrow.dataset.Scanner``; those on how its files are read have no effect.
        """
        unknown = options.keys() - _OPTIONS
        if unknown:
            raise TypeError(f"scanner() got an unexpected keyword argument {min(unknown)!r}")
        passed = {name: value for name, value in options.items() if name in ("use_threads", "memory_pool")}
        return _scanner(self._scan, columns, _both(self._filter, filter), batch_size, passed)

    def count_rows(self, **options: Any) -> int:  # type: ignore[override, unused-ignore]
        """Returns how many rows there are."""
        if self._filter is None and options.get("filter") is None:
            return self._scan.count()
        return self.scanner(**options).count_rows()  # type: ignore[no-any-return, unused-ignore]

    def filter(self, expression: pyarrow.dataset.Expression) -> Dataset:  # type: ignore[override, unused-ignore]
        """Returns the dataset of the rows where ``expression`` holds."""
        if not isinstance(expression, pyarrow.dataset.Expression):
            raise TypeError(f"a filter is an expression of pyarrow.compute, not {type(expression).__name__}")
        return Dataset(self._scan, _both(self._filter, expression))

    def get_fragments(  # type: ignore[override, unused-ignore]
        self, filter: pyarrow.dataset.Expression | None = None
    ) -> Iterator[pyarrow.dataset.Fragment]:
        """Yields parts of the dataset, without those that have no row for which ``filter`` holds."""
        wanted = _both(self._filter, filter)
        pushed = None if wanted is None else to_sql(wanted, self.schema)[0]
        scan = self._scan._narrowed(self.schema.names, pushed)
        try:
            parts = scan.splits(max(1, min(1000, scan.explain()["bytes"] // _FRAGMENT_BYTES)))
        except InvalidCall:  # the scan is a part itself
            parts = [scan]
        files = pyarrow.fs.PyFileSystem(_Fragments([(part, self._filter) for part in parts]))
        format = pyarrow.dataset.IpcFileFormat()
        return (format.make_fragment(str(at), files) for at in range(len(parts)))

    def __reduce__(self) -> tuple[object, ...]:
        return Dataset, (self._scan, self._filter)

    def __repr__(self) -> str:
        filtered = "" if self._filter is None else f"; filter {self._filter}"
        return f"<tesselle.Dataset {self._scan._native.describe()}{filtered}>"


_OPTIONS = {
    "batch_readahead", "fragment_readahead", "fragment_scan_options", "use_threads", "cache_metadata", "memory_pool",
}  # fmt: skip
"""What else a scanner of pyarrow takes."""


def _both(
    left: pyarrow.dataset.Expression | None, right: pyarrow.dataset.Expression | None
) -> pyarrow.dataset.Expression | None:
    return right if left is None else left if right is None else left & right


def _scanner(
    scan: Scan,
    columns: Any,
    filter: pyarrow.dataset.Expression | None,
    batch_size: int | None,
    options: dict[str, Any],
) -> pyarrow.dataset.Scanner:
    """Returns a scanner that reads what it needs."""
    schema = _without_views(scan.schema.to_arrow())
    pushed, tested = (None, set[str]()) if filter is None else to_sql(filter, schema)
    chosen = _chosen(columns, schema)
    read = schema.names
    if chosen is not None and tested is not None:
        read = [name for name in schema.names if name in chosen or name in tested]
    if batch_size == _DEFAULT_BATCH:
        batch_size = None
    narrow = scan._narrowed(read, pushed, batch_rows=batch_size)
    options = options | {"filter": filter}
    if columns is not None:
        options["columns"] = columns
    if batch_size is not None:
        options["batch_size"] = batch_size
    # Not an iterator of Python: the threads of pyarrow still read when the interpreter ends, and would wait for it forever.
    rows: Any = narrow
    reader = pyarrow.RecordBatchReader.from_stream(rows)
    known = _without_views(reader.schema)
    if known != reader.schema:
        reader = reader.cast(known)
    return pyarrow.dataset.Scanner.from_batches(reader, **options)


def _without_views(schema: pyarrow.Schema) -> pyarrow.Schema:
    """Returns the schema with plain strings for views, which most functions of pyarrow do not know."""
    fields = [field.with_type(_without_view(field.type)) for field in schema]
    return pyarrow.schema(fields).with_metadata(schema.metadata)


def _without_view(kind: Any) -> Any:
    types = pyarrow.types
    if types.is_string_view(kind):
        return pyarrow.string()
    if types.is_binary_view(kind):
        return pyarrow.binary()
    if types.is_dictionary(kind):
        return pyarrow.dictionary(kind.index_type, _without_view(kind.value_type), kind.ordered)
    if types.is_struct(kind):
        return pyarrow.struct([field.with_type(_without_view(field.type)) for field in kind])
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        item = kind.value_field.with_type(_without_view(kind.value_type))
        if types.is_fixed_size_list(kind):
            return pyarrow.list_(item, kind.list_size)
        return pyarrow.large_list(item) if types.is_large_list(kind) else pyarrow.list_(item)
    return kind


def _chosen(columns: Any, schema: pyarrow.Schema) -> set[str] | None:
    """Returns the columns that a projection needs; ``None`` where they are not known."""
    if columns is None:
        return None
    if not isinstance(columns, dict):
        # Other names are parts of structs.
        return set(columns) if set(columns) <= set(schema.names) else None
    found = set[str]()
    for expression in columns.values():
        needed = columns_of(expression, schema)
        if needed is None:
            return None
        found |= needed
    return found


class _Fragments(pyarrow.fs.FileSystemHandler):  # type: ignore[misc, unused-ignore]
    """Scans as files of Arrow IPC in memory, made when they are opened."""

    def __init__(self, parts: list[tuple[Scan, pyarrow.dataset.Expression | None]]) -> None:
        self._parts = parts

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Fragments) or len(self._parts) != len(other._parts):
            return False
        return all(
            mine == theirs and str(own_filter) == str(their_filter)
            for (mine, own_filter), (theirs, their_filter) in zip(self._parts, other._parts)
        )

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def get_type_name(self) -> str:
        return "tesselle"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: str | list[str]) -> list[pyarrow.fs.FileInfo]:
        names = [paths] if isinstance(paths, str) else paths
        return [pyarrow.fs.FileInfo(name, pyarrow.fs.FileType.File) for name in names]

    def get_file_info_selector(self, selector: pyarrow.fs.FileSelector) -> list[pyarrow.fs.FileInfo]:
        return self.get_file_info([str(at) for at in range(len(self._parts))])

    def open_input_file(self, path: str) -> pyarrow.NativeFile:
        scan, filter = self._parts[int(path)]
        rows = _scanner(scan, None, filter, None, {}).to_table()
        content = pyarrow.BufferOutputStream()
        # A file of Arrow has one dictionary for each column.
        options = pyarrow.ipc.IpcWriteOptions(unify_dictionaries=True)
        with pyarrow.ipc.new_file(content, rows.schema, options=options) as file:
            file.write_table(rows)
        return pyarrow.BufferReader(content.getvalue())

    open_input_stream = open_input_file

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise InvalidCall("the fragments of a dataset are read only", hint="write with tesselle.write")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse


def dataset(uri: Any, **options: Any) -> Dataset:
    """Returns the table that ``uri`` names as a pyarrow dataset, e.g. for duckdb.

    Args:
        uri: what :func:`tesselle.scan` takes.
        **options: the keywords of :func:`tesselle.scan`. The dataset has the columns and rows of that scan.
    """
    return Dataset(_scan(uri, **options))
