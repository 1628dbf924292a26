"""The TsFile jobs, run by the PyPI package: the C++ library behind its Arrow faces.

    tsfile_python.py JOB FOLDER        prints {"seconds": […], "answer": …}

`make` writes the data of all engines: one raw little-endian file per column, and the words of the string columns.
"""
import json
import os
import pathlib
import sys
import time

from engine_report import sized

# The suite next to this file has the name of the package.
sys.path.pop(0)

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import tsfile
from tsfile import ColumnCategory, ColumnSchema, Compressor, TableSchema, TSDataType, TSEncoding, TsFileReader, TsFileWriter

DEVICES, ROWS, LONG = sized(100, 4), 10_000, sized(10_000_000, 100_000)
START, STEP = 1_700_000_000_000, 1000
WORDS = ["running", "idle", "starting", "stopping", "maintenance", "fault: overheated", "fault: no signal", "unknown"]
EVERYTHING = -(1 << 62), 1 << 62
# Column, TsFile type, encoding, numpy type of the raw file. Text is an index into WORDS.
MIX = [
    ("alarm", "BOOLEAN", "PLAIN", "u1"),
    ("state", "STRING", "PLAIN", "u1"),
    ("rpm", "INT32", "TS_2DIFF", "<i4"),
    ("pressure", "INT32", "TS_2DIFF", "<i4"),
    ("energy", "INT64", "TS_2DIFF", "<i8"),
    ("counter", "INT64", "TS_2DIFF", "<i8"),
    ("temperature", "FLOAT", "GORILLA", "<f4"),
    ("humidity", "FLOAT", "GORILLA", "<f4"),
    ("voltage", "DOUBLE", "GORILLA", "<f8"),
    ("current", "DOUBLE", "GORILLA", "<f8"),
]
SETS = {
    "mix": (MIX, DEVICES, ROWS, "SNAPPY"),
    "gorilla": ([("value", "DOUBLE", "GORILLA", "<f8")], 1, LONG, "UNCOMPRESSED"),
    "ts2diff": ([("value", "INT64", "TS_2DIFF", "<i8")], 1, LONG, "UNCOMPRESSED"),
}
ARROW = {"BOOLEAN": pa.bool_(), "INT32": pa.int32(), "INT64": pa.int64(), "FLOAT": pa.float32(), "DOUBLE": pa.float64()}


def make(folder):
    """Sensors as they are: slow waves with noise, few decimals, counters, rare states."""
    random = np.random.default_rng(11)

    def wave(n, level, swing, noise, decimals):
        i = np.arange(n)
        values = level + swing * np.sin(i / 977) + random.normal(0, noise, n)
        return np.round(values, decimals)

    for name, (columns, devices, rows, _) in SETS.items():
        n = devices * rows
        for column, kind, _, raw in columns:
            if kind == "BOOLEAN":
                values = random.random(n) < 0.02
            elif kind == "STRING":
                values = np.repeat(random.integers(0, len(WORDS), n // 50 + 1), 50)[:n]
            elif kind == "INT32":
                values = wave(n, 3000, 500, 20, 0)
            elif column in ("energy", "counter") or name == "ts2diff":
                values = np.cumsum(random.integers(0, 200, n))
            else:
                values = wave(n, 230, 10, 0.5, 2)
            values.astype(raw).tofile(folder / f"{name}-{column}.raw")
    (folder / "words.txt").write_text("\n".join(WORDS))


def base(folder, name):
    """The rows of each device as Arrow, in the order of the table's columns."""
    columns, devices, rows, _ = SETS[name]
    # The package takes times as plain integers.
    times = pa.array(START + STEP * np.arange(rows, dtype="<i8"))
    raw = {column: np.fromfile(folder / f"{name}-{column}.raw", raw) for column, _, _, raw in columns}
    for device in range(devices):
        part = slice(device * rows, (device + 1) * rows)
        arrays = [times, pa.array([f"d{device:03}"] * rows)]
        for column, kind, _, _ in columns:
            values = raw[column][part]
            if kind == "STRING":
                arrays.append(pa.DictionaryArray.from_arrays(values.astype("i4"), WORDS).cast(pa.string()))
            else:
                arrays.append(pa.array(values.astype(bool) if kind == "BOOLEAN" else values, ARROW[kind]))
        yield pa.RecordBatch.from_arrays(arrays, ["time", "device", *(c[0] for c in columns)])


def schema(name):
    fields = [ColumnSchema(column, TSDataType[kind], ColumnCategory.FIELD) for column, kind, _, _ in SETS[name][0]]
    return TableSchema("plant", [ColumnSchema("device", TSDataType.STRING, ColumnCategory.TAG), *fields])


def configure(name):
    """Encodings and compressors are those of the whole process; pages have as many points as in the other engines."""
    settings = {"page_writer_max_point_num_": 10_000, "page_writer_max_memory_bytes_": 1 << 20}
    settings |= {f"{kind.lower()}_encoding_type_": TSEncoding[encoding] for _, kind, encoding, _ in SETS[name][0]}
    compressor = Compressor[SETS[name][3]]
    settings |= {"default_compression_type_": compressor, "time_compress_type_": compressor}
    settings |= {"time_encoding_type_": TSEncoding.TS_2DIFF}
    tsfile.set_tsfile_config(settings)


def write(path, name, batches):
    writer = TsFileWriter(str(path))
    configure(name)
    writer.register_table(schema(name))
    for batch in batches:
        writer.write_arrow_batch("plant", batch, 0)
    writer.close()
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def batches(path, name, between):
    """The rows of the table, batch by batch."""
    reader = TsFileReader(str(path))
    columns = ["device", *(c[0] for c in SETS[name][0])]
    result = reader.query_table("plant", columns, *between, None, 65_536)
    while (batch := result.read_arrow_batch()) is not None:
        yield batch
    result.close()
    reader.close()


def checksum(batch, name):
    total = float(batch.num_rows)
    for column, kind, _, _ in SETS[name][0]:
        values = batch.column(column)
        if kind == "STRING":
            values = pc.utf8_length(values)
        total += float(pc.sum(pc.cast(values, pa.float64())).as_py() or 0.0)
    return total


def statistics(path):
    """Count, min and max of each column over all devices."""
    reader = TsFileReader(str(path))
    counts, bounds = 0, {}
    for group in reader.get_timeseries_metadata().values():
        for series in group.timeseries:
            s = series.statistic
            counts += s.row_count
            if hasattr(s, "min_int64"):
                low, high = s.min_int64, s.max_int64
            elif hasattr(s, "min_float64"):
                low, high = s.min_float64, s.max_float64
            else:
                continue
            known = bounds.get(series.measurement_name, (low, high))
            bounds[series.measurement_name] = min(known[0], low), max(known[1], high)
    reader.close()
    return counts + sum(low + high for low, high in bounds.values())


def report(runs, work, answer, before=lambda: None):
    seconds = []
    for _ in range(runs):
        before()
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds, "answer": answer}))


def main():
    job, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if job == "make":
        make(folder)
        return
    verb, name = job.split("-")
    path = folder / f"pypi-{name}.tsfile"
    _, devices, rows, _ = SETS[name]
    if verb == "write":
        data = list(base(folder, name))
        report(3, lambda: write(path, name, data), 0.0, lambda: path.unlink(missing_ok=True))
        return
    if verb == "stats":
        report(5, lambda: statistics(path), statistics(path))
        return
    middle = START + STEP * (rows // 2)
    between = EVERYTHING if verb == "read" else (middle, middle + STEP * (rows // 100) - STEP)
    # The answer is found in a run of its own, so that no engine is timed with its way to add up numbers.
    answer = sum(checksum(batch, name) for batch in batches(path, name, between))
    report(3, lambda: sum(batch.num_rows for batch in batches(path, name, between)), answer)


if __name__ == "__main__":
    main()
