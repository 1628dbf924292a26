"""Keywords of the package as the native module takes them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ._errors import InvalidCall

if TYPE_CHECKING:
    import datetime

Time: TypeAlias = "int | str | datetime.datetime"
"""Milliseconds since 1970, an ISO 8601 string, or a datetime."""
Between: TypeAlias = "tuple[Time, Time]"
Uri: TypeAlias = "str | os.PathLike[str]"


def path(uri: Uri | Any) -> str:
    """Returns the uri as a string."""
    found = os.fspath(uri)
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
) -> dict[str, Any]:
    """Returns how to open a container."""
    if at is not None and between is not None:
        raise InvalidCall("at= and between= exclude each other")
    span = None
    if at is not None:
        span = (0, milliseconds(at))
    elif between is not None:
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


def milliseconds(time: Time) -> int:
    """Returns a time as milliseconds since 1970."""
    if isinstance(time, int):
        return time
    import datetime

    moment = datetime.datetime.fromisoformat(time) if isinstance(time, str) else time
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    since = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return since // datetime.timedelta(milliseconds=1)


def settings(options: Mapping[str, object]) -> list[tuple[str, str]]:
    """Returns keywords as settings of a format: ``chunk=(10, 7)`` is the string ``10,7``."""
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


def attributes(metadata: Mapping[str, object] | None) -> list[tuple[str, str]]:
    """Returns metadata as names and JSON values."""
    import json

    return [(name, json.dumps(value)) for name, value in (metadata or {}).items()]


def types(wanted: Mapping[str, str] | str | None) -> str | None:
    """Returns types of columns, ``{"time": "timestamp_ms"}``, as one string."""
    if wanted is None or isinstance(wanted, str):
        return wanted
    return ",".join(f"{name}={kind}" for name, kind in wanted.items())


def names(columns: Sequence[str] | str | None) -> list[str] | None:
    """Returns a choice of columns as a list."""
    if columns is None:
        return None
    return [columns] if isinstance(columns, str) else list(columns)
