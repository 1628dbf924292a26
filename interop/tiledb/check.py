"""Reads with the original engine what Tesselle wrote, and compares it with the rows that went in."""
import json
import pathlib
import sys

import numpy as np
import pyarrow as pa
import tiledb


def plain(value):
    """A cell of numpy or Arrow as plain Python values."""
    if value is None or value is np.ma.masked:
        return None
    if isinstance(value, np.ndarray):
        # Fixed cells of several characters come as one-byte arrays.
        return value.tobytes() if value.dtype.kind == "S" else [plain(v) for v in value]
    if isinstance(value, np.void):
        return [plain(v) for v in value.tolist()]
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return int(value.astype("int64"))
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    if isinstance(value, float) and value != value:
        return "NaN"
    return value


def column_of_arrow(column):
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        column = column.cast(pa.int64())
    return [plain(v) for v in column.to_pylist()]


def column_of_engine(values, attribute):
    values = np.ma.asanyarray(values)
    mask = np.ma.getmaskarray(values).reshape(-1) if isinstance(values, np.ma.MaskedArray) else None
    flat = np.ma.getdata(values).reshape(-1)
    out = [plain(v) for v in flat]
    if mask is not None:
        out = [None if m else v for v, m in zip(out, mask)]
    return out


def same(name, got, want):
    if len(got) != len(want):
        raise AssertionError(f"{name}: {len(got)} cells, expected {len(want)}")
    for i, (g, w) in enumerate(zip(got, want)):
        if isinstance(w, list) and isinstance(g, bytes):
            w = bytes(w)
        if isinstance(w, bool):
            g = bool(g)
        if isinstance(w, bytes) and isinstance(g, list):
            g = bytes(g)
        if isinstance(w, bytes) and isinstance(g, bytes) and w.rstrip(b"\0") == g.rstrip(b"\0"):
            continue
        if g != w:
            raise AssertionError(f"{name}: cell {i} is {g!r}, expected {w!r}")


def read(array, facts):
    schema = array.schema
    if schema.sparse:
        return dict(array.query(coords=True)[:] if schema.domain.ndim == 1 else array.query(coords=True)[tuple([slice(None)] * schema.domain.ndim)])
    query = array.query(attrs=[schema.attr(i).name for i in range(schema.nattr)])
    box = facts["box"]
    if any(lo < 0 for lo, _ in box):
        # Plain indexing counts negative numbers from the end; this one loses the nulls.
        return query.multi_index[tuple(slice(lo, hi) for lo, hi in box)]
    result = query[tuple(slice(lo, hi + 1) for lo, hi in box)]
    return result if isinstance(result, dict) else {schema.attr(0).name: result}


def check_metadata(holder, facts):
    for key, value in facts.get("metadata", {}).items():
        got = holder.meta[key]
        got = list(got) if isinstance(got, (tuple, np.ndarray)) else got
        if got != value:
            raise AssertionError(f"metadata {key}: {got!r}, expected {value!r}")
    for key in facts.get("no_metadata", []):
        if key in holder.meta:
            raise AssertionError(f"metadata {key} is still there")


def check(folder, case):
    facts = case["facts"]
    uri = str(folder / facts.get("array", case["name"]) / "array")
    when = {"timestamp": facts["timestamp"]} if "timestamp" in facts else {}
    with pa.OSFile(str(folder / case["name"] / "expected.arrow")) as file:
        want = pa.ipc.open_file(file).read_all().combine_chunks()
    config = {}
    if "key" in facts:
        config = {"sm.encryption_key": facts["key"], "sm.encryption_type": "AES_256_GCM"}
    ctx = tiledb.Ctx(config)
    if "group" in facts:
        with tiledb.Group(uri, ctx=ctx) as group:
            members = {m.name: "group" if m.type is tiledb.Group else "array" for m in group}
            same("members", sorted(members.items()), sorted(facts["group"].items()))
            check_metadata(group, facts)
        return
    with tiledb.open(uri, ctx=ctx, **when) as array:
        schema = array.schema
        cells = read(array, facts)
        columns = {name: column_of_engine(cells[name], name) for name in want.column_names}
        expected = {name: column_of_arrow(want[name]) for name in want.column_names}
        if schema.sparse:
            # No order is promised: both sides by all values.
            def sorted_rows(table):
                rows = list(zip(*(table[name] for name in want.column_names)))
                return sorted(rows, key=repr)
            got, wanted = sorted_rows(columns), sorted_rows(expected)
            same("rows", [list(r) for r in got], [list(r) for r in wanted])
        else:
            for name in want.column_names:
                same(name, columns[name], expected[name])
        for name, values in facts.get("enumerations", {}).items():
            same(name, list(array.enum(name).values()), values)
        check_metadata(array, facts)
        for name, (low, high, values) in facts.get("labels", {}).items():
            same(f"label {name}", [plain(v) for v in array.label_index([name])[low:high]["a"]], values)
    if when:
        return
    info = tiledb.array_fragments(uri, ctx=ctx)
    if len(info) != facts.get("fragments", 1):
        raise AssertionError(f"{len(info)} fragments, expected {facts.get('fragments', 1)}")
    fragments = tiledb.FragmentInfoList(uri, ctx=ctx)
    for fragment in fragments:
        if fragment.version != 22:
            raise AssertionError(f"fragment version {fragment.version}")
    if schema.sparse:
        with tiledb.open(uri, ctx=ctx) as array:
            list(tiledb.FragmentInfoList(uri, include_mbrs=True, ctx=ctx))


def main():
    folder = pathlib.Path(sys.argv[1])
    wanted = set(sys.argv[2:])
    failed = 0
    cases = [case for case in json.loads((folder / "cases.json").read_text()) if not wanted or case["name"] in wanted]
    for case in cases:
        try:
            check(folder, case)
        except Exception as error:
            failed += 1
            print(f"FAIL {case['name']}: {type(error).__name__}: {error}")
    print(f"{len(cases) - failed} of {len(cases)} cases read back equal with TileDB {'.'.join(map(str, tiledb.libtiledb.version()))}")
    return 1 if failed else 0


sys.exit(main())
