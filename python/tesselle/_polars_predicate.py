"""Predicates of polars as conditions of the engine."""

from __future__ import annotations

import datetime
import json
import struct
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import polars

from . import _condition as sql

_COMPARISONS = {"Eq": "=", "NotEq": "<>", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_CLOSED = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}
_INTEGERS = {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64, 128)}
_PER_SECOND = {"datetime64[s]": 1, "datetime64[ms]": 10**3, "datetime64[us]": 10**6, "datetime64[ns]": 10**9}
_UNITS = {"Milliseconds": 10**3, "Microseconds": 10**6, "Nanoseconds": 10**9}


class Column(NamedTuple):
    """A column that conditions can name."""

    kind: polars.DataType
    """The type that polars has for it."""
    per_second: int = 0
    """How many of the engine's units of time there are in a second: polars has no type that counts seconds."""


Columns: TypeAlias = Mapping[str, Column]


def columns_of(schema: polars.Schema, times: Iterable[tuple[str, str]]) -> dict[str, Column]:
    """Returns the columns of a table.

    Args:
        schema: the columns as polars has them.
        times: the columns that are times, with the types that numpy has for them.
    """
    units = {name: _PER_SECOND.get(kind, 0) for name, kind in times}
    return {name: Column(kind, units.get(name, 0)) for name, kind in schema.items()}


def to_sql(predicate: polars.Expr, columns: Columns) -> str | None:
    """Returns a condition that holds wherever ``predicate`` does; ``None`` where nothing can be pushed down."""
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
    except Exception:  # polars calls this form unstable; without it nothing is pushed down
        return None
    return _condition(tree, columns)


def _condition(tree: Any, columns: Columns) -> str | None:
    match tree:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            return sql.both(_condition(left, columns), _condition(right, columns))
        case {"BinaryExpr": {"left": left, "op": "Or" | "LogicalOr", "right": right}}:
            return sql.either(_condition(left, columns), _condition(right, columns))
        case {"BinaryExpr": {"left": {"Column": str(column)}, "op": op, "right": {"Literal": value}}}:
            return _compare(column, _COMPARISONS.get(op), value, columns)
        case {"BinaryExpr": {"left": {"Literal": value}, "op": op, "right": {"Column": str(column)}}}:
            return _compare(column, sql.OPPOSITE_SIDE.get(_COMPARISONS.get(op, "")), value, columns)
        case {"Function": {"input": [{"Column": str(column)}, *rest], "function": {"Boolean": function}}}:
            return _function(column, function, rest, columns)
        case {"Column": str(column)} if column in columns and columns[column].kind == polars.Boolean:
            return sql.compare(column, "=", True)
    return None


def _function(column: str, function: Any, rest: list[Any], columns: Columns) -> str | None:
    match function, rest:
        case "IsNull", []:
            return f"{sql.name(column)} IS NULL"
        case "IsNotNull", []:
            return f"{sql.name(column)} IS NOT NULL"
        case {"IsBetween": {"closed": str(closed)}}, [{"Literal": low}, {"Literal": high}]:
            above, below = _CLOSED.get(closed, (None, None))
            return sql.both(_compare(column, above, low, columns), _compare(column, below, high, columns))
        case {"IsIn": _}, [{"Literal": {"Scalar": {"List": list(content)}}}] if column in columns:
            return _one_of(column, bytes(content), columns[column].kind)
    return None


def _one_of(column: str, content: bytes, kind: polars.DataType) -> str | None:
    """Returns the condition for a list of values, which polars serializes as a stream of Arrow."""
    values = polars.read_ipc_stream(content).to_series()
    while isinstance(values.dtype, polars.List):
        values = values.explode()
    is_same = values.dtype == kind and (values.dtype.is_integer() or values.dtype == polars.String)
    return sql.one_of(column, values.to_list()) if is_same and not values.null_count() else None


def _compare(column: str, op: str | None, tree: Any, columns: Columns) -> str | None:
    value = None if op is None or column not in columns else _value(tree, columns[column])
    return None if op is None or value is None else sql.compare(column, op, value)


def _value(tree: Any, column: Column) -> sql.Value | None:
    """Returns a literal as the engine compares it with this column, where polars compares it the same way."""
    kind = column.kind
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
            same_zone = isinstance(kind, polars.Datetime) and (kind.time_zone is None) == (zone is None)
            if same_zone and column.per_second and unit in _UNITS:
                return sql.scaled(value, _UNITS[unit], column.per_second)
        case {"Scalar": {"Float32": float(value)}}:
            # It is printed with the few digits that tell floats of 32 bits apart.
            (exact,) = struct.unpack("<f", struct.pack("<f", value))
            return float(exact) if kind == polars.Float32 else None
        case {"Dyn": {"Float": float(value)}} | {"Scalar": {"Float64": float(value)}}:
            return value if kind == polars.Float64 else None
        case {"Scalar": dict(scalar)} if scalar.keys() <= _INTEGERS:
            return next(iter(scalar.values()), None) if kind.is_integer() else None
    return None
