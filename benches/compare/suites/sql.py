"""sql: questions over ten million rows in each format, against DataFusion over the same rows in Parquet."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

QUESTIONS = {
    "sum": "aggregates of three columns",
    "group": "aggregates by sensor",
    "filter": "aggregates where speed > 118 (1.7 %)",
    "top": "ten rows of the greatest speed",
    "range": "aggregates of 1 % of the times",
    "bounds": "min and max of times and integers",
    "floats": "min and max of floats",
}
# How the table becomes a file of each format. A tensor file has no times: the column is a vector of integers.
SETTINGS = {
    "tiledb": ["--set", "dims=time", "--set", "filters=zstd"],
    "tsfile": ["--into", "root.bench"],
    "tet": ["--cast", "time=int64", "--set", "codec=zstd", "--set", "chunk=65536"],
    "tatami": ["--set", "sort_key=time"],
}


class Suite:
    """The jobs: a question, and the format that Tesselle asks."""

    ROWS = 10_000_000
    TINY = {"ROWS": 20_000}
    ENGINES = ("tesselle", "datafusion")
    FORMATS = (*SETTINGS, "parquet")

    def __init__(self, folder, release):
        self.folder = folder
        self.tess = pathlib.Path(os.environ.get("TESS", release / "tess"))

    def prepare(self, jobs):
        table = self.folder / "rows.parquet"
        if not table.exists():
            # In a process of its own: a child's peak memory begins with that of the process it was forked from.
            subprocess.run([sys.executable, HERE / "rows_python.py", table, str(self.ROWS)], check=True)
        for name in sorted({job.split("-")[1] for job in jobs} - {"parquet"}):
            target = self.folder / f"rows.{name}"
            if not target.exists():
                convert = [self.tess, "convert", table, target, *SETTINGS[name]]
                subprocess.run(convert, check=True, stderr=subprocess.DEVNULL)

    def jobs(self):
        for name in self.FORMATS:
            for question, title in QUESTIONS.items():
                yield f"{question}-{name}", f"{name}: {title}", None

    def command(self, engine, job):
        return [sys.executable, HERE / "sql_python.py", engine, job, self.folder, self.tess]
