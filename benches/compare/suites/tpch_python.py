"""One query of TPC-H: tpch_python.py ENGINE JOB FOLDER TESS. The answer is the sum of all numbers of the result."""
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys

from engine_report import report

HERE = pathlib.Path(__file__).resolve().parent
THREADS = 2


def runs():
    return 1 if os.environ.get("COMPARE_TINY") else 3


def query(job):
    parts = (HERE / "tpch_queries.sql").read_text().split("\n-- ")
    return next(part.split("\n", 1)[1] for part in parts if part.startswith(f"{job}\n"))


def total(rows):
    """Strings count by their length, numbers by their value."""
    sum_ = 0.0
    for row in rows:
        for value in row:
            try:
                sum_ += float(value)
            except (TypeError, ValueError):
                sum_ += len(str(value or ""))
    return sum_


def tesselle(folder, tess, sql):
    """The statement again and again in one session, as with the other engines: reports the times that the shell shows."""
    command = [tess, "sql", "-d", folder, "--threads", str(THREADS)]
    shown = subprocess.run([*command, "--rows", "1000000", ";\n".join([sql] * runs())], check=True, capture_output=True, text=True).stderr
    times = re.findall(r" in ([0-9.]+) (ms|s)$", shown, re.MULTILINE)
    seconds = [float(time) / (1000 if unit == "ms" else 1) for time, unit in times]
    print(json.dumps({"seconds": seconds, "answer": whole_process(folder, tess, sql)()}))


def whole_process(folder, tess, sql):
    """A process for each run, as on a command line."""
    command = [tess, "sql", "-d", folder, sql, "--as", "csv", "--threads", str(THREADS)]

    def run():
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return total(list(csv.reader(io.StringIO(out)))[1:])

    return run


def datafusion(folder, sql):
    from datafusion import SessionConfig, SessionContext

    context = SessionContext(SessionConfig().with_target_partitions(THREADS))
    for file in sorted(folder.glob("*.parquet")):
        context.register_parquet(file.stem, str(file))
    return lambda: total(list(row.values()) for batch in context.sql(sql).collect() for row in batch.to_pylist())


def duckdb(folder, sql):
    import duckdb as engine

    connection = engine.connect(config={"threads": THREADS})
    for file in sorted(folder.glob("*.parquet")):
        connection.execute(f"CREATE VIEW {file.stem} AS SELECT * FROM '{file}'")
    return lambda: total(connection.execute(sql).fetchall())


def main():
    engine, job, folder, tess = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4]
    sql = query(job)
    if engine == "tesselle":
        tesselle(folder, tess, sql)
    else:
        report(runs(), whole_process(folder, tess, sql) if engine == "tess" else globals()[engine](folder, sql))


if __name__ == "__main__":
    main()
