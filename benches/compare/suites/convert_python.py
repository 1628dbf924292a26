"""Conversions by pyarrow, batch by batch: convert_python.py FROM-TO FOLDER; the table itself: make FOLDER ROWS."""
import json
import pathlib
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

BATCH = 65536


def make(folder, rows):
    schema = pa.schema([("time", pa.timestamp("ms")), ("sensor", pa.int32()), ("temperature", pa.float64()), ("speed", pa.float32())])
    rng = np.random.default_rng(1)
    with pq.ParquetWriter(folder / "base.parquet", schema, compression="zstd") as writer:
        for start in range(0, rows, 1_000_000):
            i = np.arange(start, min(start + 1_000_000, rows))
            columns = [
                pa.array(1_700_000_000_000 + i * 1000, pa.int64()).cast(pa.timestamp("ms")),
                pa.array((i % 97).astype("i4")),
                pa.array(20 + 5 * np.sin(i / 5000) + rng.normal(0, 0.1, len(i)).round(2)),
                pa.array(rng.integers(0, 1200, len(i)).astype("f4") / 10),
            ]
            writer.write_batch(pa.record_batch(columns, schema=schema), row_group_size=1_000_000)


def batches(kind, path):
    if kind == "parquet":
        file = pq.ParquetFile(path)
        return file.schema_arrow, file.iter_batches(batch_size=BATCH)
    if kind == "arrow":
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        return reader.schema, (reader.get_batch(i) for i in range(reader.num_record_batches))
    reader = pc.open_csv(path)
    return reader.schema, iter(reader)


def sink(kind, path, schema):
    if kind == "parquet":
        return pq.ParquetWriter(path, schema, compression="zstd", compression_level=3)
    if kind == "arrow":
        return pa.ipc.new_file(str(path), schema)
    return pc.CSVWriter(str(path), schema)


def main():
    job, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if job == "make":
        return make(folder, int(sys.argv[3]))
    source, target = job.split("-")
    # Each engine reads the same file; the CSV and Arrow files are those that Tesselle made.
    read = folder / ("base.parquet" if source == "parquet" else f"made.{source}")
    seconds, rows = [], 0
    for _ in range(2):
        written = folder / f"pyarrow-{job}.{target}"
        written.unlink(missing_ok=True)
        start = time.perf_counter()
        schema, stream = batches(source, read)
        rows = 0
        with sink(target, written, schema) as out:
            for batch in stream:
                out.write_batch(batch) if target == "parquet" else out.write(batch)
                rows += batch.num_rows
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds, "answer": rows}))


main()
