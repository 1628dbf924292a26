"""The jobs of the Python suite, run by one engine.

    python_python.py ENGINE JOB FOLDER        prints {"seconds": […], "answer": …}
    python_python.py make data FOLDER         makes what is read
"""
import json
import pathlib
import subprocess
import sys

from engine_report import report, sized

# Suites next to this file have the names of the packages that they measure.
sys.path.pop(0)

SIDE, CHUNK, WINDOW = sized(8192, 1024), 512, 256
CELLS, POINTS, ROWS = sized(2_000_000, 20_000), sized(1_000_000, 20_000), sized(2_000_000, 20_000)
# One of a thousand rows, in the middle.
FOUND = ROWS // 2, ROWS // 2 + ROWS // 1000 - 1
DEVICE = "root.plant.d1"


def windows():
    state = 12345
    for _ in range(100):
        pair = []
        for _ in range(2):
            state = (state * 1103515245 + 12345) % (1 << 31)
            pair.append(state % (SIDE - WINDOW))
        yield pair


def make(folder):
    """Makes every file once, with the engine it belongs to."""
    import numpy as np

    if (folder / "done").exists():
        return
    random = np.random.default_rng(1)
    cells = np.cumsum(random.integers(-3, 4, (SIDE, SIDE), dtype="i4"), axis=1, dtype="i4").astype("f4")
    np.save(folder / "cells.npy", cells)
    make_arrays(folder, cells)
    make_tables(folder, random)
    (folder / "done").touch()


def make_arrays(folder, cells):
    import h5py
    import hdf5plugin
    import tesselle as ts
    import tiledb
    import zarr

    ts.write(cells, folder / "cells.tet", chunk=(CHUNK, CHUNK), codec="zstd", overwrite=True)
    with h5py.File(folder / "cells.h5", "w") as file:
        file.create_dataset("data", data=cells, chunks=(CHUNK, CHUNK), **hdf5plugin.Zstd(clevel=3))
    array = zarr.create_array(folder / "cells.zarr", shape=cells.shape, chunks=(CHUNK, CHUNK), dtype="f4", overwrite=True)
    array[...] = cells
    dims = [tiledb.Dim(name=n, domain=(0, SIDE - 1), tile=CHUNK, dtype="int32") for n in "yx"]
    zstd = tiledb.FilterList([tiledb.ZstdFilter(3)])
    schema = tiledb.ArraySchema(tiledb.Domain(*dims), [tiledb.Attr("a", dtype="f4", filters=zstd)])
    tiledb.Array.create(str(folder / "cells.tiledb"), schema, overwrite=True)
    with tiledb.open(str(folder / "cells.tiledb"), "w") as dense:
        dense[:] = cells


def make_tables(folder, random):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet
    import tesselle as ts
    import tiledb

    at = np.unique(random.integers(0, 1 << 40, CELLS + 1000))[:CELLS]
    dim = tiledb.Dim(name="x", domain=(0, (1 << 40) - 1), tile=1 << 30, dtype="int64")
    schema = tiledb.ArraySchema(tiledb.Domain(dim), [tiledb.Attr("a", dtype="f8")], sparse=True, capacity=10_000)
    tiledb.Array.create(str(folder / "sparse.tiledb"), schema, overwrite=True)
    with tiledb.open(str(folder / "sparse.tiledb"), "w") as sparse:
        sparse[at] = random.normal(size=CELLS)
    times = pa.array(np.arange(POINTS) * 10, pa.timestamp("ms"))
    series = pa.table({"time": times, "speed": random.normal(size=POINTS), "state": random.integers(0, 9, POINTS)})
    ts.write(series, folder / "plant.tsfile", device=DEVICE, overwrite=True)
    columns = {f"c{i}": random.normal(size=ROWS) for i in range(4)}
    columns["id"] = np.arange(ROWS)
    columns["name"] = [f"name {i % 1000}" for i in range(ROWS)]
    pa.parquet.write_table(pa.table(columns), folder / "rows.parquet", compression="zstd", write_page_index=True)


class Tesselle:
    def __init__(self, folder):
        import tesselle as ts

        self.ts, self.folder = ts, folder

    def array(self, kind):
        return self.ts.open(self.folder / f"cells.{kind}").table().array()

    def dense(self, kind):
        return self.array(kind)[...]

    def window(self, array, y, x):
        return array[y : y + WINDOW, x : x + WINDOW]

    def sparse(self):
        return self.ts.open(self.folder / "sparse.tiledb").table().to_arrow()["a"].to_numpy()

    def series(self):
        return self.ts.scan(self.folder / f"plant.tsfile#{DEVICE}", columns=["time", "speed"]).to_arrow()["speed"].to_numpy()

    def columns(self):
        found = self.ts.scan(self.folder / "rows.parquet", columns=["c1", "id"]).to_arrow()
        return found["c1"].to_numpy()

    def filter(self):
        found = self.ts.scan(self.folder / "rows.parquet", columns=["c1"], where=f"id BETWEEN {FOUND[0]} AND {FOUND[1]}")
        return found.to_arrow()["c1"].to_numpy()


class Mapped(Tesselle):
    """Files that nobody truncates meanwhile, mapped as numpy maps them."""

    def array(self, kind):
        mapped = {"mapped": True}
        return self.ts.open(self.folder / f"cells.{kind}", storage_options=mapped).table().array()


class TileDb(Tesselle):
    def __init__(self, folder):
        import tiledb

        self.tiledb, self.folder = tiledb, folder

    def array(self, kind):
        return self.tiledb.open(str(self.folder / "cells.tiledb"), attr="a")

    def dense(self, kind):
        with self.array(kind) as found:
            return found[:]

    def sparse(self):
        with self.tiledb.open(str(self.folder / "sparse.tiledb")) as found:
            return found[:]["a"]


class TsFile(Tesselle):
    def __init__(self, folder):
        import tsfile

        self.tsfile, self.folder = tsfile, folder

    def series(self):
        import numpy as np

        frame = self.tsfile.to_dataframe(str(self.folder / "plant.tsfile"), DEVICE, ["speed"])
        return np.asarray(frame["speed"])


class Zarr(Tesselle):
    def __init__(self, folder):
        import zarr

        self.zarr, self.folder = zarr, folder

    def array(self, kind):
        return self.zarr.open_array(self.folder / "cells.zarr", mode="r")


class Zarrs(Zarr):
    def __init__(self, folder):
        super().__init__(folder)
        import zarrs  # noqa: F401

        self.zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})


class H5py(Tesselle):
    def __init__(self, folder):
        import h5py
        import hdf5plugin  # noqa: F401

        self.h5py, self.folder = h5py, folder

    def array(self, kind):
        return self.h5py.File(self.folder / "cells.h5", "r")["data"]


class Numpy(Tesselle):
    def __init__(self, folder):
        import numpy

        self.numpy, self.folder = numpy, folder

    def array(self, kind):
        return self.numpy.load(self.folder / "cells.npy", mmap_mode="r")

    def dense(self, kind):
        return self.numpy.array(self.array(kind))

    def window(self, array, y, x):
        # Like the others, in a buffer of its own, not in the mapped file.
        return self.numpy.array(super().window(array, y, x))


class PyArrow(Tesselle):
    def __init__(self, folder):
        import pyarrow.parquet

        self.parquet, self.path = pyarrow.parquet, folder / "rows.parquet"

    def columns(self):
        return self.parquet.read_table(self.path, columns=["c1", "id"])["c1"].to_numpy()

    def filter(self):
        wanted = [("id", ">=", FOUND[0]), ("id", "<=", FOUND[1])]
        return self.parquet.read_table(self.path, columns=["c1"], filters=wanted)["c1"].to_numpy()


class Polars(Tesselle):
    def __init__(self, folder):
        import polars

        self.polars, self.path = polars, folder / "rows.parquet"

    def columns(self):
        return self.polars.read_parquet(self.path, columns=["c1", "id"])["c1"].to_numpy()

    def filter(self):
        lazy = self.polars.scan_parquet(self.path).filter(self.polars.col("id").is_between(*FOUND))
        return lazy.select("c1").collect()["c1"].to_numpy()


ENGINES = {
    "tesselle": Tesselle, "tesselle-mapped": Mapped, "tiledb": TileDb, "tsfile": TsFile, "zarr": Zarr, "zarrs": Zarrs, "h5py": H5py, "numpy": Numpy,
    "pyarrow": PyArrow, "polars": Polars,
}  # fmt: skip


def importing(engine):
    """Seconds that the import takes in a new interpreter, the start of the interpreter not counted."""
    command = f"import time; t = time.perf_counter(); import {engine}; print(time.perf_counter() - t)"
    return float(subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout)


def work(engine, job):
    """What one run computes: a number that all engines agree on."""
    verb, kind = job.split("-")
    if verb in ("dense", "raw"):
        return float(engine.dense(kind).ravel()[:: SIDE + 1].sum(dtype="f8"))
    if verb == "windows":
        array = engine.array(kind)
        return float(sum(engine.window(array, y, x).sum(dtype="f8") for y, x in windows()))
    if verb == "open":
        return float(engine.array(kind)[17, SIDE - 1])
    return float(getattr(engine, verb)().sum())


def main():
    name, job, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    if name == "make":
        make(folder)
        return
    if job == "import":
        seconds = [importing(name) for _ in range(5)]
        print(json.dumps({"seconds": seconds, "answer": 0.0}))
        return
    engine = ENGINES[name](folder)
    report(5, lambda: work(engine, job))


if __name__ == "__main__":
    main()
