"""One query of TPC-H: tpch_python.py ENGINE JOB FOLDER TESS. The answer is the sum of all numbers of the result."""
import json
import os
import pathlib
import sys

import sql_engines
from engine_report import report
from sql_engines import THREADS, tess_csv, tess_seconds

HERE = pathlib.Path(__file__).resolve().parent


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
    """The statement again and again in one session, as with the other engines."""
    seconds = tess_seconds(tess, ["-d", folder], sql, runs())
    print(json.dumps({"seconds": seconds, "answer": whole_process(folder, tess, sql)()}))


def whole_process(folder, tess, sql):
    """A process for each run, as on a command line."""
    return lambda: total(tess_csv(tess, ["-d", folder], sql))


def datafusion(folder, sql):
    context = sql_engines.datafusion({file.stem: file for file in sorted(folder.glob("*.parquet"))})
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
