"""Conversions by pyarrow, batch by batch: convert_python.py FROM-TO FOLDER."""
import json
import pathlib
import sys
import time

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

BATCH = 65536


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
    print(json.dumps({"seconds": seconds, "answer": rows, "bytes": written.stat().st_size}))


main()
