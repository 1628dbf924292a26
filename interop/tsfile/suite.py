"""Live round trips between tess and the original TsFile libraries.

Every case draws a schema and data from its seed, writes it on one side, reads it on the other and compares every
point by its bits. Usage: suite.py --tess TESS --work DIR [--java CLASSPATH] [--java3 …] [--java4 …] [--cases N] [--seed S]
"""

import argparse
import datetime
import math
import pathlib
import random
import struct
import subprocess
import sys

import pyarrow as pa
import pyarrow.ipc as ipc

EPOCH = datetime.date(1970, 1, 1)

# What the C++ library behind the package can read, by type. It reads version 4 only.
CPP_ENCODINGS = {
    "BOOLEAN": ["PLAIN"],
    "INT32": ["PLAIN", "RLE", "TS_2DIFF", "GORILLA", "ZIGZAG", "CHIMP", "SPRINTZ", "RLBE"],
    "INT64": ["PLAIN", "RLE", "TS_2DIFF", "GORILLA", "ZIGZAG", "CHIMP", "SPRINTZ", "RLBE"],
    "FLOAT": ["PLAIN", "TS_2DIFF", "GORILLA", "CHIMP", "SPRINTZ", "RLBE"],
    "DOUBLE": ["PLAIN", "TS_2DIFF", "GORILLA", "CHIMP", "SPRINTZ", "RLBE", "CAMEL"],
    "TEXT": ["PLAIN", "DICTIONARY"],
    "STRING": ["PLAIN", "DICTIONARY"],
    "BLOB": ["PLAIN"],
    "DATE": ["PLAIN", "TS_2DIFF", "GORILLA"],
    "TIMESTAMP": ["PLAIN", "TS_2DIFF", "GORILLA"],
}
CPP_COMPRESSORS = ["UNCOMPRESSED", "SNAPPY", "GZIP", "LZ4"]
JAVA_09_ENCODINGS = {
    "BOOLEAN": ["PLAIN", "RLE"],
    "INT32": ["PLAIN", "RLE", "TS_2DIFF", "REGULAR"],
    "INT64": ["PLAIN", "RLE", "TS_2DIFF", "REGULAR"],
    "FLOAT": ["PLAIN", "RLE", "TS_2DIFF", "OLD_GORILLA"],
    "DOUBLE": ["PLAIN", "RLE", "TS_2DIFF", "OLD_GORILLA"],
    "TEXT": ["PLAIN"],
}
JAVA_3_ENCODINGS = {
    "BOOLEAN": ["PLAIN", "RLE"],
    "INT32": ["PLAIN", "RLE", "TS_2DIFF", "GORILLA", "ZIGZAG", "CHIMP", "SPRINTZ", "RLBE"],
    "INT64": ["PLAIN", "RLE", "TS_2DIFF", "GORILLA", "ZIGZAG", "CHIMP", "SPRINTZ", "RLBE"],
    "FLOAT": ["PLAIN", "RLE", "TS_2DIFF", "GORILLA_V1", "GORILLA", "CHIMP", "SPRINTZ", "RLBE"],
    "DOUBLE": ["PLAIN", "RLE", "TS_2DIFF", "GORILLA_V1", "GORILLA", "CHIMP", "SPRINTZ", "RLBE"],
    "TEXT": ["PLAIN", "DICTIONARY"],
}
JAVA_4_ENCODINGS = {
    **JAVA_3_ENCODINGS,
    "STRING": ["PLAIN", "DICTIONARY"],
    "BLOB": ["PLAIN"],
    "DATE": ["PLAIN", "RLE", "TS_2DIFF", "GORILLA", "CHIMP"],
    "TIMESTAMP": ["PLAIN", "RLE", "TS_2DIFF", "GORILLA", "CHIMP"],
}
COMMON_ENCODINGS = {kind: [e for e in names if e in JAVA_4_ENCODINGS[kind]] for kind, names in CPP_ENCODINGS.items()}
JAVA_COMPRESSORS = ["UNCOMPRESSED", "SNAPPY", "GZIP", "LZ4", "ZSTD", "LZMA2"]
ARROW = {
    "BOOLEAN": pa.bool_(),
    "INT32": pa.int32(),
    "INT64": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "TEXT": pa.string(),
    "STRING": pa.string(),
    "BLOB": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("ms"),
}


class Column:
    """A column of a random table: its declaration and one value (or None) per row."""

    def __init__(self, rng, name, kind, encoding, compression, rows, nulls):
        self.name, self.kind, self.compression = name, kind, compression
        # The 0.9 library calls its own form GORILLA; it cannot read a NaN back.
        self.encoding = "GORILLA" if encoding == "OLD_GORILLA" else encoding
        make = generator(rng, kind, encoding)
        present = [rng.random() >= nulls for _ in range(rows)]
        self.values = [make(i) if keep else None for i, keep in enumerate(present)]


def generator(rng, kind, encoding):
    """Values of a type that its encoding can hold exactly."""
    if kind == "BOOLEAN":
        return lambda i: rng.random() < 0.5
    if kind in ("INT32", "INT64", "TIMESTAMP"):
        bits = 31 if kind == "INT32" else 62
        if encoding == "REGULAR":
            start, step = rng.randrange(1000), rng.randrange(1, 9)
            return lambda i: start + step * i
        if encoding == "SPRINTZ":
            bits = min(bits, 20)
        if kind == "TIMESTAMP":
            return lambda i: rng.randrange(0, 1 << 41)
        width = rng.choice([1, 4, 12, bits])
        return lambda i: rng.randrange(-(1 << width), 1 << width)
    if kind in ("FLOAT", "DOUBLE"):
        if encoding in ("RLE", "TS_2DIFF", "RLBE"):
            # Two decimals are kept, or differences of floats; quarters are exact in both.
            return lambda i: rng.randrange(-400_000, 400_000) / 4
        if encoding == "SPRINTZ":
            level = float(rng.randrange(1, 1000))
            return lambda i: level
        odd = [0.0, -0.0, math.inf, -math.inf]
        if encoding not in ("GORILLA_V1", "OLD_GORILLA"):
            odd.append(math.nan)

        def number(i):
            value = rng.choice(odd) if rng.random() < 0.02 else rng.gauss(0, 10 ** rng.randrange(-3, 6))
            return struct.unpack("<f", struct.pack("<f", value))[0] if kind == "FLOAT" else value

        return number
    if kind in ("TEXT", "STRING"):
        words = ["", "a", "grün", "温度", "x" * rng.randrange(1, 300), "tab\tquote\"", "🌍"]
        return lambda i: rng.choice(words) + str(rng.randrange(50))
    if kind == "BLOB":
        return lambda i: bytes(rng.randrange(1, 256) for _ in range(rng.randrange(1, 20)))
    if kind == "DATE":
        return lambda i: EPOCH + datetime.timedelta(days=rng.randrange(-20_000, 40_000))
    raise AssertionError(kind)


def canonical(value, kind):
    """A form that compares equal exactly when the stored value is the same."""
    if value is None:
        return None
    if kind == "FLOAT":
        return "NaN" if value != value else struct.pack(">f", value).hex()
    if kind == "DOUBLE":
        return "NaN" if value != value else struct.pack(">d", value).hex()
    if kind in ("TEXT", "STRING", "BLOB"):
        return value.encode() if isinstance(value, str) else bytes(value)
    if kind == "DATE":
        return value.isoformat() if hasattr(value, "isoformat") else str(value)
    if kind == "TIMESTAMP":
        return int(value)
    return value


def finite(columns):
    """The package refuses to write infinities and some NaNs, though it reads them."""
    for column in columns:
        if column.kind in ("FLOAT", "DOUBLE"):
            column.values = [v if v is None or math.isfinite(v) else 0.5 for v in column.values]
    return columns


def random_times(rng, rows):
    step = rng.choice([1, 1000, 60_000])
    at = rng.choice([-5_000_000, 0, 1_700_000_000_000])
    times = []
    for _ in range(rows):
        at += step if rng.random() < 0.9 else rng.randrange(1, 10 * step + 1)
        times.append(at)
    return times


def random_columns(rng, encodings, compressors, rows, nulls):
    kinds = rng.sample(sorted(encodings), rng.randrange(1, len(encodings) + 1))
    return [
        Column(rng, f"s{i}_{kind.lower()}", kind, rng.choice(encodings[kind]), rng.choice(compressors), rows, nulls)
        for i, kind in enumerate(kinds)
    ]


def arrow_array(values, kind):
    if kind == "TIMESTAMP":
        return pa.array(values, pa.int64()).cast(pa.timestamp("ms"))
    return pa.array(values, ARROW[kind])


def write_arrow(path, times, columns, extra=()):
    fields = [pa.field("time", pa.timestamp("ms"), False)]
    arrays = [pa.array(times, pa.int64()).cast(pa.timestamp("ms"))]
    for name, values in extra:
        fields.append(pa.field(name, pa.string()))
        arrays.append(pa.array(values, pa.string()))
    for column in columns:
        metadata = {"tesselle:type": column.kind}
        fields.append(pa.field(column.name, ARROW[column.kind], metadata=metadata))
        arrays.append(arrow_array(column.values, column.kind))
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    with ipc.new_file(str(path), table.schema) as sink:
        sink.write_table(table, max_chunksize=777)


class Suite:
    def __init__(self, options):
        self.tess = options.tess
        self.work = pathlib.Path(options.work)
        self.java = options.java
        self.java3 = options.java3
        self.java4 = options.java4
        self.package = not options.no_package
        self.failures = 0

    def run_tess(self, *args):
        done = subprocess.run([self.tess, *map(str, args)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"tess {' '.join(map(str, args))}: {done.stderr.strip()}")

    def convert(self, rng, source, target, settings, into):
        """Writes the rows of an Arrow file; of many the second part is appended to the file of the first."""
        pairs = lambda names: [part for name in names for part in ("--set", f"{name}={settings[name]}")]
        with ipc.open_file(str(source)) as reader:
            table = reader.read_all()
        cut = table.num_rows
        if table.num_rows > 1 and rng.random() < 0.5:
            cut = rng.randrange(1, table.num_rows)
        first, second = self.work / "first.arrow", self.work / "second.arrow"
        for path, part in ((first, table.slice(0, cut)), (second, table.slice(cut))):
            with ipc.new_file(str(path), table.schema) as sink:
                sink.write_table(part, max_chunksize=777)
        self.run_tess("convert", first, target, "--force", "--into", into, *pairs(settings))
        if cut < table.num_rows:
            known = ("page_points", "group_bytes", "encodings", "compressions")
            self.run_tess("append", second, f"{target}#{into}", *pairs([name for name in known if name in settings]))

    def cat(self, file, table):
        out = self.work / "cat.arrow"
        self.run_tess("cat", file, "--table", table, "--as", "arrow", "-o", out, "--force")
        with ipc.open_file(str(out)) as reader:
            return reader.read_all()

    def compare(self, what, got, want):
        if got == want:
            return
        self.failures += 1
        if isinstance(got, str):
            print(f"FAIL {what}: {got}"[:900])
            return
        first = next(((a, b) for a, b in zip(got, want) if a != b), None)
        print(f"FAIL {what}: {len(got)} points for {len(want)}; first difference {first}"[:900])

    # What a side reads, as a sorted list of (time, value).

    def ours(self, table, column):
        name, kind = column
        values = table.column(name)
        if kind == "TIMESTAMP":
            values = values.cast(pa.int64())
        times = table.column("time").cast(pa.int64()).to_pylist()
        points = [(t, canonical(v, kind)) for t, v in zip(times, values.to_pylist()) if v is not None]
        return sorted(points, key=lambda p: p[0])

    @staticmethod
    def wanted(times, column):
        return [(t, canonical(v, column.kind)) for t, v in zip(times, column.values) if v is not None]

    # The package.

    def package_series(self, file, device, column):
        from tsfile import TsFileReader

        reader = TsFileReader(str(file))
        rows = reader.query_timeseries(device, [column.name], -(1 << 62), 1 << 62)
        points = []
        while rows.next():
            if not rows.is_null_by_index(2):
                points.append((rows.get_value_by_index(1), canonical(rows.get_value_by_index(2), column.kind)))
        reader.close()
        return points

    def write_tree(self, rng, version, encodings, compressors):
        """A random device through tess; gives what was written."""
        rows = rng.choice([1, 7, 500, 4000])
        times = random_times(rng, rows)
        columns = random_columns(rng, encodings, compressors, rows, rng.choice([0, 0.2]))
        aligned = rng.random() < 0.5
        source, target = self.work / "in.arrow", self.work / "out.tsfile"
        write_arrow(source, times, columns)
        settings = {
            "version": version,
            "aligned": str(aligned).lower(),
            "page_points": rng.choice([1, 64, 10_000]),
            "group_bytes": rng.choice([20_000, 64 << 20]),
            "degree": rng.choice([2, 256]),
            "encodings": ",".join(f"{c.name}:{c.encoding}" for c in columns),
            "compressions": ",".join(f"{c.name}:{c.compression}" for c in columns),
        }
        device = rng.choice(["d", "root.sg.d1", "root.a.b.c.d"])
        self.convert(rng, source, target, settings, device)
        # A series without a point does not exist, unless it is a column of an aligned device.
        columns = [c for c in columns if aligned or any(v is not None for v in c.values)]
        return target, device, times, columns, settings

    def tree_to_package(self, rng):
        target, device, times, columns, settings = self.write_tree(rng, 4, CPP_ENCODINGS, CPP_COMPRESSORS)
        table = self.cat(target, device) if columns else None
        for column in columns:
            what = f"the package reads {settings} {column.name}"
            want = self.wanted(times, column)
            try:
                got = self.package_series(target, device, column)
            except Exception as error:  # the package has a class of its own for each code
                got = repr(error)
            self.compare(what, got, want)
            self.compare("own " + what, self.ours(table, (column.name, column.kind)), want)

    def tree_to_java_new(self, rng, version, class_path, encodings):
        target, device, times, columns, settings = self.write_tree(rng, version, encodings, JAVA_COMPRESSORS)
        if not columns:
            return
        command = ["java", "-cp", class_path, "Series", target, device, *(c.name for c in columns)]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, encoding="utf-8")
        if done.returncode != 0:
            raise RuntimeError(f"{settings}: {done.stderr[-1500:]}")
        lines = [line.split("\t") for line in done.stdout.splitlines()]
        table = self.cat(target, device)
        for column in columns:
            got = [(int(f[1]), f[3]) for f in lines if f[0] == column.name]
            pairs = [(t, v) for t, v in zip(times, column.values) if v is not None]
            want = [(t, self.java_text(v, column.kind)) for t, v in pairs]
            self.compare(f"Java reads {settings} {column.name}", got, want)
            self.compare(f"own {settings}", self.ours(table, (column.name, column.kind)), self.wanted(times, column))

    def java_new_to_tree(self, rng, class_path, encodings):
        """A random device through a Java library of 1.x or 2.x; read by tess."""
        rows = rng.choice([1, 9, 700, 3000])
        times = random_times(rng, rows)
        if times[0] < 0:
            # The writer of 1.0 takes no times before 1970.
            times = [time - times[0] for time in times]
        columns = random_columns(rng, encodings, JAVA_COMPRESSORS, rows, rng.choice([0, 0.2]))
        columns = [c for c in columns if any(v is not None for v in c.values)]
        if not columns:
            return
        points, target = self.work / "rows.tsv", self.work / "java.tsfile"
        target.unlink(missing_ok=True)
        device, shape = rng.choice(["root.sg.d1", "root.a.b.c.d"]), rng.choice(["aligned", "ordinary"])
        text = lambda v, kind: "-" if v is None else self.java_text(v, kind)
        with open(points, "w", encoding="utf-8") as out:
            for c in columns:
                print("schema", c.name, c.kind, c.encoding, c.compression, sep="\t", file=out)
            for i, time in enumerate(times):
                print(time, *(text(c.values[i], c.kind) for c in columns), sep="\t", file=out)
        command = ["java", "-cp", class_path, "Rows", target, device, shape, points]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, encoding="utf-8")
        if done.returncode != 0:
            raise RuntimeError(f"{[(c.kind, c.encoding) for c in columns]}: {done.stderr[-1500:]}")
        table = self.cat(target, device)
        for column in columns:
            what = f"from Java, {shape}: {column.name} {column.encoding} {column.compression}"
            self.compare(what, self.ours(table, (column.name, column.kind)), self.wanted(times, column))
        self.run_tess("verify", target, "--deep")

    def table_to_others(self, rng):
        """A random table through tess; read by the package and by Java."""
        rows = rng.choice([1, 300, 3000])
        times = random_times(rng, rows)
        columns = random_columns(rng, COMMON_ENCODINGS, ["UNCOMPRESSED"], rows, rng.choice([0, 0.3]))
        tags = [(f"tag{i}", [rng.choice(["a", "b", None, "ü"]) for _ in range(rows)]) for i in range(rng.randrange(3))]
        source, target = self.work / "in.arrow", self.work / "out.tsfile"
        write_arrow(source, times, columns, tags)
        settings = {
            "model": "table",
            "tags": ",".join(name for name, _ in tags),
            "page_points": rng.choice([16, 10_000]),
            "group_bytes": rng.choice([20_000, 64 << 20]),
            "encodings": ",".join(f"{c.name}:{c.encoding}" for c in columns),
            "compression": rng.choice(CPP_COMPRESSORS),
        }
        self.convert(rng, source, target, settings, "weather")
        names = [name for name, _ in tags] + [c.name for c in columns]
        kinds = ["STRING" for _ in tags] + [c.kind for c in columns]
        lists = [values for _, values in tags] + [c.values for c in columns]
        if self.package:
            want = [(t, *(canonical(v[i], k) for v, k in zip(lists, kinds))) for i, t in enumerate(times)]
            self.compare(f"the package reads table {settings}", self.package_table(target, names, kinds), want)
        if self.java4:
            command = ["java", "-cp", self.java4, "Tables", target, "weather"]
            command += [f"{name}:{kind}" for name, kind in zip(names, kinds)]
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, encoding="utf-8")
            if done.returncode != 0:
                raise RuntimeError(f"{settings}: {done.stderr[-1500:]}")
            got = [tuple(line.split("\t")) for line in done.stdout.splitlines()]
            got.sort(key=lambda row: int(row[0]))
            cell = lambda v, k: "-" if v is None else v.isoformat() if k == "DATE" else self.java_text(v, k)
            want = [(str(t), *(cell(v[i], k) for v, k in zip(lists, kinds))) for i, t in enumerate(times)]
            self.compare(f"Java reads table {settings}", got, want)
        table = self.cat(target, "weather")
        for column in columns:
            self.compare(f"own table {settings}", self.ours(table, (column.name, column.kind)), self.wanted(times, column))

    @staticmethod
    def package_table(file, names, kinds):
        from tsfile import TsFileReader

        reader = TsFileReader(str(file))
        result = reader.query_table("weather", names, -(1 << 62), 1 << 62)
        rows = []
        while result.next():
            row = [result.get_value_by_index(1)]
            for i, kind in enumerate(kinds):
                empty = result.is_null_by_index(i + 2)
                row.append(None if empty else canonical(result.get_value_by_index(i + 2), kind))
            rows.append(tuple(row))
        reader.close()
        return sorted(rows, key=lambda row: row[0])

    def package_to_tree(self, rng):
        from tsfile import Compressor, Field, RowRecord, TimeseriesSchema, TSDataType, TSEncoding, TsFileWriter

        rows = rng.choice([1, 50, 2500])
        times = random_times(rng, rows)
        columns = finite(random_columns(rng, CPP_ENCODINGS, CPP_COMPRESSORS, rows, rng.choice([0, 0.2])))
        target = self.work / "package.tsfile"
        target.unlink(missing_ok=True)
        writer = TsFileWriter(str(target))
        device = "root.py.d0"
        columns = [c for c in columns if any(v is not None for v in c.values)]
        for c in columns:
            schema = TimeseriesSchema(c.name, TSDataType[c.kind], TSEncoding[c.encoding], Compressor[c.compression])
            writer.register_timeseries(device, schema)
        for i, time in enumerate(times):
            fields = [Field(c.name, c.values[i], TSDataType[c.kind]) for c in columns if c.values[i] is not None]
            if fields:
                writer.write_row_record(RowRecord(device, time, fields))
        writer.close()
        if not columns:
            return
        table = self.cat(target, device)
        for column in columns:
            what = f"from the package: {column.name} {column.encoding} {column.compression}"
            self.compare(what, self.ours(table, (column.name, column.kind)), self.wanted(times, column))

    def package_to_table(self, rng):
        from tsfile import ColumnCategory, ColumnSchema, TableSchema, Tablet, TSDataType, TsFileTableWriter

        rows = rng.choice([1, 400])
        times = random_times(rng, rows)
        columns = finite(random_columns(rng, CPP_ENCODINGS, ["UNCOMPRESSED"], rows, rng.choice([0, 0.3])))
        tags = [f"tag{i}" for i in range(rng.randrange(1, 3))]
        tag_values = [[rng.choice(["a", "b", "c"]) for _ in range(rows)] for _ in tags]
        target = self.work / "package.tsfile"
        target.unlink(missing_ok=True)
        schema = TableSchema(
            "weather",
            [ColumnSchema(t, TSDataType.STRING, ColumnCategory.TAG) for t in tags]
            + [ColumnSchema(c.name, TSDataType[c.kind], ColumnCategory.FIELD) for c in columns],
        )
        names = tags + [c.name for c in columns]
        kinds = [TSDataType.STRING for _ in tags] + [TSDataType[c.kind] for c in columns]
        lists = tag_values + [c.values for c in columns]
        # A tablet wants rows of a device together and in order.
        order = sorted(range(rows), key=lambda i: ([v[i] for v in tag_values], times[i]))
        tablet = Tablet(names, kinds, rows)
        for at, i in enumerate(order):
            tablet.add_timestamp(at, times[i])
            for name, values in zip(names, lists):
                if values[i] is not None:
                    tablet.add_value_by_name(name, at, values[i])
        writer = TsFileTableWriter(str(target), schema)
        writer.write_table(tablet)
        writer.close()
        table = self.cat(target, "weather")
        for column in columns:
            got = self.ours(table, (column.name, column.kind))
            self.compare(f"table from the package: {column.name}", got, self.wanted(times, column))

    # The 0.9 library.

    def java_points(self, mode, *args):
        command = ["java", "-cp", self.java, "Points", mode, *map(str, args)]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-2000:])
        return [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 4]

    @staticmethod
    def java_text(value, kind):
        if kind == "BOOLEAN":
            return str(value).lower()
        if kind == "FLOAT":
            return "7fc00000" if value != value else f"{struct.unpack('>I', struct.pack('>f', value))[0]:x}"
        if kind == "DOUBLE":
            return "7ff8000000000000" if value != value else f"{struct.unpack('>Q', struct.pack('>d', value))[0]:x}"
        if kind in ("TEXT", "STRING"):
            return value.encode().hex()
        if kind == "BLOB":
            return value.hex()
        if kind == "DATE":
            return value.strftime("%Y%m%d")
        return str(value)

    def java_columns(self, rng):
        rows = rng.choice([1, 9, 700, 3000])
        times = random_times(rng, rows)
        columns = random_columns(rng, JAVA_09_ENCODINGS, ["UNCOMPRESSED", "SNAPPY"], rows, rng.choice([0, 0.2]))
        for column in columns:
            if column.encoding == "REGULAR":
                column.values = [i * 3 for i in range(rows)]
        return times, columns

    def tree_to_java(self, rng):
        times, columns = self.java_columns(rng)
        source, target = self.work / "in.arrow", self.work / "v1.tsfile"
        write_arrow(source, times, columns)
        settings = {
            "version": 1,
            "page_points": rng.choice([1, 64, 10_000]),
            "group_bytes": rng.choice([20_000, 64 << 20]),
            "encodings": ",".join(f"{c.name}:{c.encoding}" for c in columns),
            "compressions": ",".join(f"{c.name}:{c.compression}" for c in columns),
        }
        device = rng.choice(["d", "root.sg.d1", "root.größe.温度"])
        self.convert(rng, source, target, settings, device)
        lines = self.java_points("read", target)
        # A device without a point does not exist.
        columns = [c for c in columns if any(v is not None for v in c.values)]
        table = self.cat(target, device) if columns else None
        for column in columns:
            got = [(int(f[2]), f[4]) for f in lines if f[0] == device and f[1] == column.name]
            pairs = [(t, v) for t, v in zip(times, column.values) if v is not None]
            want = [(t, self.java_text(v, column.kind)) for t, v in pairs]
            self.compare(f"0.9.3 reads {settings} {column.name} {column.encoding}", got, want)
            if pairs:
                self.compare("own v1", self.ours(table, (column.name, column.kind)), self.wanted(times, column))

    def java_to_tree(self, rng):
        times, columns = self.java_columns(rng)
        columns = [c for c in columns if any(v is not None for v in c.values)]
        points, target = self.work / "points.tsv", self.work / "java.tsfile"
        target.unlink(missing_ok=True)
        device = "root.sg.größe"
        with open(points, "w", encoding="utf-8") as out:
            for c in columns:
                print("schema", c.name, c.kind, c.encoding, c.compression, sep="\t", file=out)
            for c in columns:
                for t, v in zip(times, c.values):
                    if v is not None:
                        print(device, c.name, t, c.kind, self.java_text(v, c.kind), sep="\t", file=out)
        self.java_points("write", target, points)
        if not columns:
            return
        table = self.cat(target, device)
        for column in columns:
            what = f"from 0.9.3: {column.name} {column.encoding} {column.compression}"
            self.compare(what, self.ours(table, (column.name, column.kind)), self.wanted(times, column))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tess", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--java", help="class path of the 0.9.3 library and Points; without it: no such cases")
    parser.add_argument("--java3", help="class path of the 1.0.0 library and Series")
    parser.add_argument("--java4", help="class path of the 2.1.0 library, Series and Tables")
    parser.add_argument("--no-package", action="store_true", help="leave the PyPI package out")
    parser.add_argument("--cases", type=int, default=50)
    parser.add_argument("--quick", action="store_true", help="three cases of each kind, for every commit")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.quick:
        options.cases = 3
    suite = Suite(options)
    suite.work.mkdir(parents=True, exist_ok=True)
    kinds = []
    if suite.package:
        kinds += [
            ("version 4 to the package", suite.tree_to_package),
            ("version 4 from the package", suite.package_to_tree),
            ("table from the package", suite.package_to_table),
        ]
    if suite.java4:
        case = lambda rng: suite.tree_to_java_new(rng, 4, suite.java4, JAVA_4_ENCODINGS)
        kinds.append(("version 4 to Java 2.1", case))
        case = lambda rng: suite.java_new_to_tree(rng, suite.java4, JAVA_4_ENCODINGS)
        kinds.append(("version 4 from Java 2.1", case))
    if suite.package or suite.java4:
        kinds.append(("table to the package and Java 2.1", suite.table_to_others))
    if suite.java3:
        case = lambda rng: suite.tree_to_java_new(rng, 3, suite.java3, JAVA_3_ENCODINGS)
        kinds.append(("version 3 to Java 1.0", case))
        case = lambda rng: suite.java_new_to_tree(rng, suite.java3, JAVA_3_ENCODINGS)
        kinds.append(("version 3 from Java 1.0", case))
    if suite.java:
        kinds += [("version 1 to 0.9.3", suite.tree_to_java), ("version 1 from 0.9.3", suite.java_to_tree)]
    for name, case in kinds:
        before = suite.failures
        for i in range(options.cases):
            seed = f"{options.seed}/{name}/{i}"
            try:
                case(random.Random(seed))
            except Exception as error:
                suite.failures += 1
                print(f"FAIL case {seed}: {error}")
        print(f"{name}: {options.cases} cases, {suite.failures - before} failures", flush=True)
    sys.exit(1 if suite.failures else 0)


if __name__ == "__main__":
    main()
