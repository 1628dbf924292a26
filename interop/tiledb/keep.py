"""What Tesselle copies, labels and consolidates, read by the original engine.

Usage: keep.py TESS DIR
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


def array_of(path, values):
    """A dense array that is written in two fragments."""
    domain = tiledb.Domain(tiledb.Dim("x", domain=(0, len(values) - 1), tile=4, dtype=np.int32))
    attributes = [tiledb.Attr("v", dtype=values.dtype, filters=[tiledb.DeltaFilter(), tiledb.ZstdFilter(5)])]
    tiledb.Array.create(path, tiledb.ArraySchema(domain=domain, attrs=attributes))
    half = len(values) // 2
    for part in (slice(0, half), slice(half, len(values))):
        with tiledb.open(path, "w") as out:
            out[part] = values[part]
            out.meta["unit"] = "m"


def group(program, folder):
    """A group with a nested group, converted to a group."""
    source, target = folder / "source", folder / "target"
    tiledb.group_create(str(source))
    tiledb.group_create(str(source / "sub"))
    first, second = np.arange(11, dtype=np.int64), np.arange(7, dtype=np.int16) * 3
    array_of(str(source / "a"), first)
    array_of(str(source / "sub" / "b"), second)
    with tiledb.Group(str(source / "sub"), "w") as out:
        out.add("b", name="b", relative=True)
        out.meta["depth"] = 2
    with tiledb.Group(str(source), "w") as out:
        out.add("a", name="first", relative=True)
        out.add("sub", name="sub", relative=True)
        out.meta["title"] = "grüße"
    tess(program, "convert", source, target, "--to", "tiledb")
    with tiledb.Group(str(target)) as found:
        assert found.meta["title"] == "grüße"
        assert sorted(member.name for member in found) == ["first", "sub"], list(found)
        copied = found["first"].uri
    with tiledb.Group(str(target / "sub")) as found:
        assert found.meta["depth"] == 2
        assert [member.name for member in found] == ["b"], list(found)
    for path, want in ((copied, first), (str(target / "sub" / "b"), second)):
        with tiledb.open(path) as found:
            assert found.schema.attr("v").filters[1].level == 5, found.schema
            assert found.meta["unit"] == "m"
            assert (found[:]["v"] == want).all(), path


def upgraded(program, folder):
    """A group with an array of an older version, upgraded as a whole."""
    source, target = folder / "older", folder / "newer"
    data = pathlib.Path(__file__).resolve().parents[2] / "crates/tiledb/tests/data/libtiledb-2.30.0"
    tiledb.group_create(str(source))
    tiledb.group_create(str(source / "sub"))
    for name, place in (("bc_v14_sparse", "v14"), ("pw_v3_sparse", "sub/v3")):
        shutil.copytree(data / name / "array", source / place)
    with tiledb.Group(str(source / "sub"), "w") as out:
        out.add("v3", name="v3", relative=True)
    with tiledb.Group(str(source), "w") as out:
        out.add("v14", name="v14", relative=True)
        out.add("sub", name="sub", relative=True)
        out.meta["title"] = "old"
    tess(program, "convert", source, target, "--to", "tiledb", "--upgrade")
    tess(program, "diff", source, target)
    with tiledb.Group(str(target)) as found:
        assert found.meta["title"] == "old"
        assert sorted(member.name for member in found) == ["sub", "v14"], list(found)
    for place in ("v14", "sub/v3"):
        with tiledb.open(str(source / place)) as old, tiledb.open(str(target / place)) as new:
            assert set(tiledb.array_fragments(str(target / place)).version) == {22}
            shape = lambda array: [(dim.name, dim.domain, dim.tile) for dim in array.schema.domain]
            assert shape(old) == shape(new), new.schema
            before, after = old[:], new[:]
            assert before.keys() == after.keys()
            for name in before:
                assert [str(v) for v in before[name]] == [str(v) for v in after[name]], (place, name)


def labels(program, folder):
    """Labels that Tesselle creates and writes select what they should."""
    cells = folder / "cells.csv"
    rows = (f"{y},{x},{y * 10 + x}" for y in range(6) for x in range(3))
    cells.write_text("\n".join(["y,x,t", *rows]) + "\n")
    array = folder / "labeled"
    settings = ["kind=dense", "dims=y,x", "domain.y=0:5", "domain.x=0:2", "labels=lat:y:FLOAT64,deep:x:INT32:decreasing"]
    tess(program, "convert", cells, array, "--to", "tiledb", *(word for s in settings for word in ("--set", s)))
    for name, values in (("lat", [40, 41.5, 43, 52, 52, 60]), ("deep", [9, 5, -3])):
        file = folder / f"{name}.csv"
        file.write_text("\n".join([name, *map(str, values)]) + "\n")
        tess(program, "tiledb", "write", array, file, "--label", name)
    with tiledb.open(str(array)) as found:
        assert found.schema.dim_label("lat").order == "increasing", found.schema
        part = found.label_index(["lat"])[41.0:52.0]
        assert part["lat"].tolist() == [41.5, 43, 52, 52], part
        assert part["t"].tolist() == [[y * 10 + x for x in range(3)] for y in range(1, 5)], part


def consolidated(program, folder):
    """Fragments that Tesselle merges and vacuums."""
    values = np.arange(20, dtype=np.int32) ** 2
    path = str(folder / "merged")
    array_of(path, values)
    tess(program, "tiledb", "consolidate", path)
    tess(program, "tiledb", "vacuum", path)
    assert len(tiledb.array_fragments(path)) == 1
    with tiledb.open(path) as found:
        assert (found[:]["v"] == values).all()


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    group(program, folder)
    upgraded(program, folder)
    labels(program, folder)
    consolidated(program, folder)
    print("groups, upgrades, labels and consolidation: read equal")


main()
