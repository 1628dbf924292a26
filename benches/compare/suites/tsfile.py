"""TsFile: 100 devices with 10 mixed sensors of 10,000 points each, and single series of 10 M points.

Version 4, the table model, pages of 10,000 points, times as TS_2DIFF. Every engine reads the file that the PyPI package
wrote, so that the layout is the original's.
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SETS = {
    "mix": ("100 devices x 10 sensors x 10,000, SNAPPY", 10_000_000),
    "gorilla": ("10 M points, DOUBLE GORILLA", 10_000_000),
    "ts2diff": ("10 M points, INT64 TS_2DIFF", 10_000_000),
}


class Suite:
    """The jobs of one format: a title, how much work it is, and each engine's command."""

    # The drivers find out themselves; rates are of no interest then.
    TINY = {}
    ENGINES = ("tesselle", "pypi", "java")

    def __init__(self, folder, release):
        self.folder = folder
        self.release = release
        java = HERE.parent / ".java" / "tsfile"
        self.java = java if (java / "classes").exists() else None

    def prepare(self, jobs):
        if not (self.folder / "words.txt").exists():
            subprocess.run([sys.executable, HERE / "tsfile_python.py", "make", self.folder], check=True)
        for name in SETS:
            if any(job.endswith(name) for job in jobs) and not (self.folder / f"pypi-{name}.tsfile").exists():
                subprocess.run(self.command("pypi", f"write-{name}"), check=True, stdout=subprocess.DEVNULL)

    def jobs(self):
        for name, (title, points) in SETS.items():
            work = (points, "points")
            yield f"write-{name}", f"write {title}", work
            yield f"read-{name}", f"read {title}", work
            yield f"query-{name}", f"1 % of the time, {title}", None
            yield f"stats-{name}", f"count, min, max from statistics, {title}", None
        # Bytes of decoded output; no rival has its decoders in reach.
        yield "kernel-gorilla", "decode DOUBLE GORILLA, one thread", 80_000_000
        yield "kernel-ts2diff", "decode INT64 TS_2DIFF, one thread", 80_000_000

    def command(self, engine, job):
        if engine == "tesselle":
            return [self.release / "ours-tsfile", job, self.folder]
        if job.startswith("kernel"):
            return None
        if engine == "pypi":
            return [sys.executable, HERE / "tsfile_python.py", job, self.folder]
        if self.java is None:
            return None
        path = f"{self.java / 'classes'}:{self.java / 'jars'}/*"
        return ["java", "-Xmx4g", "-cp", path, "TsFileBench", job, self.folder]

    def notes(self):
        """What each engine's files take."""
        yield "Bytes per point, written with the same encodings, page sizes and compressor:"
        yield ""
        yield "| data | " + " | ".join(self.ENGINES) + " |"
        yield "|---|" + "---|" * len(self.ENGINES)
        for name, (title, points) in SETS.items():
            files = [self.folder / f"{engine}-{name}.tsfile" for engine in self.ENGINES]
            sizes = [f"{file.stat().st_size / points:.2f}" if file.exists() else "–" for file in files]
            yield f"| {title} | " + " | ".join(sizes) + " |"
