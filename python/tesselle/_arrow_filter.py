"""Filters of pyarrow as conditions of the engine.

An expression of pyarrow has one readable form: Substrait, a protobuf message. A few of its fields are all that is needed.
"""

from __future__ import annotations

import datetime
import re
import struct
from collections.abc import Iterator
from typing import Any

import pyarrow
import pyarrow.dataset

from . import _condition as sql

_COMPARISONS = {"equal": "=", "not_equal": "<>", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def to_sql(expression: pyarrow.dataset.Expression, schema: pyarrow.Schema) -> tuple[str | None, set[str] | None]:
    """Returns a condition that holds wherever ``expression`` does, and the columns that the expression tests.

    ``None`` stands for no condition, and for columns that are not known.
    """
    tested = columns_of(expression, schema)
    if tested is None:
        return None, None
    # Substrait lacks some types, which matters only where they are tested. Dictionaries are compared by their values.
    fields = [(field.name, _value_type(field.type)) for field in schema if field.name in tested]
    try:
        from pyarrow import substrait

        message = bytes(substrait.serialize_expressions([expression], ["filter"], pyarrow.schema(fields)))
    except (ImportError, pyarrow.ArrowException):  # pyarrow can be built without it, and some expressions have no such form
        return None, tested
    content = _Fields(message)
    functions = {}
    for declared in content.all(2):
        function = _Fields(declared).message(3)
        functions[function.number(2)] = function.content(3).decode()
    reader = _Reader(functions, [name for name, _ in fields], dict(fields))
    return reader.condition(content.message(3).message(1)), tested


def columns_of(expression: pyarrow.dataset.Expression, schema: pyarrow.Schema) -> set[str] | None:
    """Returns the columns that an expression needs, and possibly others; ``None`` where they are not known."""
    text = str(expression)
    if "FieldPath(" in text or "FieldRef." in text:  # columns by number, or parts of structs
        return None
    return {name for name in schema.names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)}


def _value_type(kind: pyarrow.DataType) -> pyarrow.DataType:
    return kind.value_type if pyarrow.types.is_dictionary(kind) else kind


class _Fields:
    """The fields of a protobuf message, by number."""

    def __init__(self, message: bytes) -> None:
        self._fields: list[tuple[int, int | bytes]] = list(_parse(message))

    def all(self, number: int) -> Iterator[bytes]:
        """Yields all messages of that number."""
        return (value for found, value in self._fields if found == number and isinstance(value, bytes))

    def content(self, number: int) -> bytes:
        """Returns the last bytes of that number, empty where there are none."""
        return next(reversed(list(self.all(number))), b"")

    def message(self, number: int) -> _Fields:
        """Returns the last message of that number."""
        return _Fields(self.content(number))

    def number(self, number: int) -> int:
        """Returns the last integer of that number, 0 where there is none."""
        return next((value for found, value in reversed(self._fields) if found == number and isinstance(value, int)), 0)

    def only(self) -> tuple[int, int | bytes] | None:
        """Returns the only field."""
        return self._fields[0] if len(self._fields) == 1 else None

    def __contains__(self, number: int) -> bool:
        return any(found == number for found, _ in self._fields)


def _parse(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    sizes = {1: 8, 5: 4}
    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            size = sizes[tag & 7] if tag & 7 in sizes else varint()
            yield tag >> 3, message[at : at + size]
            at += size


class _Reader:
    """Reads expressions."""

    def __init__(self, functions: dict[int, str], names: list[str], types: dict[str, pyarrow.DataType]) -> None:
        self._functions, self._names, self._types = functions, names, types

    def condition(self, expression: _Fields) -> str | None:
        """Returns the condition of an expression, or what it implies."""
        if 3 in expression:
            function = expression.message(3)
            arguments = [_Fields(argument).message(3) for argument in function.all(4)]
            return self._function(self._functions.get(function.number(1), ""), arguments)
        if 6 in expression:
            return self._choice(expression.message(6))
        if 8 in expression:
            choice = expression.message(8)
            column = self._column(choice.message(1))
            values = [self._literal(_Fields(option), column) for option in choice.all(2)]
            if column is None or any(value is None for value in values):
                return None
            return sql.one_of(column, [value for value in values if value is not None])
        column = self._column(expression)
        return sql.compare(column, "=", True) if column and pyarrow.types.is_boolean(self._types[column]) else None

    def _choice(self, choice: _Fields) -> str | None:
        """Returns what ``if_else(test, chosen, other)`` implies: that ``test`` and ``chosen`` hold, or ``other``."""
        clauses = [_Fields(clause) for clause in choice.all(1)]
        if len(clauses) != 1:
            return None
        chosen = sql.both(self.condition(clauses[0].message(1)), self.condition(clauses[0].message(2)))
        other = choice.message(2)
        literal = other.message(1)
        if 29 in literal or 1 in literal and not literal.number(1):  # null or false
            return chosen
        return sql.either(chosen, self.condition(other))

    def _function(self, function: str, arguments: list[_Fields]) -> str | None:
        if function == "and":
            return sql.both(*[self.condition(argument) for argument in arguments])
        if function == "or":
            return sql.either(*[self.condition(argument) for argument in arguments])
        if function in ("is_null", "is_not_null") and len(arguments) == 1:
            column = self._column(arguments[0])
            return None if column is None else f"{sql.name(column)} IS {'NOT ' if 'not' in function else ''}NULL"
        if function in _COMPARISONS and len(arguments) == 2:
            return self._compare(_COMPARISONS[function], *arguments)
        return None

    def _compare(self, op: str, left: _Fields, right: _Fields) -> str | None:
        if 1 in left:
            left, right, op = right, left, sql.OPPOSITE_SIDE[op]
        column = self._column(left)
        value = self._literal(right, column)
        return None if column is None or value is None else sql.compare(column, op, value)

    def _column(self, expression: _Fields) -> str | None:
        """Returns the name of the column that an expression is."""
        if 2 not in expression:
            return None
        field = expression.message(2).message(1).message(2)
        return None if 2 in field else self._names[field.number(1)]  # 2: a part of a struct

    def _literal(self, expression: _Fields, column: str | None) -> sql.Value | None:
        """Returns a literal as the engine compares it with this column."""
        found = expression.message(1).only()
        if column is None or 1 not in expression or found is None:
            return None
        return _value(found, self._types[column])


def _value(found: tuple[int, Any], kind: pyarrow.DataType) -> sql.Value | None:
    number, value = found
    if number in (2, 3, 5, 7) and pyarrow.types.is_integer(kind):
        return _signed(value)
    if number == 33 and pyarrow.types.is_unsigned_integer(kind):
        # Substrait has no unsigned integers: they are messages of protobuf, by the name of their type.
        wrapped = _Fields(value).message(2)
        is_unsigned = wrapped.content(1).endswith((b"UInt64Value", b"UInt32Value"))
        return wrapped.message(2).number(1) if is_unsigned else None
    if number == 1 and pyarrow.types.is_boolean(kind):
        return bool(value)
    # Pyarrow rounds a list of doubles to the type of its column; the engine compares what is written.
    if number == 10 and pyarrow.types.is_float32(kind) or number == 11 and pyarrow.types.is_float64(kind):
        unpacked: float = struct.unpack("<f" if number == 10 else "<d", value)[0]
        return unpacked
    if number == 12 and (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
        text: str = value.decode()
        return text
    if number in (14, 27) and pyarrow.types.is_timestamp(kind) and (kind.tz is None) == (number == 14):
        return sql.scaled(_signed(value), 10**6, _PER_SECOND[kind.unit])
    if number == 16 and pyarrow.types.is_date32(kind):
        try:
            return datetime.date(1970, 1, 1) + datetime.timedelta(_signed(value))
        except OverflowError:
            return None
    return None


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value
