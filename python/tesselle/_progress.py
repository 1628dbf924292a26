"""Progress of long calls."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

Report: TypeAlias = Callable[[int, int], object]
"""Takes the bytes done and the bytes in all."""


class Bar:
    """One line that moves while the work goes on and disappears when it ends; nothing where nobody looks."""

    WIDTH = 40

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty() or "ipykernel" in sys.modules

    def report(self, done: int, total: int) -> None:
        """Draws how far the work is, in bytes."""
        if not self._shown or total <= 0:
            return
        share = min(1.0, done / total)
        full = int(share * self.WIDTH)
        bar = "█" * full + "░" * (self.WIDTH - full)
        print(f"\r{bar} {share:4.0%} of {total / 2**20:,.1f} MiB", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Removes the line."""
        if self._shown:
            print("\r" + " " * (self.WIDTH + 30) + "\r", end="", file=sys.stderr, flush=True)


@contextmanager
def reporter(progress: Any) -> Iterator[Report | None]:
    """Yields what reports progress: a function, a bar of its own, or that of another library."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        bar = Bar()
        try:
            yield bar.report
        finally:
            bar.close()
    elif hasattr(progress, "update") and hasattr(progress, "total"):
        yield lambda done, total: _update(progress, done, total)
    else:
        yield progress


def _update(bar: Any, done: int, total: int) -> None:
    """Moves a bar of tqdm, which counts in steps."""
    bar.total = total
    bar.update(done - bar.n)
