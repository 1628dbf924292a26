"""convert: a table of ten million rows from Parquet into each format and back, within 256 MiB for pieces under way."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Suite:
    """The jobs: a pair of formats, and how many rows go through it."""

    ROWS = 10_000_000
    TINY = {"ROWS": 20_000}
    ENGINES = ("tesselle", "pyarrow")
    FORMATS = ("parquet", "arrow", "csv", "tatami", "tsfile", "tiledb", "tet")

    def __init__(self, folder, release):
        self.folder = folder
        self.tess = pathlib.Path(os.environ.get("TESS", release / "tess"))

    def prepare(self, jobs):
        if not (self.folder / "base.parquet").exists():
            # In a process of its own: a child's peak memory begins with that of the process it was forked from.
            make = [sys.executable, HERE / "rows_python.py", self.folder / "base.parquet", str(self.ROWS)]
            subprocess.run(make, check=True)

    def jobs(self):
        for name in self.FORMATS:
            yield f"parquet-{name}", f"Parquet to {name}", (self.ROWS, "rows")
            if name != "parquet":
                yield f"{name}-parquet", f"{name} to Parquet", (self.ROWS, "rows")

    def command(self, engine, job):
        if engine == "pyarrow" and not set(job.split("-")) <= {"parquet", "arrow", "csv"}:
            return None
        return [sys.executable, HERE / "convert_python.py", engine, job, self.folder, self.tess]
