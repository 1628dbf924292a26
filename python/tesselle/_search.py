"""Search segments."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _native
from ._errors import InvalidCall
from ._options import Uri, names, opening, path
from ._progress import Progress, reporter


class Hit(NamedTuple):
    """One document that matches a query."""

    score: float
    doc: int
    fields: dict[str, Any]
    segment: str


def search(
    uri: Uri, query: str, k: int = 10, where: str | None = None, *, plain: bool = False, **options: Any
) -> list[Hit]:
    """Returns the best documents of a segment, or of a folder of segments.

    Args:
        uri: a search segment or a folder with segments.
        query: words; ``+required``, ``-excluded``, ``"a phrase"``, ``AND``, ``OR``, ``NOT`` and ``(groups)``.
        k: how many hits at most.
        where: an SQL condition on the stored columns.
        plain: read the query as plain words.
        **options: the keywords of :func:`open`.
    """
    if k < 0:
        raise InvalidCall("k= is how many hits to return at most")
    found = json.loads(_native.search(path(uri), query, k, where, plain, opening(**options)))
    return [Hit(hit["score"], hit["doc"], hit["fields"], hit["segment"]) for hit in found["hits"]]


def index(
    src: Uri,
    dst: Uri,
    text: Sequence[str] | str,
    stored: Sequence[str] | str | None = None,
    id: str | None = None,
    *,
    overwrite: bool = False,
    progress: Progress = None,
    **options: Any,
) -> dict[str, Any]:
    """Builds a search segment from the rows of any table.

    Args:
        src: the table to read, perhaps with ``#table``.
        dst: the segment to write.
        text: the columns whose words can be found.
        stored: the columns that hits show.
        id: the column with a stable id.
        overwrite: replace what is there.
        progress: what shows it; see :func:`convert`.
        **options: the keywords of :func:`open`.

    Returns:
        How many documents and bytes the segment has.
    """
    columns = names(text) or []
    with reporter(progress) as report:
        done = _native.index(
            path(src), path(dst), opening(**options), columns, names(stored), id, overwrite, report
        )  # fmt: skip
    return json.loads(done)  # type: ignore[no-any-return]
