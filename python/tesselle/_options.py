"""Keywords of the package as the native module takes them."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Time: TypeAlias = "int | str | datetime.datetime"
"""Milliseconds since 1970, an ISO 8601 string, or a datetime."""
Between: TypeAlias = "tuple[Time, Time]"
Uri: TypeAlias = "str | os.PathLike[str]"


def path(uri: Uri) -> str:
    """The uri as a string."""
    return os.fspath(uri)


def opening(
    *,
    format: str | None = None,
    at: Time | None = None,
    between: Between | None = None,
    key: bytes | str | None = None,
    storage_options: Mapping[str, str] | None = None,
    raw: bool = False,
    text_as_binary: bool = False,
    full_domain: bool = False,
) -> dict[str, Any]:
    """How to open a container."""
    if storage_options:
        raise ValueError("storage_options are for object stores, which this build does not include")
    if at is not None and between is not None:
        raise ValueError("give at= or between=, not both")
    span = None
    if at is not None:
        span = (0, milliseconds(at))
    elif between is not None:
        span = (milliseconds(between[0]), milliseconds(between[1]))
    if key is None and (given := os.environb.get(b"TESSELLE_KEY")) is not None:
        key = given
    return {
        "format": format,
        "between": span,
        "key": key.encode() if isinstance(key, str) else key,
        "raw": raw,
        "text_as_binary": text_as_binary,
        "full_domain": full_domain,
    }


def milliseconds(time: Time) -> int:
    """A time as milliseconds since 1970."""
    if isinstance(time, int):
        return time
    if isinstance(time, str):
        time = datetime.datetime.fromisoformat(time)
    if time.tzinfo is None:
        time = time.replace(tzinfo=datetime.timezone.utc)
    since = time - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return since // datetime.timedelta(milliseconds=1)


def settings(options: Mapping[str, object]) -> list[tuple[str, str]]:
    """Keyword options as settings of a format: ``chunk=(10, 7)`` is ``chunk=10,7``."""
    return [(name, _text(value)) for name, value in options.items() if value is not None]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return ",".join(f"{name}:{_text(inner)}" for name, inner in value.items())
    if isinstance(value, Sequence):
        return ",".join(_text(inner) for inner in value)
    return str(value)


def types(wanted: Mapping[str, str] | str | None) -> str | None:
    """Types of columns, ``{"time": "timestamp_ms"}``."""
    if wanted is None or isinstance(wanted, str):
        return wanted
    return ",".join(f"{name}={kind}" for name, kind in wanted.items())
