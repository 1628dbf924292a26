"""Predicates of polars as conditions of the engine."""

from __future__ import annotations

import json
from typing import Any

import polars

from . import _condition as sql

_COMPARISONS = {"Eq": "=", "NotEq": "<>", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_CLOSED = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}
_PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}
_UNITS = {"Milliseconds": 10**3, "Microseconds": 10**6, "Nanoseconds": 10**9}


def to_sql(predicate: polars.Expr, schema: polars.Schema) -> str | None:
    """Returns a condition that holds wherever ``predicate`` does; ``None`` where nothing can be pushed down."""
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
    except Exception:  # polars calls this form unstable; without it nothing is pushed down
        return None
    return _condition(tree, schema)


def _condition(tree: Any, schema: polars.Schema) -> str | None:
    match tree:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            return sql.both(_condition(left, schema), _condition(right, schema))
        case {"BinaryExpr": {"left": left, "op": "Or" | "LogicalOr", "right": right}}:
            return sql.either(_condition(left, schema), _condition(right, schema))
        case {"BinaryExpr": {"left": {"Column": str(column)}, "op": op, "right": {"Literal": value}}}:
            return _compare(column, _COMPARISONS.get(op), value, schema)
        case {"BinaryExpr": {"left": {"Literal": value}, "op": op, "right": {"Column": str(column)}}}:
            return _compare(column, sql.OPPOSITE_SIDE.get(_COMPARISONS.get(op, "")), value, schema)
        case {"Function": {"input": [{"Column": str(column)}, *rest], "function": {"Boolean": function}}}:
            return _function(column, function, rest, schema)
    return None


def _function(column: str, function: Any, rest: list[Any], schema: polars.Schema) -> str | None:
    match function, rest:
        case "IsNull", []:
            return f"{sql.name(column)} IS NULL"
        case "IsNotNull", []:
            return f"{sql.name(column)} IS NOT NULL"
        case {"IsBetween": {"closed": str(closed)}}, [{"Literal": low}, {"Literal": high}]:
            above, below = _CLOSED.get(closed, (None, None))
            return sql.both(_compare(column, above, low, schema), _compare(column, below, high, schema))
    return None


def _compare(column: str, op: str | None, tree: Any, schema: polars.Schema) -> str | None:
    value = None if op is None else _value(tree, schema.get(column))
    return None if op is None or value is None else sql.compare(column, op, value)


def _value(tree: Any, kind: polars.DataType | None) -> sql.Value | None:
    """Returns a literal as the engine compares it with a column of this type, where polars compares it the same way."""
    match tree:
        case {"Dyn": {"Int": int(value)}} | {"Scalar": {"Int64": int(value)}} | {"Scalar": {"Int32": int(value)}}:
            if kind is not None and kind.is_integer():
                return value
            return float(value) if kind == polars.Float64 else None
        case {"Dyn": {"Float": float(value)}} | {"Scalar": {"Float64": float(value)}}:
            return value if kind == polars.Float64 else None
        case {"Scalar": {"String": str(value)}}:
            return value if kind == polars.String else None
        case {"Scalar": {"Boolean": bool(value)}}:
            return value if kind == polars.Boolean else None
        case {"Scalar": {"Datetime": [int(value), str(unit), None]}}:
            if isinstance(kind, polars.Datetime) and kind.time_zone is None and unit in _UNITS:
                return sql.scaled(value, _UNITS[unit], _PER_SECOND[kind.time_unit])
    return None
