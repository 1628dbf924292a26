"""One query of TPC-H: tpch_python.py ENGINE JOB FOLDER TESS. The answer is the sum of all numbers of the result."""
import csv
import io
import os
import pathlib
import subprocess
import sys

from engine_report import report

HERE = pathlib.Path(__file__).resolve().parent
THREADS = 2
RUNS = 3


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
    work = tesselle(folder, tess, sql) if engine == "tesselle" else globals()[engine](folder, sql)
    report(1 if os.environ.get("COMPARE_TINY") else RUNS, work)


if __name__ == "__main__":
    main()
