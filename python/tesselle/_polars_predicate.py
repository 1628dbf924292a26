"""Predicates of polars as conditions of the engine."""

from __future__ import annotations

import datetime
import json
import struct
from typing import Any

import polars

from . import _condition as sql

_COMPARISONS = {"Eq": "=", "NotEq": "<>", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_CLOSED = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}
_PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}
_INTEGERS = {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64, 128)}
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
        case {"Column": str(column)} if schema.get(column) == polars.Boolean:
            return sql.compare(column, "=", True)
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
        case {"IsIn": _}, [{"Literal": {"Scalar": {"List": list(content)}}}]:
            return _one_of(column, bytes(content), schema.get(column))
    return None


def _one_of(column: str, content: bytes, kind: polars.DataType | None) -> str | None:
    """Returns the condition for a list of values, which polars serializes as a stream of Arrow."""
    values = polars.read_ipc_stream(content).to_series()
    while isinstance(values.dtype, polars.List):
        values = values.explode()
    is_same = values.dtype == kind and (values.dtype.is_integer() or values.dtype == polars.String)
    return sql.one_of(column, values.to_list()) if is_same and not values.null_count() else None


def _compare(column: str, op: str | None, tree: Any, schema: polars.Schema) -> str | None:
    value = None if op is None else _value(tree, schema.get(column))
    return None if op is None or value is None else sql.compare(column, op, value)


def _value(tree: Any, kind: polars.DataType | None) -> sql.Value | None:
    """Returns a literal as the engine compares it with a column of this type, where polars compares it the same way."""
    if kind is None:
        return None
    match tree:
        case {"Dyn": {"Int": int(value)}}:
            return value if kind.is_integer() else None
        case {"Scalar": {"String": str(value)}}:
            return value if kind == polars.String else None
        case {"Scalar": {"Boolean": bool(value)}}:
            return value if kind == polars.Boolean else None
        case {"Scalar": {"Date": int(days)}}:
            try:
                return datetime.date(1970, 1, 1) + datetime.timedelta(days) if kind == polars.Date else None
            except OverflowError:  # polars has dates that Python does not have
                return None
        case {"Scalar": {"Datetime": [int(value), str(unit), zone]}}:
            if isinstance(kind, polars.Datetime) and (kind.time_zone is None) == (zone is None) and unit in _UNITS:
                return sql.scaled(value, _UNITS[unit], _PER_SECOND[kind.time_unit])
        case {"Scalar": {"Float32": float(value)}}:
            # It is printed with the few digits that tell floats of 32 bits apart.
            (exact,) = struct.unpack("<f", struct.pack("<f", value))
            return float(exact) if kind == polars.Float32 else None
        case {"Dyn": {"Float": float(value)}} | {"Scalar": {"Float64": float(value)}}:
            return value if kind == polars.Float64 else None
        case {"Scalar": dict(scalar)} if scalar.keys() <= _INTEGERS:
            return next(iter(scalar.values()), None) if kind.is_integer() else None
    return None
