"""Opened containers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, BinaryIO

from . import _native
from ._options import Between, Time, Uri, opening, path, secret
from ._stores import Adapter, place
from ._table import Table


class Layout(list[dict[str, Any]]):
    """The byte ranges of the files of a container, in order; a notebook shows them as a map."""

    def _repr_html_(self) -> str:
        from ._html import layout

        return layout(self)


class Container(Mapping[str, Table]):
    """An opened file or folder: a mapping of table names to tables.

    Opening reads metadata only. A container needs no closing; ``with`` is there for those who like it.
    """

    def __init__(self, uri: str, options: dict[str, Any], store: Adapter | None = None) -> None:
        self._uri, self._options, self._store = uri, options, store
        self._native = _native.open(uri, options, store)
        self._info: dict[str, Any] | None = None

    @property
    def uri(self) -> str:
        """The uri it was opened with."""
        return self._uri

    @property
    def format(self) -> str:
        """The format, e.g. ``"tsfile"``."""
        return self._native.format

    @property
    def version(self) -> str:
        """The version, as the format spells it."""
        return str(self._described()["version"])

    @property
    def metadata(self) -> dict[str, Any]:
        """The free metadata of the container, by name."""
        return _plain(self._described()["metadata"])

    @property
    def groups(self) -> dict[str, dict[str, Any]]:
        """The metadata of the groups inside a hierarchy of Zarr or TileDB, by path; tables in them are named ``path/name``."""
        return {path: _plain(stored) for path, stored in self._described().get("groups", {}).items()}

    def info(self) -> dict[str, Any]:
        """Returns everything that ``tess info --json`` prints."""
        return json.loads(self._native.info())  # type: ignore[no-any-return]

    def layout(self) -> Layout:
        """Returns every byte range of the files, in order: its file, start, end and content."""
        files = json.loads(self._native.layout())["files"]
        return Layout({"file": found["file"], **extent} for found in files for extent in found["extents"])

    def chunks(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Returns the chunks, pages or tiles, in the order of the file."""
        return json.loads(self._native.chunks(limit))  # type: ignore[no-any-return]

    def table(self, name: str | None = None) -> Table:
        """Returns the table of that name, else the one the uri names, else the only one.

        Raises:
            KeyError: no such table; the message names those that exist.
        """
        return Table(self._native.table(name))

    def _described(self) -> dict[str, Any]:
        if self._info is None:
            self._info = self.info()
        return self._info

    def __getitem__(self, name: str) -> Table:
        return self.table(name)

    @cached_property
    def _names(self) -> list[str]:
        return self._native.table_names()

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._known

    def __enter__(self) -> Container:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __reduce__(self) -> tuple[object, ...]:
        return _restore, (self._uri, {**self._options, "key": None}, self._store)

    def _repr_html_(self) -> str:
        from ._html import container

        return container(self)

    def __repr__(self) -> str:
        names = list(self)
        shown = ", ".join(repr(name) for name in names[:4]) + (", …" if len(names) > 4 else "")
        count = "1 table" if len(names) == 1 else f"{len(names)} tables"
        return f"<tesselle.Container {self.uri} ({self.format}): {count}: {shown}>"


def _plain(stored: Any) -> dict[str, Any]:
    """Returns stored metadata as names and values."""
    pairs = stored.items() if isinstance(stored, dict) else stored
    # Formats that type their metadata describe a value as an object of its type, its bytes and the value itself.
    typed = {"type", "hex", "value"}
    return {k: v["value"] if isinstance(v, dict) and typed <= v.keys() else v for k, v in pairs}


def _restore(uri: str, options: dict[str, Any], store: Adapter | None) -> Container:
    """Opens a container in another process. Keys do not travel: each process has its own ``TESSELLE_KEY``."""
    return Container(uri, {**options, "key": secret(None)}, store)


def open(
    uri: Uri | BinaryIO | Any,
    *,
    store: Any = None,
    format: str | None = None,
    at: Time | None = None,
    between: Between | None = None,
    key: bytes | str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    raw: bool = False,
    text_as_binary: bool = False,
    full_domain: bool = False,
    deleted: bool = False,
) -> Container:
    """Opens a file or folder of any format.

    Args:
        uri: a path, perhaps with ``#table``; the url of an object store (``s3://…``, ``gs://…``, ``az://…``, ``https://…``),
            read through obstore or fsspec, whichever is installed; or a seekable binary file, an ``OpenFile`` or a path of
            fsspec.
        store: what ``uri`` is a path in: a store of obstore, or a file system of fsspec. It is only read.
        format: the format; by default it is detected from the content.
        at: the state as of this time (TileDB): milliseconds since 1970, a datetime, ISO 8601, or ``"5 minutes ago"``.
        between: only what was written between these times, both included (TileDB).
        key: the key of an encrypted array: 32 bytes, or ``"hex:"`` and 64 digits; by default ``TESSELLE_KEY``.
        storage_options: settings of the object store of a url, as obstore (or fsspec) takes them. Of local files,
            ``{"mapped": "true"}`` maps them, as ``numpy.memmap`` does: for files that no program truncates while they are
            read, which would end the process.
        raw: stored integers instead of what they mean.
        text_as_binary: string columns as bytes.
        full_domain: all cells of a dense TileDB array, also those never written.
        deleted: also rows that are marked as deleted but still stored.
    """
    found = place(uri, store, storage_options)
    options = opening(
        format=format, at=at, between=between, key=key, raw=raw,
        text_as_binary=text_as_binary, full_domain=full_domain, deleted=deleted,
        storage_options=storage_options if found is None else None,
    )  # fmt: skip
    return Container(path(uri), options) if found is None else Container(found.path, options, found.store)
