"""Predicates of polars as SQL conditions, where the meaning is exactly the same."""

from __future__ import annotations

import json
from typing import Any

import polars

_COMPARISONS = {"Eq": "=", "NotEq": "<>", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_EXACT = (
    polars.Int8, polars.Int16, polars.Int32, polars.Int64,
    polars.UInt8, polars.UInt16, polars.UInt32, polars.UInt64, polars.String, polars.Boolean,
)  # fmt: skip


def to_sql(predicate: polars.Expr, schema: polars.Schema) -> str | None:
    """An SQL condition that holds wherever ``predicate`` does; ``None`` where nothing can be pushed down."""
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
    except Exception:  # polars calls this format unstable: without it nothing is pushed down
        return None
    return _condition(tree, schema)


def _condition(tree: Any, schema: polars.Schema) -> str | None:
    if not isinstance(tree, dict) or len(tree) != 1:
        return None
    ((kind, parts),) = tree.items()
    if kind != "BinaryExpr":
        return None
    left, op, right = parts.get("left"), parts.get("op"), parts.get("right")
    if op in ("And", "LogicalAnd"):
        both = [text for text in (_condition(left, schema), _condition(right, schema)) if text]
        return " AND ".join(f"({text})" for text in both) or None
    if op in ("Or", "LogicalOr"):
        first, second = _condition(left, schema), _condition(right, schema)
        return f"({first}) OR ({second})" if first and second else None
    if op not in _COMPARISONS:
        return None
    name, value = _column(left), _literal(right)
    if name is None:
        return None
    if value is None or not isinstance(schema.get(name), _EXACT):
        return None
    quoted = name.replace('"', '""')
    return f'"{quoted}" {_COMPARISONS[op]} {value}'


def _column(tree: Any) -> str | None:
    found = tree.get("Column") if isinstance(tree, dict) else None
    return found if isinstance(found, str) else None


def _literal(tree: Any) -> str | None:
    value = tree.get("Literal") if isinstance(tree, dict) else None
    while isinstance(value, dict) and len(value) == 1:
        ((_, value),) = value.items()
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return None
