"""Progress of long calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from ._errors import InvalidCall

Report: TypeAlias = Callable[[int, int], object]
"""Takes the bytes done and the bytes in all."""

Progress: TypeAlias = "bool | Report | Any"
"""``True`` for a bar, ``False`` for none, by default one in notebooks; a function of (bytes done, bytes in all); a bar or
the class of bars of tqdm; a ``rich.progress.Progress``."""


class LineBar:
    """One line that is updated during the work and disappears when it ends; nothing if stderr is not a terminal."""

    WIDTH = 40

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()

    def report(self, done: int, total: int) -> None:
        """Draws how far the work is, in bytes."""
        if not self._shown or total <= 0:
            return
        full = int(_share(done, total) * self.WIDTH)
        bar = "█" * full + "░" * (self.WIDTH - full)
        print(f"\r{bar} {_words(done, total)}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Removes the line."""
        if self._shown:
            print("\r" + " " * (self.WIDTH + 30) + "\r", end="", file=sys.stderr, flush=True)


class NotebookBar:
    """A bar below the cell of a notebook; it is removed when the work ends."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._handle: Any = None

    def report(self, done: int, total: int) -> None:
        """Draws how far the work is, in bytes."""
        if total <= 0:
            return
        shown = _Html(
            f'<progress style="width:20em;vertical-align:middle" max="{total}" value="{min(done, total)}"></progress> '
            f'<span style="font-variant-numeric:tabular-nums">{_words(done, total)}</span>'
        )
        if self._handle is None:
            self._handle = self._display(shown, display_id=True)
        else:
            self._handle.update(shown)

    def close(self) -> None:
        """Removes the bar."""
        if self._handle is not None:
            self._handle.update(_Html(""))


class _Html:
    """What a notebook shows as it is."""

    def __init__(self, html: str) -> None:
        self._html = html

    def _repr_html_(self) -> str:
        return self._html


def _share(done: int, total: int) -> float:
    return min(1.0, done / total)


def _words(done: int, total: int) -> str:
    return f"{_share(done, total):4.0%} of {total / 2**20:,.1f} MiB"


def _notebook() -> Callable[..., Any] | None:
    """Returns what displays things in a notebook; ``None`` elsewhere."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    if running is None or not hasattr(running, "kernel"):
        return None
    import importlib

    display: Callable[..., Any] = importlib.import_module("IPython.display").display
    return display


@contextmanager
def reporter(progress: Any) -> Iterator[Report | None]:
    """Yields what reports progress: a function, a bar of its own, or that of another library."""
    display = _notebook() if progress is None or progress is True else None
    if progress is False or (progress is None and display is None):
        yield None
    elif progress is None or progress is True:
        own: LineBar | NotebookBar = LineBar() if display is None else NotebookBar(display)
        try:
            yield own.report
        finally:
            own.close()
    elif isinstance(progress, type) and hasattr(progress, "update"):
        with progress(unit="B", unit_scale=True, unit_divisor=1024) as bar:
            yield _stepwise(bar)
    elif hasattr(progress, "add_task"):
        task = progress.add_task("tesselle", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
    elif hasattr(progress, "update") and hasattr(progress, "total"):
        yield _stepwise(progress)
    elif callable(progress):
        yield progress
    else:
        raise InvalidCall(
            f"progress= is True, False, a function of (bytes done, bytes in all), or a bar of tqdm or rich, not {type(progress).__name__}"
        )


def _stepwise(bar: Any) -> Report:
    """Returns what moves a bar of tqdm, which counts in steps."""

    def report(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    return report
