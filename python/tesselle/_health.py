"""Verifying, repairing and comparing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _native
from ._options import Uri, opening, path


@dataclass(frozen=True)
class Finding:
    """One thing that a verification found."""

    severity: str
    kind: str
    message: str
    file: str | None = None
    offset: int | None = None
    piece: str | None = None


@dataclass(frozen=True)
class Report:
    """What a verification or a repair found."""

    ok: bool
    findings: list[Finding] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True)
class Difference:
    """What differs between two tables."""

    equal: bool
    first: list[dict[str, Any]]
    details: dict[str, Any]

    def __bool__(self) -> bool:
        return not self.equal


def verify(uri: Uri, depth: str = "deep", **options: Any) -> Report:
    """Checks a container: ``"quick"`` its structure, ``"pieces"`` also its checksums, ``"deep"`` every value."""
    report = json.loads(_native.verify(path(uri), opening(**options), depth))
    names = Finding.__dataclass_fields__
    findings = [Finding(**{k: v for k, v in found.items() if k in names}) for found in report["findings"]]
    return Report(report["ok"], findings, report)


def repair(src: Uri, dst: Uri, *, overwrite: bool = False, **options: Any) -> Report:
    """Writes what can be saved of ``src`` to ``dst``; the source is not touched."""
    report = json.loads(_native.repair(path(src), path(dst), opening(**options), overwrite))
    findings = [Finding("info", "repair", note) for note in report["notes"]]
    return Report(report["outcome"] != "partial", findings, report)


def diff(
    a: Uri, b: Uri, key: Sequence[str] | None = None, columns: Sequence[str] | None = None, **options: Any
) -> Difference:
    """Compares two tables, of the same or of different formats.

    Args:
        a: one table, perhaps with ``#table``.
        b: the other one.
        key: the columns that identify a row; by default rows are matched by position or by their natural key.
        columns: compare only these columns.
    """
    found = _native.diff(
        path(a), path(b), opening(**options), None if key is None else list(key),
        None if columns is None else list(columns),
    )  # fmt: skip
    details = json.loads(found)
    return Difference(details["equal"], details["first"], details)
