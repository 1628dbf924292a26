"""The TileDB jobs, run by the original engine through its Python package.

    tiledb_python.py JOB FOLDER        prints {"seconds": […], "answer": …}
"""
import pathlib
import shutil
import sys

from engine_report import report, sized

# The suite of that name is next to this script and must not be imported instead of the engine.
sys.path.pop(0)
import numpy as np  # noqa: E402
import tiledb  # noqa: E402

SIDE, TILE, SPACE = sized(4096, 1024), 256, 100_000
STRINGS, FRAGMENTS = sized(1_000_000, 10_000), sized(1000, 20)
# Two threads each, before anything else makes the context.
tiledb.default_ctx(tiledb.Config({"sm.compute_concurrency_level": 2, "sm.io_concurrency_level": 2}))
FILTERS = {
    "plain": [],
    "zstd": [tiledb.ZstdFilter(3)],
    "shuffle": [tiledb.ByteShuffleFilter(), tiledb.ZstdFilter(3)],
}


def numbers(modulus):
    """The same sequence of numbers below `modulus` in every engine."""
    state = 12345
    while True:
        state = (state * 1103515245 + 12345) % (1 << 31)
        yield state % modulus


def dense_schema(filters):
    dims = [tiledb.Dim(n, domain=(0, SIDE - 1), tile=TILE, dtype=np.int32) for n in ("row", "column")]
    attribute = tiledb.Attr("a", dtype=np.float64, filters=tiledb.FilterList(FILTERS[filters]))
    return tiledb.ArraySchema(domain=tiledb.Domain(*dims), attrs=[attribute])


def sparse_schema(dups):
    dims = [tiledb.Dim(n, domain=(0, SPACE - 1), tile=1000, dtype=np.int64) for n in ("x", "y")]
    return tiledb.ArraySchema(domain=tiledb.Domain(*dims), attrs=[tiledb.Attr("a", dtype=np.float64)], sparse=True, allows_duplicates=dups)


def text_schema():
    dim = tiledb.Dim("key", domain=(None, None), tile=None, dtype="ascii")
    return tiledb.ArraySchema(domain=tiledb.Domain(dim), attrs=[tiledb.Attr("a", dtype=np.int64)], sparse=True)


def load(folder, kind):
    """What is written: the columns of the array."""
    if kind.startswith("dense"):
        return [np.array(np.load(folder / "dense.npy"))]
    if kind == "text":
        return [np.array([b"key%07d" % n for n in np.load(folder / "text.npy")]), np.array(np.load(folder / "text.npy"))]
    return [np.array(np.load(folder / f"{kind}-{column}.npy")) for column in "xya"]


def create(path, kind):
    if path.exists():
        shutil.rmtree(path)
    what, _, how = kind.partition("-")
    schema = dense_schema(how) if what == "dense" else text_schema() if what == "text" else sparse_schema(how == "dups")
    tiledb.Array.create(str(path), schema)


def write(path, kind, data):
    with tiledb.open(str(path), "w") as array:
        if kind.startswith("dense"):
            array[:] = data[0]
        elif kind == "text":
            array[data[0]] = {"a": data[1]}
        else:
            array[data[0], data[1]] = {"a": data[2]}


def make(folder):
    """The data of all jobs, and the arrays that both engines read, written by the original engine."""
    random = np.random.default_rng(7)
    side = np.arange(SIDE, dtype=np.float64)
    # A smooth field with two decimals and a little noise: it compresses, but not to nothing.
    field = np.sin(side / 300)[:, None] * np.cos(side / 200)[None, :] * 100 + random.integers(-8, 8, (SIDE, SIDE))
    np.save(folder / "dense.npy", np.round(field, 2))
    cells = sized(5_000_000, 50_000)
    places = random.choice(SPACE * SPACE, cells + cells // 8)
    places = random.permutation(np.unique(places))[:cells]
    for kind in ("sparse-unique", "sparse-dups"):
        if kind == "sparse-dups":
            places[cells // 2:] = places[:cells - cells // 2]
        np.save(folder / f"{kind}-x.npy", places // SPACE)
        np.save(folder / f"{kind}-y.npy", places % SPACE)
        np.save(folder / f"{kind}-a.npy", np.round(random.normal(size=cells), 3))
    np.save(folder / "text.npy", random.permutation(STRINGS))
    for kind in [*(f"dense-{filters}" for filters in FILTERS), "sparse-unique", "sparse-dups", "text"]:
        create(folder / f"base-{kind}", kind)
        write(folder / f"base-{kind}", kind, load(folder, kind))
    path = folder / "base-fragments"
    create(path, "sparse-unique")
    x, y, a = load(folder, "sparse-unique")
    for i in range(FRAGMENTS):
        part = slice(i * 1000, (i + 1) * 1000)
        with tiledb.open(str(path), "w", timestamp=i + 1) as array:
            array[x[part], y[part]] = {"a": a[part]}
    (folder / "made").touch()


def total(cells):
    return float(cells["a"].sum()) + len(cells["a"])


def main():
    job, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    verb, _, kind = job.partition("-")
    if verb == "make":
        return make(folder)
    base = str(folder / f"base-{kind}")
    if verb == "write":
        data, path = load(folder, kind), folder / f"tiledb-{kind}"
        report(3, lambda: write(path, kind, data), lambda: create(path, kind))
    elif verb == "read" and kind.startswith("dense"):
        def read():
            with tiledb.open(base) as array:
                out = array[:]["a"]
            return out[7, 5] + out[-1, -1]
        report(3, read)
    elif verb == "read":
        def read():
            # Cells come as they are stored: the default would sort them.
            with tiledb.open(base) as array:
                query = array.query(order="U")
                return total(query[:] if kind == "text" else query[:, :])
        report(3, read)
    elif verb == "windows":
        def cut():
            sum, at = 0.0, numbers(SIDE - TILE)
            with tiledb.open(base) as array:
                for _ in range(100):
                    row, column = next(at), next(at)
                    sum += array[row:row + TILE, column:column + TILE]["a"][-1, -1]
            return sum
        report(3, cut)
    elif verb == "boxes":
        def boxes():
            sum, at = 0.0, numbers(SPACE - SPACE // 10)
            with tiledb.open(base) as array:
                for _ in range(100):
                    x, y = next(at), next(at)
                    sum += total(array.query(order="U")[x:x + SPACE // 10, y:y + SPACE // 10])
            return sum
        report(3, boxes)
    elif verb == "lookups":
        def lookups():
            sum, at = 0.0, numbers(STRINGS)
            with tiledb.open(base) as array:
                for _ in range(100):
                    key = "key%07d" % next(at)
                    sum += total(array.query(order="U").multi_index[key])
            return sum
        report(3, lookups)
    elif verb == "open":
        def open_all():
            with tiledb.open(base) as array:
                (x, _), _ = array.nonempty_domain()
                return x
        report(5, open_all)
    elif verb == "box":
        def box():
            with tiledb.open(base) as array:
                return total(array.query(order="U")[20_000:30_000, 20_000:30_000])
        report(5, box)
    elif verb == "consolidate":
        path = folder / "tiledb-fragments"

        def copy():
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(base, path)

        def consolidate():
            tiledb.consolidate(str(path))
            return 0.0
        report(3, consolidate, copy)
    else:
        sys.exit(f"there is no job {verb}")


if __name__ == "__main__":
    main()
