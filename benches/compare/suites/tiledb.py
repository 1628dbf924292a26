"""TileDB: a dense grid of 128 MiB, sparse cells in a plane, cells under string keys, and an array of 1,000 fragments."""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Suite:
    """The jobs of one format: a title, how much work it is, and each engine's command."""

    # `zstd alone`: the compression or decompression of a job without anything else, which nobody can beat.
    ENGINES = ("tesselle", "tiledb", "zstd alone")
    DENSE_BYTES = 4096 * 4096 * 8
    CELLS = 5_000_000
    STRINGS = 1_000_000
    TINY = {"DENSE_BYTES": 1024 * 1024 * 8, "CELLS": 50_000, "STRINGS": 10_000}
    FILTERS = {"plain": "no filter", "zstd": "zstd-3", "shuffle": "byteshuffle, zstd-3"}

    def __init__(self, folder, release):
        self.folder = folder
        self.release = release

    def prepare(self, _jobs):
        if not (self.folder / "made").exists():
            # In a process of its own: a child's peak memory begins with that of the process it was forked from.
            subprocess.run([sys.executable, HERE / "tiledb_python.py", "make", self.folder], check=True)

    def jobs(self):
        for filters, title in self.FILTERS.items():
            yield f"write-dense-{filters}", f"dense write, {title}", self.DENSE_BYTES
            yield f"read-dense-{filters}", f"dense read, {title}", self.DENSE_BYTES
            yield f"windows-dense-{filters}", f"100 windows of 256x256, {title}", None
        for kind, title in (("unique", "no duplicates"), ("dups", "duplicates allowed")):
            yield f"write-sparse-{kind}", f"sparse write, {title}", (self.CELLS, "cells")
            yield f"read-sparse-{kind}", f"sparse read, {title}", (self.CELLS, "cells")
            yield f"boxes-sparse-{kind}", f"100 boxes of 1 % area, {title}", None
        yield "write-text", "string dimension, write", (self.STRINGS, "cells")
        yield "read-text", "string dimension, read", (self.STRINGS, "cells")
        yield "lookups-text", "string dimension, 100 lookups", None
        yield "open-fragments", "open, 1,000 fragments", None
        yield "box-fragments", "open and read a box of 1 % area, 1,000 fragments", None
        yield "consolidate-fragments", "consolidate 1,000 fragments", None

    def command(self, engine, job):
        if engine == "tesselle":
            return [self.release / "ours-tiledb", job, self.folder]
        if engine == "zstd alone":
            _, kind = job.split("-", 1)
            compressed = job in ("write-dense-zstd", "write-dense-shuffle", "read-sparse-unique", "read-sparse-dups")
            return [self.release / "ours-tiledb", f"codec-{kind}", self.folder] if compressed else None
        return [sys.executable, HERE / "tiledb_python.py", job, self.folder]
