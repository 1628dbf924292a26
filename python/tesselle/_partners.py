"""Libraries that some calls need."""

from __future__ import annotations

from typing import Any


def pyarrow_for(what: str) -> Any:
    """Returns pyarrow.

    Raises:
        ModuleNotFoundError: it is not installed; the message names ``what`` needs it, and the command that installs it.
    """
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{what} needs pyarrow; install it with: pip install 'tesselle[arrow]'", name="pyarrow"
        ) from None
    return pyarrow
