"""The tet jobs, run by the Python rivals: numpy on a mapped npy file, h5py, zarr and zarr with zarrs.

    tet_python.py ENGINE JOB FOLDER        prints {"seconds": […], "answer": …}
"""
import os
import pathlib
import shutil
import sys

import numpy as np

from engine_report import report, sized

SIDE, CHUNK = sized(16384, 1024), 512


def windows():
    state = 12345
    for _ in range(sized(100, 5)):
        pair = []
        for _ in range(2):
            state = (state * 1103515245 + 12345) % (1 << 31)
            pair.append(state % (SIDE - CHUNK))
        yield pair


def sync(path):
    """All engines are timed until their bytes are on the disk."""
    for file in [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file()):
        fd = os.open(file, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


def remove(path):
    """Freeing the blocks of an earlier file is not part of writing a new one."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


class Numpy:
    def __init__(self, folder, codec):
        if codec != "raw":
            sys.exit("numpy has no compression")
        self.path = folder / "numpy.npy"

    def write(self, data):
        with open(self.path, "wb") as out:
            np.lib.format.write_array_header_1_0(out, np.lib.format.header_data_from_array_1_0(data))
            data.tofile(out)
        sync(self.path)

    def open(self):
        return np.load(self.path, mmap_mode="r")

    def read(self):
        return np.array(self.open())

    def mean(self, axis):
        return self.open().mean(axis=axis, dtype=np.float64)


class H5py:
    def __init__(self, folder, codec):
        import h5py
        import hdf5plugin
        self.h5py, self.path = h5py, folder / f"{codec}.h5"
        self.options = {} if codec == "raw" else dict(hdf5plugin.Zstd(clevel=3))

    def write(self, data):
        with self.h5py.File(self.path, "w") as file:
            file.create_dataset("data", data=data, chunks=(CHUNK, CHUNK), **self.options)
        sync(self.path)

    def open(self):
        return self.h5py.File(self.path, "r")["data"]

    def read(self):
        return self.open()[:]

    def mean(self, axis):
        """A row of chunks at a time: the tensor need not fit into memory."""
        return mean_by_bands(self.open(), axis)


class Zarr:
    pipeline = None

    def __init__(self, folder, codec):
        import zarr
        if self.pipeline:
            import zarrs  # noqa: F401
            zarr.config.set({"codec_pipeline.path": self.pipeline, "threading.max_workers": 2})
        self.zarr, self.path = zarr, folder / f"{type(self).__name__.lower()}-{codec}.zarr"
        self.compressors = None if codec == "raw" else [zarr.codecs.ZstdCodec(level=3)]

    def write(self, data):
        array = self.zarr.create_array(self.path, shape=data.shape, chunks=(CHUNK, CHUNK), dtype=data.dtype,
                                       compressors=self.compressors, overwrite=True)
        array[:] = data
        sync(self.path)

    def open(self):
        return self.zarr.open_array(self.path, mode="r")

    def read(self):
        return self.open()[:]

    def mean(self, axis):
        return mean_by_bands(self.open(), axis)


class Zarrs(Zarr):
    pipeline = "zarrs.ZarrsCodecPipeline"


def mean_by_bands(array, axis):
    total = np.zeros(SIDE if axis == 0 else (), np.float64)
    for row in range(0, SIDE, CHUNK):
        total += array[row:row + CHUNK].sum(axis=axis, dtype=np.float64)
    return total / (SIDE if axis == 0 else SIDE * SIDE)


ENGINES = {"numpy": Numpy, "h5py": H5py, "zarr": Zarr, "zarrs": Zarrs}


def main():
    engine, job, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    verb, codec = job.split("-")
    rival = ENGINES[engine](folder, codec)
    if verb == "make":
        # A smooth field with two decimals and a little noise: it compresses, but not to nothing.
        random = np.random.default_rng(7)
        side = np.arange(SIDE, dtype=np.float32)
        field = np.sin(side / 300)[:, None] * np.cos(side / 200)[None, :] * 100
        field += random.integers(-8, 8, field.shape, dtype=np.int8)
        np.save(folder / "base.npy", np.round(field, 2).astype(np.float32))
    elif verb == "write":
        data = np.array(np.load(folder / "base.npy"))
        report(5, lambda: rival.write(data) or 0.0, lambda: remove(rival.path))
    elif verb == "read":
        def read():
            out = rival.read()
            return float(out[7, 5]) + float(out[-1, -1])
        report(5, read)
    elif verb == "windows":
        def cut():
            array, total = rival.open(), 0.0
            for row, column in windows():
                total += float(np.array(array[row:row + CHUNK, column:column + CHUNK])[-1, -1])
            return total
        report(5, cut)
    elif verb == "mean":
        report(5, lambda: rival.mean(None))
    elif verb == "mean0":
        report(5, lambda: rival.mean(0)[77])
    else:
        sys.exit(f"{engine} has no job {verb}")


if __name__ == "__main__":
    main()
