"""tet: a tensor of a GiB in 512x512 chunks, and one of a million chunks."""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Suite:
    """The jobs of one format: a title, how much work it is, and each engine's command."""

    GIB = 1 << 30
    TINY = {"GIB": 1024 * 1024 * 4}
    ENGINES = ("tesselle", "tetration", "numpy", "h5py", "zarr", "zarrs")

    def __init__(self, folder, release):
        self.folder = folder
        self.release = release

    def prepare(self, jobs):
        base = self.folder / "base.npy"
        if not base.exists() and any(not job.endswith("-many") for job in jobs):
            # In a process of its own: a child's peak memory begins with that of the process it was forked from.
            subprocess.run([sys.executable, HERE / "tet_python.py", "numpy", "make-raw", self.folder], check=True)
        subprocess.run([self.release / "ours-tet", "make-many", self.folder], check=True, stdout=subprocess.DEVNULL)

    def jobs(self):
        for codec in ("raw", "zstd"):
            yield f"write-{codec}", f"write 1 GiB, {codec}", self.GIB
            yield f"read-{codec}", f"read 1 GiB, {codec}", self.GIB
            yield f"windows-{codec}", f"100 windows of 512x512, {codec}", None
            yield f"mean-{codec}", f"mean of all, {codec}", self.GIB
            yield f"mean0-{codec}", f"mean over axis 0, {codec}", self.GIB
            yield f"verify-{codec}", f"verify --deep, {codec}", self.GIB
        yield "info-many", "info, 1 M chunks", None
        yield "one-many", "one element, 1 M chunks", None
        yield "sum-many", "sum of all, 1 M chunks", None

    def command(self, engine, job):
        verb, codec = job.split("-")
        if engine == "tesselle":
            return [self.release / "ours-tet", job, self.folder]
        if engine == "tetration":
            return [self.release / "original-tet", job, self.folder]
        if verb == "verify" or codec == "many" or (engine == "numpy" and codec != "raw"):
            return None
        return [sys.executable, HERE / "tet_python.py", engine, job, self.folder]
