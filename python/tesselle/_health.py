"""Verifying, repairing and comparing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _native
from ._options import Uri, names, opening, path
from ._progress import Progress, reporter


class Finding(NamedTuple):
    """One thing that a verification found."""

    severity: str
    kind: str
    message: str
    file: str | None = None
    offset: int | None = None
    piece: str | None = None


class Report:
    """What a verification or a repair found; true where all is fine."""

    def __init__(self, ok: bool, findings: list[Finding], details: dict[str, Any]) -> None:
        self.ok = ok
        """Whether nothing is wrong; after a repair, whether nothing is lost."""
        self.findings = findings
        """What was found."""
        self.details = details
        """The whole report, as the command line prints it with ``--json``."""

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        lines = [f"<tesselle.Report {'ok' if self.ok else 'not ok'}, {len(self.findings)} findings>"]
        lines += [f"  {found.severity}: {found.kind}: {found.message}" for found in self.findings[:20]]
        return "\n".join(lines)


class Difference:
    """What differs between two tables; true where something does."""

    def __init__(self, details: dict[str, Any]) -> None:
        self.details = details
        """The whole report, as the command line prints it with ``--json``."""

    @property
    def equal(self) -> bool:
        """Whether the two are the same."""
        return bool(self.details["equal"])

    @property
    def first(self) -> list[dict[str, Any]]:
        """The first values that differ."""
        return self.details["first"]  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        return not self.equal

    def __repr__(self) -> str:
        if self.equal:
            return "<tesselle.Difference: none>"
        shown = {name: value for name, value in self.details.items() if name not in ("equal", "first")}
        return f"<tesselle.Difference {shown}, first: {self.first[:3]}>"


def verify(uri: Uri, depth: str = "deep", *, progress: Progress = None, **options: Any) -> Report:
    """Checks a container.

    Args:
        uri: what to check.
        depth: ``"quick"`` the structure, ``"pieces"`` also all checksums, ``"deep"`` every value.
        progress: what shows it; see :func:`convert`.
        **options: the keywords of :func:`open`.
    """
    with reporter(progress) as report:
        details = json.loads(_native.verify(path(uri), opening(**options), depth, report))
    found = [Finding(**{k: v for k, v in each.items() if k in Finding._fields}) for each in details["findings"]]
    return Report(details["ok"], found, details)


def repair(src: Uri, dst: Uri, *, overwrite: bool = False, **options: Any) -> Report:
    """Writes what can be saved of ``src`` to ``dst``; the source is not touched.

    Args:
        src: what is damaged.
        dst: what to write.
        overwrite: replace what is there.
        **options: the keywords of :func:`open`.
    """
    details = json.loads(_native.repair(path(src), path(dst), opening(**options), overwrite))
    found = [Finding("info", details["outcome"], note) for note in details["notes"]]
    return Report(details["whole"], found, details)


def diff(
    a: Uri,
    b: Uri,
    key: Sequence[str] | str | None = None,
    columns: Sequence[str] | str | None = None,
    *,
    progress: Progress = None,
    **options: Any,
) -> Difference:
    """Compares two tables, of the same or of different formats.

    Args:
        a: one table, perhaps with ``#table``.
        b: the other one.
        key: the columns that identify a row; by default rows are matched by position or by their natural key.
        columns: compare only these columns.
        progress: what shows it; see :func:`convert`.
        **options: the keywords of :func:`open`.
    """
    with reporter(progress) as report:
        found = _native.diff(path(a), path(b), opening(**options), names(key), names(columns), report)
    return Difference(json.loads(found))
