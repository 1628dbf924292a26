"""Drives both engines through random histories of random arrays; after every step they must agree.

    property.py TESS-BINARY FOLDER CASES [SEED]

A history creates an array with the original engine, then writes, deletes, merges, cleans up and sets metadata, each step
with an engine drawn by lot. Reads of the present and of random pasts, fragments with their boxes and cells, and the
statistics that the files hold (recomputed by `tess verify --deep`, and used by `tess sql`) are compared. A failing case keeps its folder.
"""
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import tiledb
from tiledb.sparse_array import _setitem_impl_sparse

NUMBERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64]
INTEGERS = NUMBERS[:8]


class Failure(Exception):
    """The engines disagree, or one of them fails."""


def plain(value):
    """A cell of numpy or Arrow as something that compares."""
    if value is None or value is np.ma.masked:
        return None
    if isinstance(value, (np.generic,)):
        value = value.item()
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, float) and value != value:
        return "NaN"
    return value


class Case:
    def __init__(self, tess, folder, seed):
        self.rng = random.Random(seed)
        self.np = np.random.default_rng(seed)
        self.tess, self.folder, self.uri = tess, folder, str(folder / "array")
        self.clock, self.log = 10, []
        self.sparse = self.rng.random() < 0.6
        self.make_schema()

    # ---- schema

    def filters(self, dtype, text=False, dense=True):
        draw = self.rng.random()
        if text:
            lists = [[], [tiledb.ZstdFilter(3)], [tiledb.RleFilter()], [tiledb.DictionaryFilter()], [tiledb.GzipFilter(1)],
                     [tiledb.ChecksumMD5Filter(), tiledb.LZ4Filter()]]
        else:
            lists = [[], [tiledb.ZstdFilter(self.rng.choice([-1, 1, 3]))], [tiledb.GzipFilter(5)], [tiledb.LZ4Filter()],
                     [tiledb.Bzip2Filter(1)], [tiledb.RleFilter()], [tiledb.ByteShuffleFilter(), tiledb.ZstdFilter(1)],
                     [tiledb.BitShuffleFilter(), tiledb.LZ4Filter()], [tiledb.XORFilter(), tiledb.GzipFilter(1)],
                     [tiledb.ChecksumSHA256Filter()], [tiledb.ZstdFilter(1), tiledb.ChecksumMD5Filter()]]
            if np.dtype(dtype).kind in "iu":
                lists += [[tiledb.BitWidthReductionFilter(), tiledb.ZstdFilter(1)], [tiledb.DeltaFilter()], [tiledb.DoubleDeltaFilter()]]
        return tiledb.FilterList(lists[int(draw * len(lists))])

    def make_schema(self):
        rng, dims = self.rng, []
        self.kinds = {}
        count = rng.randint(1, 3)
        # The original overflows in some dense arrays with dimensions of one byte, and takes the process with it.
        shared = rng.choice([dtype for dtype in INTEGERS if np.dtype(dtype).itemsize > 1])
        for i in range(count):
            name = f"d{i}"
            draw = rng.random()
            if self.sparse and draw < 0.25:
                dims.append(tiledb.Dim(name, domain=(None, None), tile=None, dtype="ascii"))
                self.kinds[name] = "text"
                continue
            if self.sparse and draw < 0.4:
                dtype = rng.choice([np.float32, np.float64])
                dims.append(tiledb.Dim(name, domain=(dtype(-10), dtype(10)), tile=dtype(2.5), dtype=dtype))
                self.kinds[name] = ("float", dtype, -10, 10)
                continue
            if self.sparse and draw < 0.5:
                dims.append(tiledb.Dim(name, domain=(np.datetime64(0, "D"), np.datetime64(99, "D")), tile=np.timedelta64(7, "D"), dtype="datetime64[D]"))
                self.kinds[name] = ("day", "datetime64[D]", 0, 99)
                continue
            dtype = rng.choice(INTEGERS) if self.sparse else shared
            # Plain indexing of the original counts negative numbers from the end.
            low = rng.choice([0, -20, 5]) if self.sparse and np.dtype(dtype).kind == "i" else rng.choice([0, 5])
            high = low + rng.randint(5, 25)
            dims.append(tiledb.Dim(name, domain=(dtype(low), dtype(high)), tile=dtype(rng.randint(1, high - low + 1)), dtype=dtype))
            self.kinds[name] = ("int", dtype, low, high)
        attrs = []
        self.attrs = {}
        for i in range(rng.randint(1, 3)):
            name, nullable = f"a{i}", rng.random() < 0.3
            if rng.random() < 0.3:
                dtype = rng.choice(["ascii", "U0", "S0"])
                attrs.append(tiledb.Attr(name, dtype=dtype, var=True, nullable=nullable, filters=self.filters(None, text=dtype != "S0")))
                self.attrs[name] = ("text", dtype, nullable)
            else:
                dtype = rng.choice(NUMBERS)
                attrs.append(tiledb.Attr(name, dtype=dtype, nullable=nullable, filters=self.filters(dtype)))
                self.attrs[name] = ("number", dtype, nullable)
        orders = {"tile_order": rng.choice(["row-major", "col-major"]), "cell_order": rng.choice(["row-major", "col-major"])}
        if self.sparse and rng.random() < 0.25:
            orders["cell_order"] = "hilbert"
        self.dups = self.sparse and rng.random() < 0.3
        schema = tiledb.ArraySchema(domain=tiledb.Domain(*dims), attrs=attrs, sparse=self.sparse, allows_duplicates=self.dups,
                                    capacity=rng.choice([3, 10, 100]) if self.sparse else 10000, **orders)
        self.dims = [d.name for d in dims]
        tiledb.Array.create(self.uri, schema)
        self.log.append(f"schema {schema}")

    # ---- data

    def strings(self, n, ascii=True):
        letters = "abcxyz" if ascii else "abcäπ "
        return ["".join(self.rng.choice(letters) for _ in range(self.rng.randint(0, 6))) for _ in range(n)]

    def values(self, name, n):
        """(numpy for the original, Arrow for us) of an attribute."""
        kind, dtype, nullable = self.attrs[name]
        valid = [not nullable or self.rng.random() < 0.8 for _ in range(n)]
        if kind == "text":
            strings = [t or "-" for t in self.strings(n, dtype != "U0")]
            if dtype == "U0":
                return np.array(strings, dtype="O"), pa.array([t if v else None for t, v in zip(strings, valid)], pa.string()), valid
            data = [t.encode() for t in strings]
            kind = pa.string() if dtype == "ascii" else pa.binary()
            shown = strings if dtype == "ascii" else data
            return np.array(data, dtype="O"), pa.array([t if v else None for t, v in zip(shown, valid)], kind), valid
        dtype = np.dtype(dtype)
        if dtype.kind == "f":
            data = self.np.integers(-50, 50, n).astype(dtype) / dtype.type(4)
        else:
            info = np.iinfo(dtype)
            data = self.np.integers(max(info.min, -40), min(info.max, 90), n).astype(dtype)
        return data, pa.array(data, mask=np.array([not v for v in valid])) if nullable else pa.array(data), valid

    def coordinates(self, n):
        columns, arrow = [], []
        for name in self.dims:
            kind = self.kinds[name]
            if kind == "text":
                data = np.array([t.encode() for t in self.strings(n)], dtype="S")
                columns.append(data)
                arrow.append(pa.array([t.decode() for t in data.tolist()], pa.string()))
                continue
            what, dtype, low, high = kind
            data = self.np.integers(low, high + 1, n)
            if what == "float":
                data = np.clip(data + self.np.integers(0, 4, n) / 4, low, high).astype(dtype)
            elif what == "day":
                data = data.astype("datetime64[D]")
            else:
                data = data.astype(dtype)
            columns.append(data)
            arrow.append(pa.array(data))
        if not self.dups:
            seen, keep = set(), []
            for i, key in enumerate(zip(*[c.tolist() for c in columns])):
                if key not in seen:
                    seen.add(key)
                    keep.append(i)
            columns = [c[keep] for c in columns]
            arrow = [a.take(pa.array(keep)) for a in arrow]
        return columns, arrow

    # ---- engines

    def run(self, *args):
        self.log.append("tess " + " ".join(map(str, args)))
        done = subprocess.run([self.tess, *map(str, args)], capture_output=True, text=True)
        if done.returncode != 0 and not (args[0] == "verify" and done.returncode == 1):
            raise Failure(f"tess {' '.join(map(str, args))}: {done.stderr.strip()}")
        return done.stdout

    def write(self):
        self.clock += 10
        time = self.clock
        ours = self.rng.random() < 0.5
        if self.sparse:
            columns, arrow = self.coordinates(self.rng.randint(1, 40))
            n, region = len(columns[0]), None
        else:
            box = []
            for name in self.dims:
                _, _, low, high = self.kinds[name]
                # A side of one cell makes numpy arrays that tiledb-py takes for column-major ones.
                a, b = sorted(self.rng.sample(range(low, high + 1), 2))
                box.append((a, b))
            n, region, arrow = int(np.prod([b - a + 1 for a, b in box])), box, []
        table, given = dict(zip(self.dims, arrow)), {}
        for name in self.attrs:
            data, column, valid = self.values(name, n)
            table[name], given[name] = column, (data, valid)
        if ours:
            file = self.folder / "rows.arrow"
            fields = [pa.field(k, v.type, nullable=self.attrs.get(k, (0, 0, False))[2]) for k, v in table.items()]
            feather.write_feather(pa.table(list(table.values()), schema=pa.schema(fields)), str(file), compression="uncompressed")
            more = [] if region is None else ["--region=" + ",".join(f"{a}:{b + 1}" for a, b in region)]
            self.run("tiledb", "write", self.uri, file, "--timestamp", time, *more)
            return
        self.log.append(f"write {n} cells at {time} {region or ''}")
        with tiledb.open(self.uri, "w", timestamp=time) as array:
            cells = {name: data for name, (data, _) in given.items()}
            nulls = {name: np.array(valid, np.uint8) for name, (_, valid) in given.items() if self.attrs[name][2]}
            if region is None:
                # The same as the public call, with explicit instead of guessed nulls.
                _setitem_impl_sparse(array, tuple(columns) if len(columns) > 1 else columns[0], cells, nulls)
            else:
                shape = [b - a + 1 for a, b in region]
                cells = {name: data.reshape(shape) for name, data in cells.items()}
                array._setitem_impl(tuple(slice(a, b + 1) for a, b in region), cells, nulls)

    def delete(self):
        numeric = [n for n, (kind, dtype, nullable) in self.attrs.items() if kind == "number" and not nullable]
        if not self.sparse or not numeric:
            return
        self.clock += 10
        name, bound, other = self.rng.choice(numeric), self.rng.randint(0, 40), self.rng.choice(numeric)
        condition = self.rng.choice([
            f"{name} > {bound}",
            f"{name} > {bound} and ({name} < {bound + 20} and {other} >= 3)",
            f"{name} == {bound} or ({name} > {bound + 3} and ({other} < 60 or {name} > 70))",
        ])
        if self.rng.random() < 0.5:
            ours = condition.replace("==", "=")
            self.run("tiledb", "delete", self.uri, "--where", ours, "--timestamp", self.clock)
        else:
            self.log.append(f"delete {condition} at {self.clock}")
            with tiledb.open(self.uri, "d", timestamp=self.clock) as array:
                array.query(cond=condition).submit()

    def upkeep(self):
        what = self.rng.choice(["fragments", "commits", "fragment_meta"])
        ours = self.rng.random() < 0.5
        self.log.append(f"{'our' if ours else 'their'} upkeep of {what}")
        if ours:
            name = {"fragment_meta": "fragment-metadata"}.get(what, what)
            self.run("tiledb", "consolidate", self.uri, "--what", name)
            if self.rng.random() < 0.6:
                self.run("tiledb", "vacuum", self.uri, "--what", name)
        else:
            try:
                tiledb.consolidate(self.uri, config=tiledb.Config({"sm.consolidation.mode": what}))
            except tiledb.TileDBError as error:
                if not self.is_vacuumed_delete(str(error)):
                    raise
                self.log.append("the original cannot consolidate commits after the commit of a delete was vacuumed")
            if self.rng.random() < 0.6:
                tiledb.vacuum(self.uri, config=tiledb.Config({"sm.vacuum.mode": what}))

    def is_vacuumed_delete(self, message):
        """Whether the original fails since it asks for the size of a `.del` that is only in a consolidated commits file. It
        does so on arrays that only it has written, too."""
        name = re.search(r"Cannot get file size of '.*/__commits/([^/']+\.del)'", message)
        commits = pathlib.Path(self.uri) / "__commits"
        return name is not None and not (commits / name[1]).exists() and any(
            name[1].encode() in file.read_bytes() for file in commits.glob("*.con"))

    def note(self):
        self.clock += 10
        key, number = f"k{self.rng.randint(0, 3)}", self.rng.randint(-5, 5)
        if self.rng.random() < 0.5:
            self.run("tiledb", "meta", self.uri, "--put", f"{key}={number}")
        else:
            with tiledb.open(self.uri, "w") as array:
                array.meta[key] = number

    # ---- comparisons

    def rows(self, table):
        """The rows of an Arrow table, those of a sparse array with their coordinates, sorted."""
        columns = []
        for name in (self.dims if self.sparse else []) + list(self.attrs):
            column = table[name]
            if pa.types.is_date(column.type):
                column = column.cast(pa.int32())
            columns.append([plain(v) for v in column.to_pylist()])
        rows = list(zip(*columns))
        return sorted(rows, key=repr) if self.sparse else rows

    def rows_of_theirs(self, when):
        whole = [slice(None)] * len(self.dims) if self.sparse else [slice(*self.kinds[name][2:]) for name in self.dims]
        with tiledb.open(self.uri, timestamp=when) as array:
            # Only Arrow tables keep the nulls; they come in the order of the array unless asked for another.
            order = "U" if self.sparse else "C"
            return self.rows(array.query(return_arrow=True, order=order).df[tuple(whole) if len(whole) > 1 else whole[0]])

    def rows_of_ours(self, when):
        file = self.folder / "read.arrow"
        self.run("cat", self.uri, "--as", "arrow", "-o", file, "--force", "--full-domain", "--at", when)
        with pa.OSFile(str(file)) as source:
            return self.rows(pa.ipc.open_file(source).read_all())

    def compare_bounds(self, when):
        """Counts and bounds of numbers, which SQL takes from metadata where it can."""
        names = [name for name, (kind, *_) in self.attrs.items() if kind == "number"]
        if self.sparse:
            names += [name for name in self.dims if self.kinds[name][0] == "int"]
        columns = list((self.dims if self.sparse else []) + list(self.attrs))
        rows = self.rows_of_theirs(when)
        theirs, asked = {"n": len(rows)}, ["count(*) AS n"]
        for name in names:
            values = [v for row in rows if (v := row[columns.index(name)]) is not None]
            # Cells that were never written are NaN, which SQL holds for the greatest.
            values.sort(key=lambda v: (v == "NaN", 0 if v == "NaN" else v))
            least, greatest = (values[0], values[-1]) if values else (None, None)
            theirs |= {f"{name}_n": len(values), f"{name}_min": least, f"{name}_max": greatest}
            asked.append(f"count({name}) AS {name}_n, min({name}) AS {name}_min, max({name}) AS {name}_max")
        ours, = json.loads(self.run("sql", f"SELECT {', '.join(asked)} FROM '{self.uri}'", "--json", "--full-domain", "--at", when))
        if theirs != ours:
            raise Failure(f"counts and bounds {theirs} in the original, {ours} here")

    def compare(self):
        whens = [self.clock] + [self.rng.randint(10, self.clock) for _ in range(2)]
        for when in whens:
            theirs, ours = self.rows_of_theirs(when), self.rows_of_ours(when)
            if theirs != ours:
                first = next((i for i, (a, b) in enumerate(zip(theirs, ours)) if a != b), min(len(theirs), len(ours)))
                raise Failure(f"at {when}: {len(theirs)} rows in the original, {len(ours)} here; row {first}: "
                              f"{theirs[first:first + 1]} and {ours[first:first + 1]}")
        self.compare_bounds(whens[0])
        info = json.loads(self.run("info", self.uri, "--json"))
        mine = sorted((f["name"], tuple(f["timestamps"])) for f in info["fragments"])
        fragments = tiledb.FragmentInfoList(self.uri)
        others = sorted((f.uri.rstrip("/").split("/")[-1], tuple(f.timestamp_range)) for f in fragments)
        if mine != others:
            raise Failure(f"fragments {others} in the original, {mine} here")
        with tiledb.open(self.uri) as array:
            meta = {key: array.meta[key] for key in array.meta.keys()}
        got = {key: entry["value"] for key, entry in info["metadata"].items()}
        if meta != got:
            raise Failure(f"metadata {meta} in the original, {got} here")
        report = json.loads(self.run("verify", self.uri, "--deep", "--json"))
        if not report["ok"]:
            raise Failure(f"findings {report['findings']}")

    def play(self):
        for _ in range(self.rng.randint(2, 4)):
            self.write()
        self.compare()
        for _ in range(self.rng.randint(2, 6)):
            self.rng.choice([self.write, self.write, self.delete, self.upkeep, self.upkeep, self.note])()
        self.compare()


def main():
    tess, folder, cases = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    start = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
    failed = 0
    for seed in range(start, start + cases):
        place = folder / f"case-{seed}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        case = None
        try:
            case = Case(tess, place, seed)
            case.play()
            shutil.rmtree(place)
        except Exception as error:
            failed += 1
            print(f"FAIL seed {seed} ({place}): {type(error).__name__}: {error}")
            for line in (case.log if case else [])[-12:]:
                print(f"    {line}")
    print(f"{cases - failed} of {cases} random histories agree, seeds from {start}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
