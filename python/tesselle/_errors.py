"""The exceptions of the package."""

from __future__ import annotations

from errno import ENOENT
from typing import Any


class Error(Exception):
    """Something the engine refused or could not do.

    Attributes:
        kind: a stable name for programs, e.g. ``"page_checksum"``.
        message: what failed, and why.
        file: the file it is about, if there is one.
        offset: the byte in that file, if known.
        piece: the tile, page or chunk, if known.
        hint: what to do next, if there is something to do.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = "invalid_call",
        file: str | None = None,
        offset: int | None = None,
        piece: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.file = file
        self.offset = offset
        self.piece = piece
        self.hint = hint

    def __str__(self) -> str:
        place = [self.file, self.piece, None if self.offset is None else f"byte {self.offset}"]
        text = self.message
        shown = ", ".join(part for part in place if part)
        if shown:
            text += f" ({shown})"
        if self.hint:
            text += f"; {self.hint}"
        return text

    def __reduce__(self) -> tuple[object, ...]:
        fields = (self.message, self.kind, self.file, self.offset, self.piece, self.hint)
        return _rebuild, (type(self), *fields)


class NotFound(Error, FileNotFoundError):
    """A file that does not exist."""

    errno: int | None
    strerror: str | None
    filename: str | None

    def __init__(self, message: str, *, file: str | None = None, **fields: Any) -> None:
        super().__init__(message, file=file, **fields)
        # What programs look at that handle such errors of any origin.
        self.errno, self.strerror, self.filename = ENOENT, message, file


class InvalidCall(Error, ValueError):
    """An argument that is wrong or does not fit the data."""


class UnknownName(InvalidCall, KeyError):
    """A table, column or setting that does not exist; the hint lists those that do."""


class DataError(Error, ValueError):
    """Data that is damaged, encrypted with another key, or of a kind this version does not know."""


class StorageError(Error, OSError):
    """The storage failed."""


_CLASSES: dict[str, type[Error]] = {
    "missing": NotFound,
    "io": StorageError,
    "name": UnknownName,
    "call": InvalidCall,
    "data": DataError,
    "internal": Error,
}


def make(
    group: str,
    kind: str,
    message: str,
    file: str | None,
    offset: int | None,
    piece: str | None,
    hint: str | None,
) -> BaseException:
    """Returns the exception for an error of the engine; called by the native module."""
    if group == "canceled":
        return KeyboardInterrupt(message)
    return _rebuild(_CLASSES.get(group, Error), message, kind, file, offset, piece, hint)


def _rebuild(
    cls: type[Error],
    message: str,
    kind: str,
    file: str | None,
    offset: int | None,
    piece: str | None,
    hint: str | None,
) -> Error:
    return cls(message, kind=kind, file=file, offset=offset, piece=piece, hint=hint)
