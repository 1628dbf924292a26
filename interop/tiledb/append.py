"""Arrays of the original engine that Tesselle appends to: what the engine reads afterwards is what both wrote.

Usage: append.py TESS DIR
"""
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import tiledb


def tess(program, *args):
    done = subprocess.run([program, *map(str, args)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"tess {' '.join(map(str, args))}: {done.stderr.strip()}")


def sparse(program, folder):
    array = str(folder / "sparse")
    domain = tiledb.Domain(tiledb.Dim("x", domain=(0, 999), tile=10, dtype=np.int64))
    attributes = [tiledb.Attr("v", dtype=np.float32), tiledb.Attr("t", dtype="ascii", var=True)]
    tiledb.Array.create(array, tiledb.ArraySchema(domain=domain, sparse=True, attrs=attributes))
    with tiledb.open(array, "w") as out:
        words = np.array([b"a", b"bb", b"c"], dtype="O")
        out[np.arange(3)] = {"v": np.arange(3, dtype=np.float32), "t": words}
    rows = folder / "rows.csv"
    rows.write_text("x,v,t\n7,1.5,hi\n9,2.5,there\n")
    tess(program, "append", rows, array)
    with tiledb.open(array) as found:
        cells = found[:]
    assert cells["x"].tolist() == [0, 1, 2, 7, 9], cells
    assert cells["v"].tolist() == [0, 1, 2, 1.5, 2.5], cells
    assert cells["t"].tolist() == [b"a", b"bb", b"c", b"hi", b"there"], cells
    tess(program, "verify", "--deep", array)


def dense(program, folder, name, bounded):
    """An array that grows along both axes, within its domain or with its current domain."""
    array = str(folder / name)
    axis = lambda name, low: tiledb.Dim(name, domain=(low, low + 99), tile=4, dtype=np.int32)
    domain = tiledb.Domain(axis("y", 1), axis("x", 0))
    tiledb.Array.create(array, tiledb.ArraySchema(domain=domain, attrs=[tiledb.Attr("v", dtype=np.int64)]))
    if bounded:
        tess(program, "tiledb", "evolve", array, "--expand", "y=1:6", "--expand", "x=0:5")
    want = np.arange(36).reshape(6, 6)
    with tiledb.open(array, "w") as out:
        out[1:7, 0:6] = want
    for axis, shape in (("y", (2, 6)), ("x", (8, 3)), ("0", (5, 9))):
        part = np.random.default_rng(len(want)).integers(-(10**9), 10**9, shape)
        file = folder / "part.npy"
        np.save(file, part)
        tess(program, "append", file, array, "--axis", axis)
        want = np.concatenate([want, part], axis=1 if axis == "x" else 0)
        with tiledb.open(array) as found:
            height, width = want.shape
            got = found[1 : height + 1, 0:width]["v"]
            assert found.nonempty_domain() == ((1, height), (0, width - 1)), found.nonempty_domain()
        assert (got == want).all(), name
    tess(program, "verify", "--deep", array)


def bands(program, folder):
    """Rows that exceed the memory become several fragments, which appear together."""
    array = str(folder / "bands")
    axis = lambda name, last: tiledb.Dim(name, domain=(0, last), tile=16, dtype=np.int64)
    domain = tiledb.Domain(axis("y", 9999), axis("x", 99))
    tiledb.Array.create(array, tiledb.ArraySchema(domain=domain, attrs=[tiledb.Attr("v", dtype=np.int64)]))
    want = np.random.default_rng(7).integers(-(10**9), 10**9, (3000, 100))
    with tiledb.open(array, "w") as out:
        out[0:10, 0:100] = want[:10]
    np.save(folder / "more.npy", want[10:])
    tess(program, "append", folder / "more.npy", array, "--memory-limit", "1MiB")
    assert len(tiledb.array_fragments(array)) > 3, tiledb.array_fragments(array)
    with tiledb.open(array) as found:
        assert found.nonempty_domain() == ((0, 2999), (0, 99)), found.nonempty_domain()
        assert (found[0:3000, 0:100]["v"] == want).all()
    tess(program, "verify", "--deep", array)


def own_version(program, folder):
    """What is appended to an older array and merged in it has the version of the array."""
    data = pathlib.Path(__file__).resolve().parents[2] / "crates/tiledb/tests/data/libtiledb-2.30.0"
    array = str(folder / "older")
    shutil.copytree(data / "bc_v14_sparse/array", array)
    cells = lambda read: sorted((x, y, a, v.tolist()) for x, y, a, v in zip(*(read[name] for name in "xyav")))
    with tiledb.open(array) as found:
        want = cells(found[:]) + [(99, 0.5, 7, [1, 2]), (100, 0.25, 8, [])]
    rows = folder / "rows.jsonl"
    rows.write_text('{"x": 99, "y": 0.5, "a": 7, "v": [1, 2]}\n{"x": 100, "y": 0.25, "a": 8, "v": []}\n')
    tess(program, "append", rows, array)
    for step in ("appended", "merged"):
        if step == "merged":
            tess(program, "tiledb", "consolidate", array)
            tess(program, "tiledb", "vacuum", array)
        assert set(tiledb.array_fragments(array).version) == {14}, step
        with tiledb.open(array) as found:
            assert cells(found[:]) == want, step
    tess(program, "verify", "--deep", array)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    sparse(program, folder)
    dense(program, folder, "dense", False)
    dense(program, folder, "bounded", True)
    bands(program, folder)
    own_version(program, folder)
    print("appends: 5 arrays read equal")


main()
