"""What notebooks show. Colors follow the notebook's theme."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _native
    from ._array import Array
    from ._container import Container, Layout
    from ._table import Table

_STYLE = (
    "<style>.tesselle{font-family:system-ui,sans-serif;font-size:13px}"
    ".tesselle h4{margin:.2em 0;font-weight:600}.tesselle p{margin:.2em 0;opacity:.7}"
    ".tesselle table{border-collapse:collapse;margin:.4em 0}"
    ".tesselle td,.tesselle th{padding:2px 10px;text-align:left;border-bottom:1px solid rgba(128,128,128,.3)}"
    ".tesselle th{font-weight:600}.tesselle td.n{text-align:right;font-variant-numeric:tabular-nums}"
    ".tesselle svg rect{fill:rgba(70,130,180,.25);stroke:rgba(70,130,180,.9)}"
    ".tesselle .map{display:flex;height:1.6em;max-width:60em;border:1px solid rgba(128,128,128,.4)}"
    ".tesselle .map span{min-width:1px;border-right:1px solid rgba(128,128,128,.25)}</style>"
)

_COLORS = {
    "header": "#8e6bbf", "data": "#4682b4", "index": "#c98a2b", "metadata": "#4f9d69", "statistics": "#b5546b",
    "padding": "rgba(128,128,128,.4)", "gap": "rgba(128,128,128,.2)",
}  # fmt: skip
"""The colors of parts of files, which show on light and dark."""


def _page(title: str, about: str, body: str) -> str:
    return f'<div class="tesselle">{_STYLE}<h4>{escape(title)}</h4><p>{escape(about)}</p>{body}</div>'


def _grid(head: list[str], lines: list[list[Any]]) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    number = ' class="n"'

    def cell(value: Any) -> str:
        shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
        return f"<td{number if isinstance(value, (int, float)) else ''}>{escape(shown)}</td>"

    rows = "".join(f"<tr>{''.join(cell(value) for value in line)}</tr>" for line in lines)
    return f"<table><tr>{top}</tr>{rows}</table>"


def container(container: Container) -> str:
    """The tables of a container."""
    info = container._described()
    lines = [
        [t["name"] or "(only table)", "" if t["rows"] is None else t["rows"], len(t["columns"])]
        for t in info["tables"][:50]
    ]
    more = "" if len(info["tables"]) <= 50 else f"<p>and {len(info['tables']) - 50} more</p>"
    about = f"{container.format}, version {container.version}"
    return _page(container.uri, about, _grid(["table", "rows", "columns"], lines) + more)


def layout(layout: Layout) -> str:
    """A map of each file, and its parts."""
    files: dict[str, list[dict[str, Any]]] = {}
    for part in layout:
        files.setdefault(part["file"], []).append(part)
    pages = [_page(name, f"{parts[-1]['end']:,} bytes", _map(parts)) for name, parts in list(files.items())[:8]]
    more = "" if len(files) <= 8 else f"<p>and {len(files) - 8} more files</p>"
    return f"<div>{''.join(pages)}{more}</div>"


def _map(parts: list[dict[str, Any]], most: int = 200) -> str:
    """Draws the outermost parts to scale, and lists the first of all."""
    outer = [part for part in parts if part["depth"] == 0][:most]
    spans = "".join(
        f'<span style="flex:{max(1, part["end"] - part["start"])};background:{_COLORS.get(part["role"], "#888")}" '
        f'title="{escape(part["content"])}"></span>'
        for part in outer
    )
    lines = [[part["start"], part["end"] - part["start"], part["role"], part["content"]] for part in parts[:20]]
    more = "" if len(parts) <= 20 else f"<p>and {len(parts) - 20} more parts</p>"
    return f'<div class="map">{spans}</div>' + _grid(["start", "bytes", "role", "content"], lines) + more


def table(table: Table) -> str:
    """The columns of a table and its first rows."""
    about = "rows unknown" if table.num_rows is None else f"{table.num_rows:,} rows"
    return _page(table.name or "table", about, _rows(table.scan(limit=5)._collect()))


def rows(batches: _native.Batches) -> str:
    """The first rows of an answer."""
    return _page("result", f"{len(batches):,} rows", _rows(batches))


def _rows(batches: _native.Batches, most: int = 20) -> str:
    try:
        import pyarrow
    except ImportError:
        return f"<pre>{escape(batches.show(most))}</pre>"
    first = pyarrow.table(batches).slice(0, most)
    lines = [["∅" if value is None else value for value in row] for row in zip(*map(_values, first.columns))]
    return _grid([f"{field.name}" for field in first.schema], lines)


def _values(column: Any) -> list[Any]:
    """Returns values of Python; strings for a column with times that Python does not have, such as the year 12000."""
    import pyarrow

    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except (OverflowError, ValueError):
        pass
    try:
        return column.cast(_with_strings(column.type)).to_pylist()  # type: ignore[no-any-return]
    except (pyarrow.ArrowException, ValueError):
        return [str(column.slice(at, 1).to_string(skip_new_lines=True)) for at in range(len(column))]


def _with_strings(kind: Any) -> Any:
    """Returns a type with strings for its values; lists stay lists."""
    import pyarrow

    types = pyarrow.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return pyarrow.list_(_with_strings(kind.value_type)) if is_list else pyarrow.string()


def array(array: Array) -> str:
    """The shape of an array and its chunks, drawn for the last two axes."""
    facts = [
        ["shape", " × ".join(map(str, array.shape))],
        ["chunks", " × ".join(map(str, array.chunks))],
        ["type", str(array.dtype)],
        ["size", f"{array.nbytes / 2**20:,.2f} MiB"],
        ["axes", ", ".join(array.dims)],
    ]
    return _page(array.name, "dense array", _grid(["", ""], facts) + _drawing(array))


def _drawing(array: Array, width: int = 160, most: int = 24) -> str:
    if array.ndim == 0 or 0 in array.shape:
        return ""
    shape = (1, *array.shape)[-2:]
    chunk = (1, *array.chunks)[-2:]
    counts = [min(most, -(-extent // size)) for extent, size in zip(shape, chunk)]
    height = max(20, min(width, int(width * shape[0] / max(1, shape[1]))))
    cells = "".join(
        f'<rect x="{x * width / counts[1]:.1f}" y="{y * height / counts[0]:.1f}" '
        f'width="{width / counts[1]:.1f}" height="{height / counts[0]:.1f}"/>'
        for y in range(counts[0])
        for x in range(counts[1])
    )
    return f'<svg width="{width + 2}" height="{height + 2}">{cells}</svg>'
