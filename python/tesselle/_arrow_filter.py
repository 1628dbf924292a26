"""Filters of pyarrow as conditions of the engine.

An expression of pyarrow has one readable form: Substrait, a protobuf message. A few of its fields are all that is needed.
"""

from __future__ import annotations

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
    try:
        from pyarrow import substrait

        message = bytes(substrait.serialize_expressions([expression], ["filter"], schema))
    except (ImportError, pyarrow.ArrowException):  # pyarrow can be built without it, and some expressions have no such form
        return None, None
    fields = _Fields(message)
    functions = {}
    for declared in fields.all(2):
        function = _Fields(declared).message(3)
        functions[function.number(2)] = function.content(3).decode()
    reader = _Reader(functions, schema)
    pushed = reader.condition(fields.message(3).message(1))
    return pushed, reader.columns


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
    """Reads expressions; notes the columns it meets."""

    def __init__(self, functions: dict[int, str], schema: pyarrow.Schema) -> None:
        self._functions, self._schema = functions, schema
        self.columns: set[str] | None = set()

    def condition(self, expression: _Fields) -> str | None:
        """Returns the condition of an expression, or what it implies."""
        if 3 in expression:
            function = expression.message(3)
            arguments = [_Fields(argument).message(3) for argument in function.all(4)]
            return self._function(self._functions.get(function.number(1), ""), arguments)
        if 8 in expression:
            choice = expression.message(8)
            column = self._column(choice.message(1))
            values = [self._literal(_Fields(option), column) for option in choice.all(2)]
            if column is None or any(value is None for value in values):
                return None
            return sql.one_of(column, [value for value in values if value is not None])
        self._note(expression)
        return None

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
        for argument in arguments:
            self._note(argument)
        return None

    def _compare(self, op: str, left: _Fields, right: _Fields) -> str | None:
        if 1 in left:
            left, right, op = right, left, sql.OPPOSITE_SIDE[op]
        column = self._column(left)
        value = self._literal(right, column)
        self._note(right)
        return None if column is None or value is None else sql.compare(column, op, value)

    def _column(self, expression: _Fields) -> str | None:
        """Returns the name of the column that an expression is; notes those of others."""
        if 2 not in expression:
            self._note(expression)
            return None
        field = expression.message(2).message(1).message(2)
        if 2 in field:  # a part of a struct
            self.columns = None
            return None
        name: str = self._schema.names[field.number(1)]
        if self.columns is not None:
            self.columns.add(name)
        return name

    def _note(self, expression: _Fields) -> None:
        """Notes the columns of an expression that is not understood."""
        if 1 in expression:
            return
        if 2 in expression:
            self._column(expression)
        elif 3 in expression:
            for argument in expression.message(3).all(4):
                self._note(_Fields(argument).message(3))
        else:
            self.columns = None

    def _literal(self, expression: _Fields, column: str | None) -> sql.Value | None:
        """Returns a literal as the engine compares it with this column."""
        found = expression.message(1).only()
        if column is None or 1 not in expression or found is None:
            return None
        return _value(found, self._schema.field(column).type)


def _value(found: tuple[int, Any], kind: pyarrow.DataType) -> sql.Value | None:
    number, value = found
    if number in (2, 3, 5, 7) and pyarrow.types.is_integer(kind):
        signed: int = value - (1 << 64) if value >= 1 << 63 else value
        return signed
    if number == 1 and pyarrow.types.is_boolean(kind):
        return bool(value)
    if number in (10, 11) and pyarrow.types.is_floating(kind):
        unpacked: float = struct.unpack("<f" if number == 10 else "<d", value)[0]
        return unpacked
    if number == 12 and (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
        text: str = value.decode()
        return text
    if number == 14 and pyarrow.types.is_timestamp(kind) and kind.tz is None:
        micros: int = value - (1 << 64) if value >= 1 << 63 else value
        return sql.scaled(micros, 10**6, _PER_SECOND[kind.unit])
    return None
