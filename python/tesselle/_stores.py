"""Storages other than local files: file objects, file systems of fsspec, stores of obstore.

The native module reads through four methods: ``is_folder`` (``None`` where nothing is), ``size``, ``read`` of several
ranges, and ``list`` of a folder as names and whether they are folders.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from ._errors import InvalidCall

Ranges: TypeAlias = Sequence[tuple[int, int]]
Listing: TypeAlias = list[tuple[str, bool]]


class Adapter(Protocol):
    """What the native module reads through."""

    def is_folder(self, path: str) -> bool | None: ...
    def size(self, path: str) -> int: ...
    def read(self, path: str, ranges: Ranges) -> Sequence[Any]: ...
    def list(self, path: str) -> Listing: ...


class Place(NamedTuple):
    """Something to open that is not a local file."""

    store: Adapter
    path: str


_OBJECT_STORES = {"s3", "s3a", "gs", "az", "adl", "azure", "abfs", "abfss", "http", "https"}
"""The schemes that obstore reads."""


def place(uri: Any, store: Any, storage_options: Mapping[str, Any] | None = None) -> Place | None:
    """Returns where ``uri`` is; ``None`` for the name of a local file."""
    if store is not None:
        if storage_options:
            raise InvalidCall("storage_options= are for the url of an object store; a store has its own")
        return Place(_adapter(store), _text(uri))
    scheme = _scheme(uri)
    if scheme != "file":
        return _remote(scheme, uri, dict(storage_options or {}))
    is_file = hasattr(uri, "seek") and hasattr(uri, "read")
    is_named = not hasattr(uri, "__fspath__") and hasattr(uri, "fs") and hasattr(uri, "path")
    if storage_options and (is_file or is_named):
        raise InvalidCall("storage_options= are for names; an open file has its own")
    if is_file:
        if isinstance(uri, io.TextIOBase):
            raise TypeError("a file is read as bytes; open it with mode 'rb'")
        file = _File(uri)
        return Place(file, file.name)
    # Files of fsspec that are not open yet, and its paths, say where they are.
    if is_named:
        if getattr(uri, "compression", None) is not None:
            raise TypeError("a compressed file cannot be read at any position; decompress it first")
        return Place(_adapter(uri.fs), str(uri.path))
    return None


def _scheme(uri: Any) -> str:
    """Returns the scheme of a url; that of local files for everything else."""
    scheme, sign, _ = uri.partition("://") if isinstance(uri, str) else ("", "", "")
    return scheme.lower() if sign else "file"


def _remote(scheme: str, url: str, options: dict[str, Any]) -> Place:
    """Returns the place of a url: by obstore where it is installed and knows the scheme, else by fsspec."""
    root, _, path = url.partition("://")[2].partition("/")
    if scheme in _OBJECT_STORES:
        try:
            import obstore.store
        except ImportError:
            pass
        else:
            del obstore
            return Place(_url_store(f"{scheme}://{root}", options), path)
    try:
        import fsspec
    except ImportError:
        raise InvalidCall(
            f"'{url}' is on an object store, which another package reads", hint="install obstore or fsspec"
        ) from None
    file, hash_, table = url.partition("#")
    try:
        filesystem, path = fsspec.core.url_to_fs(file, **options)
    except ValueError as error:
        raise InvalidCall(f"'{url}' cannot be accessed: {error}") from error
    return Place(_Fsspec(filesystem), f"{path}{hash_}{table}")


_CLIENT_OPTIONS = {
    "allow_http", "allow_invalid_certificates", "connect_timeout", "default_content_type", "http1_only",
    "http2_keep_alive_interval", "http2_keep_alive_timeout", "http2_keep_alive_while_idle", "http2_max_frame_size",
    "http2_only", "pool_idle_timeout", "pool_max_idle_per_host", "proxy_ca_certificate", "proxy_excludes", "proxy_url",
    "randomize_addresses", "read_timeout", "timeout", "user_agent",
}  # fmt: skip
"""Settings that obstore takes apart from those of the store."""


def _url_store(url: str, options: dict[str, Any]) -> _Obstore:
    """Returns the store of a url, by obstore."""
    import obstore.store

    config: dict[str, Any] = {}
    client: dict[str, Any] = {"allow_http": True} if url.startswith("http:") else {}
    for name, value in options.items():
        # Their names in the environment have a prefix, such as AWS_ALLOW_HTTP.
        plain = re.sub("^(aws|azure|google)_", "", name.lower())
        if plain in _CLIENT_OPTIONS:
            client[plain] = value
        else:
            config[name] = value
    stores: Any = obstore.store
    try:
        store = stores.from_url(url, config=config, **({"client_options": client} if client else {}))
    except Exception as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise InvalidCall(f"'{url}' cannot be accessed: {reason}") from error
    return _Obstore(store, (url, options))


def _travels(store: Any, name: str) -> Any:
    """Returns a store that another process can have; others are refused.

    Raises:
        InvalidCall: it is in the memory of this process, or cannot be pickled.
    """
    import pickle

    in_memory = "memory" in str(getattr(store, "protocol", "")) or type(store).__name__ == "MemoryStore"
    try:
        pickle.dumps(store)
    except Exception:
        in_memory = True
    if in_memory:
        raise InvalidCall(f"{name} is open in this process only", hint="open it by its url or path in the other process")
    return store


def _text(uri: Any) -> str:
    if not isinstance(uri, str) and not hasattr(uri, "__fspath__"):
        raise TypeError(f"a path in a store is a string, not {type(uri).__name__}")
    return str(uri)


def _adapter(store: Any) -> Adapter:
    if hasattr(store, "get_ranges") and hasattr(store, "list_with_delimiter"):
        return _Obstore(store)
    if hasattr(store, "cat_ranges") and hasattr(store, "info"):
        return _Fsspec(store)
    raise TypeError(f"a store is one of obstore or a file system of fsspec, not {type(store).__name__}")


class _File:
    """One seekable binary file."""

    def __init__(self, file: Any) -> None:
        import threading

        self._file = file
        # Seeking and reading are two calls: others must not come in between.
        self._lock = threading.Lock()
        self.name = str(getattr(file, "name", None) or getattr(file, "path", None) or "file object")

    def __reduce__(self) -> tuple[object, ...]:
        raise InvalidCall(f"'{self.name}' is open in this process only", hint="open it by its name")

    def is_folder(self, path: str) -> bool | None:
        return False if path == self.name else None

    def size(self, path: str) -> int:
        if path != self.name:
            raise FileNotFoundError(path)
        with self._lock:
            end = self._file.seek(0, 2)
            return int(self._file.tell() if end is None else end)

    def read(self, path: str, ranges: Ranges) -> Sequence[Any]:
        if path != self.name:
            raise FileNotFoundError(path)
        with self._lock:
            return [self._range(start, stop) for start, stop in ranges]

    def _range(self, start: int, stop: int) -> Any:
        self._file.seek(start)
        part = self._file.read(stop - start)
        if len(part) in (0, stop - start):
            return part
        # Pipes and sockets give what they have.
        parts = [part]
        left = stop - start - len(part)
        while left > 0 and (part := self._file.read(left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def list(self, path: str) -> Listing:
        raise NotADirectoryError(path)


class _Fsspec:
    """A file system of fsspec."""

    def __init__(self, filesystem: Any) -> None:
        self._filesystem = filesystem

    def __reduce__(self) -> tuple[object, ...]:
        return _Fsspec, (_travels(self._filesystem, f"the file system {type(self._filesystem).__name__}"),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Fsspec) and self._filesystem == other._filesystem

    def __hash__(self) -> int:
        return hash(self._filesystem)

    def is_folder(self, path: str) -> bool | None:
        try:
            return bool(self._filesystem.info(path)["type"] == "directory")
        except FileNotFoundError:
            return None

    def size(self, path: str) -> int:
        return int(self._filesystem.info(path)["size"])

    def read(self, path: str, ranges: Ranges) -> Sequence[Any]:
        starts, stops = [start for start, _ in ranges], [stop for _, stop in ranges]
        found: Sequence[Any] = self._filesystem.cat_ranges([path] * len(ranges), starts, stops, on_error="raise")
        return found

    def list(self, path: str) -> Listing:
        entries = self._filesystem.ls(path, detail=True)
        named = [(entry["name"].rstrip("/").rpartition("/")[2], entry) for entry in entries]
        # Some object stores list the folder itself.
        own = path.strip("/")
        return [
            (name, entry["type"] == "directory")
            for name, entry in named
            if entry["name"].strip("/") != own
        ]


class _Obstore:
    """A store of obstore. It has no folders: one exists where a name starts with it."""

    def __init__(self, store: Any, url: tuple[str, dict[str, Any]] | None = None) -> None:
        self._store, self._url = store, url

    def __reduce__(self) -> tuple[object, ...]:
        if self._url is not None:
            return _url_store, self._url
        return _Obstore, (_travels(self._store, f"the store {type(self._store).__name__}"),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Obstore):
            return NotImplemented
        return self._url == other._url if self._url else bool(self._store == other._store)

    def __hash__(self) -> int:
        return hash(self._url[0] if self._url else type(self._store))

    def is_folder(self, path: str) -> bool | None:
        path = path.strip("/")
        if path:
            try:
                self._store.head(path)
                return False
            except FileNotFoundError:
                pass
        if type(self._store).__name__ == "HTTPStore":
            # Servers have no folders to list.
            return None
        found = self._store.list_with_delimiter(path or None)
        return True if found["common_prefixes"] or found["objects"] else None

    def size(self, path: str) -> int:
        return int(self._store.head(path.strip("/"))["size"])

    def read(self, path: str, ranges: Ranges) -> Sequence[Any]:
        wanted = [(start, stop) for start, stop in ranges if start < stop]
        starts, stops = [start for start, _ in wanted], [stop for _, stop in wanted]
        found = iter(self._store.get_ranges(path.strip("/"), starts=starts, ends=stops) if wanted else [])
        return [next(found) if start < stop else b"" for start, stop in ranges]

    def list(self, path: str) -> Listing:
        found = self._store.list_with_delimiter(path.strip("/") or None)
        folders = [(str(name).rstrip("/").rpartition("/")[2], True) for name in found["common_prefixes"]]
        files = [(entry["path"].rpartition("/")[2], False) for entry in found["objects"]]
        return folders + files
