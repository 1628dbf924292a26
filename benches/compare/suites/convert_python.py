"""One conversion: convert_python.py ENGINE FROM-TO FOLDER TESS. Tesselle converts in a process of its own, whose start counts;
pyarrow goes batch by batch."""
import json
import pathlib
import shutil
import subprocess
import sys
import time

BATCH = 65536
# For chunks in progress: far less than the table takes.
MEMORY = "256MiB"
SETTINGS = {
    # A tensor file has no times: the column is a vector of integers.
    "tet": ["--cast", "time=int64", "--set", "codec=zstd"],
    "tsfile": ["--into", "root.bench"],
}


def with_pyarrow(source, target, read, written):
    # Imported here: the memory of the process that calls `tess` counts too.
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    if source == "parquet":
        file = pq.ParquetFile(read)
        schema, batches = file.schema_arrow, file.iter_batches(batch_size=BATCH)
    elif source == "arrow":
        reader = pa.ipc.open_file(pa.memory_map(str(read)))
        schema, batches = reader.schema, (reader.get_batch(i) for i in range(reader.num_record_batches))
    else:
        batches = pc.open_csv(read)
        schema = batches.schema
    if target == "parquet":
        sink = pq.ParquetWriter(written, schema, compression="zstd", compression_level=3)
    elif target == "arrow":
        sink = pa.ipc.new_file(str(written), schema)
    else:
        sink = pc.CSVWriter(str(written), schema)
    rows = 0
    with sink:
        for batch in batches:
            sink.write_batch(batch) if target == "parquet" else sink.write(batch)
            rows += batch.num_rows
    return rows


def with_tess(tess, source, target, read, written):
    table = f"{read}#root.bench" if source == "tsfile" else read
    convert = [tess, "convert", table, written, "--json", "--memory-limit", MEMORY, *SETTINGS.get(target, [])]
    return json.loads(subprocess.run(convert, check=True, capture_output=True).stdout)["rows"]


def size(path):
    return sum(file.stat().st_size for file in path.rglob("*")) if path.is_dir() else path.stat().st_size


def main():
    engine, job, folder, tess = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4]
    source, target = job.split("-")
    # Each engine reads the same file; what Tesselle makes of the Parquet file is kept for the way back.
    read = folder / ("base.parquet" if source == "parquet" else f"made.{source}")
    kept = engine == "tesselle" and source == "parquet"
    written = folder / (f"made.{target}" if kept else f"{engine}-{job}.{target}")
    seconds, rows = [], 0
    for _ in range(2):
        if written.is_dir():
            shutil.rmtree(written)
        written.unlink(missing_ok=True)
        start = time.perf_counter()
        rows = with_tess(tess, source, target, read, written) if engine == "tesselle" else with_pyarrow(source, target, read, written)
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds, "answer": rows, "bytes": size(written)}))


main()
