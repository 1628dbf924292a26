"""Values of expected.json and of Arrow columns in one form, to be compared bit by bit."""

from __future__ import annotations

import hashlib
import math
import struct
from typing import Any

import pyarrow

_NAMES = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0.0": -0.0}
_SINGLE = ("FLOAT32", "FLOAT", "float32", "f32")
_FLOATS = (*_SINGLE, "FLOAT64", "DOUBLE", "float64", "f64", "f16")


def of_expected(value: Any, kind: str) -> Any:
    """Returns a value of expected.json: bytes for what is text or binary, bits for floats."""
    if isinstance(value, dict):
        return _described(value)
    if isinstance(value, list):
        return [of_expected(inner, kind) for inner in value]
    if isinstance(value, str) and value[:4] in ("f32:", "f64:"):
        code = ">f" if value[1] == "3" else ">d"
        return _float(struct.unpack(code, bytes.fromhex(value[4:]))[0])
    if kind in _FLOATS and value is not None:
        number = _NAMES[value] if isinstance(value, str) else float(value)
        return _float(struct.unpack("f", struct.pack("f", number))[0] if kind in _SINGLE else number)
    if isinstance(value, str):
        return value.encode()
    return value if value is None else int(value)


def _described(value: dict[str, Any]) -> Any:
    if "hex" in value:
        return bytes.fromhex(value["hex"])
    if "sha256" in value:
        return (value["len"], value["sha256"])
    if "repeat" in value:
        repeated = value["repeat"]
        return repeated.encode() * value["count"] if isinstance(repeated, str) else [repeated] * value["count"]
    if "iota_mod_1000" in value:
        return [i % 1000 for i in range(value["iota_mod_1000"])]
    raise TypeError(f"a value of an unknown form: {value}")


def of_arrow(column: pyarrow.ChunkedArray) -> list[Any]:
    """Returns the values of a column in the same form."""
    return [_plain(value) for value in _stored(column).to_pylist()]


def of_numpy(column: Any) -> list[Any]:
    """Returns the values of an array in the same form, times as the integers that are stored."""
    if column.dtype.kind in "mM":
        column = column.astype("i8")
    return [_plain(_listed(value)) for value in column.tolist()]


def _listed(value: Any) -> Any:
    """Returns the array of a cell as bytes or as a list."""
    if isinstance(value, memoryview):
        return value.tobytes() if value.itemsize == 1 else value.tolist()
    return value.tolist() if hasattr(value, "tolist") else value


def assert_same(column: pyarrow.ChunkedArray, values: list[Any], kind: str) -> None:
    """Compares a column with values of expected.json."""
    wanted = [of_expected(value, kind) for value in values]
    found = of_arrow(column)
    assert len(found) == len(wanted)
    for row, (ours, theirs) in enumerate(zip(found, wanted)):
        if isinstance(theirs, tuple) and isinstance(ours, bytes):
            ours = (len(ours), hashlib.sha256(ours).hexdigest())
        assert ours == theirs, f"row {row}"


def _stored(column: Any) -> Any:
    """Returns times as the integers that are stored."""
    kind = column.type
    if pyarrow.types.is_timestamp(kind) or pyarrow.types.is_duration(kind):
        return column.cast(pyarrow.int64())
    if pyarrow.types.is_date32(kind):
        return column.cast(pyarrow.int32())
    return column


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, bool) else value


def _float(value: float) -> Any:
    """Returns a float so that NaN is equal to itself and the sign of zero counts."""
    return "NaN" if math.isnan(value) else (value, math.copysign(1.0, value))
