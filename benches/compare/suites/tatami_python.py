"""The tatami jobs, run by pyarrow on Parquet files of its own.

    tatami_python.py JOB LEVEL FOLDER        prints {"seconds": […], "answer": …} and the other results of the job
"""
import json
import os
import pathlib
import sys
import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine_report import report

FEW = 20        # the slow jobs do fewer of the same


def digest(table):
    """String lengths and the numbers themselves, as in the other engines."""
    total = 0.0
    for column in table.columns:
        if pa.types.is_timestamp(column.type):
            total += pc.sum(pc.divide(column.cast(pa.int64()), 1_000_000)).as_py() or 0
        elif pa.types.is_integer(column.type):
            total += pc.sum(column).as_py() or 0
        else:
            total += pc.sum(pc.binary_length(column)).as_py() or 0
    return total


def report_each(items, work):
    each, answer = [], 0.0
    for item in items:
        start = time.perf_counter()
        answer += work(item)
        each.append(time.perf_counter() - start)
    p99 = sorted(each)[len(each) * 99 // 100]
    print(json.dumps({"seconds": [sum(each)], "answer": float(answer), "done": len(items), "p99": p99}))


def lines(folder, name):
    return (folder / name).read_text().splitlines()


def main():
    job, level, folder = sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3])
    path = folder / f"pyarrow-{level}.parquet"
    if job == "write":
        table = pa.ipc.open_file(folder / "documents.arrow").read_all()
        path.unlink(missing_ok=True)
        start = time.perf_counter()
        pq.write_table(table, path, compression="zstd", compression_level=level)
        with open(path) as file:
            os.fsync(file.fileno())
        seconds = time.perf_counter() - start
        print(json.dumps({"seconds": [seconds], "answer": 0.0, "bytes": path.stat().st_size}))
    elif job in ("scan1", "scan2", "scanall"):
        columns = {"scan1": ["url"], "scan2": ["url", "status"], "scanall": None}[job]
        report(3, lambda: digest(pq.read_table(path, columns=columns)))
    elif job == "host":
        host = lines(folder, "host.txt")[0]
        report(3, lambda: digest(pq.read_table(path, columns=["url", "title"], filters=[("host", "==", host)])))
    elif job == "status":
        report(3, lambda: digest(pq.read_table(path, columns=["url"], filters=[("status", "==", 404)])))
    elif job == "lookup":
        keys = lines(folder, "keys.txt")[:FEW]
        report_each(keys, lambda key: pq.read_table(path, columns=["status"], filters=[("url", "==", key)]).num_rows)
    elif job == "blob":
        # The reader has no way to fetch a single row: the row group's column is read and the row taken.
        file = pq.ParquetFile(path)
        ends, rows = [], 0
        for group in range(file.num_row_groups):
            rows += file.metadata.row_group(group).num_rows
            ends.append(rows)

        def fetch(row):
            group = next(g for g, end in enumerate(ends) if row < end)
            start = ends[group - 1] if group else 0
            return digest(file.read_row_group(group, columns=["body"]).slice(row - start, 1))

        report_each([int(row) for row in lines(folder, "rows.txt")[:5]], fetch)
    else:
        sys.exit(f"pyarrow has no job {job}")


if __name__ == "__main__":
    main()
