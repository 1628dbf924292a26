"""A progress bar on standard error."""

from __future__ import annotations

import sys


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
