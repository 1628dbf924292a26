"""The Python package next to the packages that its users have: arrays, sparse cells, series, columns."""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Suite:
    """The jobs of all formats: a title, how much work it is, and each engine's command."""

    MIB = 1 << 20
    # The driver finds out itself; rates are of no interest then.
    TINY = {}
    ENGINES = ("tesselle", "tesselle-mapped", "tiledb", "tsfile", "zarr", "zarrs", "h5py", "numpy", "pyarrow", "polars")
    # Which engines do a job, and the files that each of them reads.
    TABLE = {
        "import": ("import of the package", None, ("tiledb", "tsfile", "zarr", "h5py", "numpy", "pyarrow", "polars")),
        "dense-tet": ("read 256 MiB, dense, zstd (tet)", 256 * MIB, ("zarr", "zarrs", "h5py")),
        "dense-tiledb": ("read 256 MiB, dense, zstd (TileDB)", 256 * MIB, ("tiledb",)),
        "dense-zarr": ("read 256 MiB, dense, zstd (Zarr)", 256 * MIB, ("zarr", "zarrs")),
        "raw-npy": ("read 256 MiB (npy)", 256 * MIB, ("tesselle-mapped", "numpy")),
        "windows-tet": ("100 windows of 256x256 (tet)", None, ("tesselle-mapped", "zarr", "zarrs", "h5py")),
        "windows-tiledb": ("100 windows of 256x256 (TileDB)", None, ("tesselle-mapped", "tiledb")),
        "windows-npy": ("100 windows of 256x256 (npy)", None, ("tesselle-mapped", "numpy")),
        "open-tet": ("open and one cell (tet)", None, ("zarr", "h5py")),
        "open-tiledb": ("open and one cell (TileDB)", None, ("tiledb",)),
        "sparse-tiledb": ("read 2 M sparse cells", (2_000_000, "cells"), ("tiledb",)),
        "series-tsfile": ("read one series of 1 M points", (1_000_000, "points"), ("tsfile",)),
        "columns-parquet": ("two of six columns, 2 M rows (Parquet)", (2_000_000, "rows"), ("pyarrow", "polars")),
        "filter-parquet": ("1 of 1,000 rows by a condition (Parquet)", None, ("pyarrow", "polars")),
    }

    def __init__(self, folder, release):
        self.folder = folder

    def prepare(self, jobs):
        # In a process of its own: a child's peak memory begins with that of the process it was forked from.
        subprocess.run([sys.executable, HERE / "python_python.py", "make", "data", self.folder], check=True)

    def jobs(self):
        for job, (title, work, _) in self.TABLE.items():
            yield job, title, work

    def command(self, engine, job):
        if engine != "tesselle" and engine not in self.TABLE[job][2]:
            return None
        return [sys.executable, HERE / "python_python.py", engine, job, self.folder]
