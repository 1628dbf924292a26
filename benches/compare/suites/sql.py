"""sql: questions over ten million rows in each format, against DataFusion over the same rows in Parquet."""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

QUESTIONS = {
    "sum": "aggregates of three columns",
    "group": "aggregates by sensor",
    "filter": "aggregates where speed > 118 (1.7 %)",
    "rows": "rows where speed > 118 (1.7 %)",
    "range": "aggregates of 1 % of the times",
    "bounds": "min and max of times and integers",
    "floats": "min and max of floats",
}


class Suite:
    """The jobs: a question, and the format that Tesselle asks."""

    ROWS = 10_000_000
    TINY = {"ROWS": 20_000}
    ENGINES = ("tesselle", "datafusion")
    FORMATS = ("tiledb", "tsfile", "tet", "tatami", "parquet")

    def __init__(self, folder, release):
        self.folder = folder
        self.release = release

    def prepare(self, jobs):
        if not (self.folder / "rows.parquet").exists():
            # In a process of its own: a child's peak memory begins with that of the process it was forked from.
            make = [sys.executable, HERE / "rows_python.py", self.folder / "rows.parquet", str(self.ROWS)]
            subprocess.run(make, check=True)
        for name in sorted({job.split("-")[1] for job in jobs} - {"parquet"}):
            subprocess.run([self.release / "ours-sql", f"make-{name}", self.folder], check=True)

    def jobs(self):
        for name in self.FORMATS:
            for question, title in QUESTIONS.items():
                yield f"{question}-{name}", f"{name}: {title}", None

    def command(self, engine, job):
        return [self.release / f"{'ours' if engine == 'tesselle' else engine}-sql", job, self.folder]
