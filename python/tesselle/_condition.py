"""Conditions of other libraries as SQL that the engine understands.

A pushed-down condition selects every row that the original selects, and possibly more: the caller applies the original to
the result. Negations are therefore never pushed down, because the negation of a wider condition is narrower.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable

OPPOSITE_SIDE = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
"""A comparison with its sides exchanged."""

Value = bool | int | float | str | datetime.date


def name(column: str) -> str:
    """Returns the name of a column in SQL."""
    return '"' + column.replace('"', '""') + '"'


def literal(value: Value) -> str | None:
    """Returns a value in SQL; ``None`` where it has no form there."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return repr(value)


def compare(column: str, op: str, value: Value) -> str | None:
    """Returns ``column op value``."""
    shown = literal(value)
    return None if shown is None else f"{name(column)} {op} {shown}"


def one_of(column: str, values: Iterable[Value]) -> str | None:
    """Returns ``column IN (values)``."""
    shown = [literal(value) for value in values]
    if not shown or any(each is None for each in shown):
        return None
    return f"{name(column)} IN ({', '.join(each for each in shown if each)})"


def both(*parts: str | None) -> str | None:
    """Returns the conjunction of the parts that are known."""
    known = [f"({part})" for part in parts if part]
    return " AND ".join(known) or None


def either(*parts: str | None) -> str | None:
    """Returns the disjunction, where all parts are known."""
    known = [f"({part})" for part in parts if part]
    return " OR ".join(known) if len(known) == len(parts) else None


def scaled(value: int, of: int, to: int) -> int | None:
    """Returns a time of ``of`` units a second in ``to`` units a second, where that is exact."""
    ticks, rest = divmod(value * to, of)
    return None if rest else ticks
