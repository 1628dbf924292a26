"""Keywords of the package as the native module takes them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ._errors import InvalidCall

if TYPE_CHECKING:
    import datetime

Time: TypeAlias = "int | str | datetime.datetime"
"""Milliseconds since 1970, a datetime, ISO 8601, ``"now"``, or a time such as ``"5 minutes ago"``."""
Between: TypeAlias = "tuple[Time, Time]"
Uri: TypeAlias = "str | os.PathLike[str]"


def path(uri: Uri | Any) -> str:
    """Returns the name of a local file as a string.

    Raises:
        TypeError: it is something else.
    """
    if hasattr(uri, "read") or not hasattr(uri, "__fspath__") and hasattr(uri, "fs") and hasattr(uri, "path"):
        raise TypeError(
            f"this call takes the name of a file, not an open file or a path of another storage ({type(uri).__name__}); "
            "tesselle.open and tesselle.scan read those"
        )
    try:
        found = os.fspath(uri)
    except TypeError:
        raise TypeError(f"a uri is a string or a path, not {type(uri).__name__}") from None
    if not isinstance(found, str):
        raise TypeError(f"a uri is a string or a path, not {type(uri).__name__}")
    return found


def secret(key: bytes | str | None) -> bytes | None:
    """Returns the key as bytes, by default that of the environment."""
    if key is None:
        return os.environb.get(b"TESSELLE_KEY") if os.supports_bytes_environ else None
    return key.encode() if isinstance(key, str) else key


def opening(
    *,
    format: str | None = None,
    at: Time | None = None,
    between: Between | None = None,
    key: bytes | str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    raw: bool = False,
    text_as_binary: bool = False,
    full_domain: bool = False,
    deleted: bool = False,
    **unknown: Any,
) -> dict[str, Any]:
    """Returns how to open a container."""
    if unknown:
        raise TypeError(f"unexpected keyword argument {', '.join(map(repr, unknown))}; see tesselle.open for those of files")
    if at is not None and between is not None:
        raise InvalidCall("at= and between= exclude each other")
    span = None
    if at is not None:
        span = (0, milliseconds(at))
    elif between is not None:
        if isinstance(between, str) or len(between) != 2:
            raise InvalidCall("between= is a pair of times")
        span = (milliseconds(between[0]), milliseconds(between[1]))
    return {
        "format": format,
        "between": span,
        "key": secret(key),
        "raw": raw,
        "text_as_binary": text_as_binary,
        "full_domain": full_domain,
        "deleted": deleted,
        "mapped": _mapped(storage_options),
    }


def _mapped(storage_options: Mapping[str, Any] | None) -> bool:
    """Returns whether local files are mapped, the only option that they have."""
    options = dict(storage_options or {})
    mapped = str(options.pop("mapped", False)).lower()
    if options:
        raise InvalidCall(
            f"local files have no storage option {next(iter(options))!r}",
            hint="the options of object stores are for their urls, such as s3://bucket/run.tet; local files take 'mapped'",
        )
    if mapped not in ("true", "false"):
        raise InvalidCall(f"'mapped' is true or false, not {mapped!r}")
    return mapped == "true"


_UNITS = {
    "ms": 1, "second": 1000, "minute": 60_000, "hour": 3_600_000, "day": 86_400_000, "week": 604_800_000,
}  # fmt: skip
"""Units of times before now, in milliseconds; all but the first may end with an s."""


def milliseconds(time: Time) -> int:
    """Returns a time as milliseconds since 1970."""
    import datetime

    given: Any = time
    if type(given).__module__ == "numpy" and hasattr(given, "item"):  # its integers and times
        given = given.item() if getattr(given.dtype, "kind", "") != "M" else given.astype("M8[us]").item()
    if isinstance(given, bool) or not isinstance(given, (int, str, datetime.datetime)):
        raise InvalidCall(f"a time is milliseconds since 1970, a string or a datetime, not {type(time).__name__}")
    found = _parsed(given) if isinstance(given, str) else given
    if isinstance(found, datetime.datetime):
        if found.tzinfo is None:
            found = found.replace(tzinfo=datetime.timezone.utc)
        found = (found - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)) // datetime.timedelta(milliseconds=1)
    if found < 0:
        raise InvalidCall(f"the time {time!r} is before 1970, which no format supports")
    if found >= 1 << 64:
        raise InvalidCall(f"the time {time!r} exceeds 64 bits")
    return found


def _parsed(text: str) -> int | datetime.datetime:
    """Returns a time as the command line takes it."""
    import datetime
    import re
    import time

    text = text.strip()
    if text.isdecimal():
        return int(text)
    before = re.fullmatch(r"now|(\d+)\s*(ms|(?:second|minute|hour|day|week)s?)\s*ago", text.lower(), re.ASCII)
    if before:
        count, unit = before.groups()
        ago = 0 if unit is None else int(count) * _UNITS[unit if unit == "ms" else unit.removesuffix("s")]
        return time.time_ns() // 1_000_000 - ago
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        raise InvalidCall(
            f"{text!r} is not a time",
            hint="use milliseconds since 1970, ISO 8601 such as '2024-05-01T12:00:00Z', or a time such as '5 minutes ago'",
        ) from None


def whole(keyword: str, value: Any) -> int | None:
    """Returns a number of rows."""
    import operator

    if value is None:
        return None
    try:
        found = operator.index(value)
    except TypeError:
        raise InvalidCall(f"{keyword}= is a number of rows, not {type(value).__name__}") from None
    if not 0 <= found < 1 << 64:
        raise InvalidCall(f"{keyword}= is not negative and has 64 bits at most, not {found}")
    return found


def settings(options: Mapping[str, object]) -> list[tuple[str, str]]:
    """Returns keywords as settings of a format: ``chunk=(10, 7)`` is the string ``10,7``."""
    return [(name, _setting(name, value)) for name, value in options.items() if value is not None]


def _setting(name: str, value: Any) -> str:
    if name == "timestamp" and not isinstance(value, str):
        return str(milliseconds(value))
    is_range = name.startswith(("domain_", "box_")) and isinstance(value, (tuple, list)) and len(value) == 2
    return ":".join(map(_text, value)) if is_range else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):  # a key, as itself or in its text form
        return value.decode() if value.startswith(b"hex:") else f"hex:{value.hex()}"
    if isinstance(value, Mapping):
        return ",".join(f"{name}:{_text(inner)}" for name, inner in value.items())
    if hasattr(value, "tolist"):  # numbers and arrays of numpy
        return _text(value.tolist())
    if isinstance(value, Sequence):
        return ",".join(_text(inner) for inner in value)
    return str(value)


def attributes(metadata: Mapping[str, object] | None) -> list[tuple[str, str]]:
    """Returns metadata as names and JSON values."""
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidCall(f"metadata= is a mapping of names to values, not {type(metadata).__name__}")
    return [(str(name), _json(name, value)) for name, value in (metadata or {}).items()]


def _json(name: object, value: object) -> str:
    import json

    def plain(inner: Any) -> Any:
        if hasattr(inner, "tolist"):  # numbers and arrays of numpy
            return inner.tolist()
        raise InvalidCall(f"the metadata {name!r} has no JSON form: it is, or contains, {type(inner).__name__}")

    try:
        return json.dumps(value, default=plain, allow_nan=False)
    except InvalidCall:
        raise
    except ValueError as error:  # NaN, infinities, an object that contains itself
        raise InvalidCall(f"the metadata {name!r} has no JSON form: {error}") from None


def types(wanted: Mapping[str, str] | str | None) -> str | None:
    """Returns types of columns, ``{"time": "timestamp_ms"}``, as one string."""
    if wanted is None or isinstance(wanted, str):
        return wanted
    return ",".join(f"{name}={kind}" for name, kind in wanted.items())


def names(columns: Sequence[str] | str | None) -> list[str] | None:
    """Returns a choice of columns as a list."""
    if columns is None:
        return None
    found = [columns] if isinstance(columns, str) else list(columns)
    for name in found:
        if not isinstance(name, str):
            raise InvalidCall(f"columns are chosen by name, not by {type(name).__name__}")
    return found
