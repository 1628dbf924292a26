"""tatami: 200,000 generated crawl documents as a document store and as a search index."""
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DOCUMENTS = 200_000
BYTES = 461_435_501     # of all values


class Suite:
    """The jobs of one format: a title, how much work it is, and each engine's command.

    The original engine is measured through a program that is not part of this project, named by the environment variable
    TESSELLE_TATAMI_BENCH; README.md describes its arguments. Without it the column stays empty.
    """

    # The generator finds out itself; rates are of no interest then.
    TINY = {}
    # Tesselle at level 3 writes only: the rivals' level, for a comparison of writes at one level.
    ENGINES = ("tesselle", "tesselle zstd 3", "tesselle extended", "original", "parquet-rs zstd 3", "parquet-rs zstd 8",
               "pyarrow zstd 3", "pyarrow zstd 8", "tantivy")
    STORE = ("write", "scan1", "scan2", "scanall", "host", "status", "lookup", "blob")
    SEARCH = ("index", "query1", "query2", "query3")

    def __init__(self, folder, release):
        self.folder = folder
        self.release = release
        self.original = shutil.which(os.environ.get("TESSELLE_TATAMI_BENCH", "")) or None

    def prepare(self, _jobs):
        made = subprocess.run([self.release / "make-tatami", "make", self.folder], check=True, capture_output=True)
        assert "COMPARE_TINY" in os.environ or int(made.stdout) == BYTES, "the generator makes other documents than before"
        if not self.original:
            print("the original engine is not here: set TESSELLE_TATAMI_BENCH (see README.md)", file=sys.stderr)

    def jobs(self):
        rows, lookups, queries = (DOCUMENTS, "rows"), (1000, "lookups"), (500, "queries")
        yield "write", f"write {BYTES / 1e6:.0f} MB", (BYTES / 1e6, "MB")
        yield "scan1", "scan url", rows
        yield "scan2", "scan url, status", rows
        yield "scanall", "scan all columns", rows
        yield "host", "scan where host = …", rows
        yield "status", "scan where status = 404", rows
        yield "lookup", "look up a url", lookups
        yield "small-write", "write, pages of 1,024 rows", (BYTES / 1e6, "MB")
        yield "small-lookup", "look up a url, pages of 1,024 rows", lookups
        yield "blob", "fetch one body", (1000, "fetches")
        yield "index", "index 200,000 documents", (DOCUMENTS, "docs")
        yield "query1", "top 10, 1 term", queries
        yield "query2", "top 10, 2 terms", queries
        yield "query3", "top 10, 3 terms", queries

    def command(self, engine, job):
        small = job.startswith("small-")
        verb = job.removeprefix("small-")
        search = verb in self.SEARCH
        name = "segment" if search else "small" if small else "plain"
        if engine == "tesselle":
            return [self.release / "ours-tatami", f"{verb}-{name}", self.folder]
        if engine == "tesselle zstd 3":
            return [self.release / "ours-tatami", "write-level3", self.folder] if job == "write" else None
        if engine == "tesselle extended":
            return None if small or search else [self.release / "ours-tatami", f"{verb}-extended", self.folder]
        if engine == "original":
            return [self.original, f"{verb}-{name}", self.folder] if self.original and verb != "blob" else None
        if engine == "tantivy":
            return [self.release / "tantivy-tatami", f"{verb}-tantivy", self.folder] if search else None
        if small or search:
            return None
        level = engine.split()[-1]
        if engine.startswith("parquet-rs"):
            return [self.release / "parquet-tatami", f"{verb}-{level}", self.folder]
        return [sys.executable, HERE / "tatami_python.py", verb, level, self.folder]
