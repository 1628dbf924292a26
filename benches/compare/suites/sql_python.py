"""One question of the suite `sql`: sql_python.py ENGINE QUESTION-FORMAT FOLDER TESS. The answer is the sum of the last column."""
import json
import pathlib
import sys

from engine_report import report
from sql_engines import datafusion, tess_csv, tess_seconds

# Each run opens its file again.
RUNS = 5

STATEMENTS = {
    "sum": "SELECT count(sensor), avg(speed), sum(temperature) FROM {t}",
    "group": "SELECT sensor, avg(temperature), max(speed) FROM {t} GROUP BY sensor",
    "filter": "SELECT count(*), sum(temperature) FROM {t} WHERE speed > 118",
    "top": "SELECT time, temperature FROM {t} ORDER BY speed DESC, time LIMIT 10",
    "range": "SELECT count(*), sum(temperature) FROM {t} WHERE {middle}",
    "bounds": "SELECT min(time), max(time), min(sensor), max(sensor), count(*) FROM {t}",
    "floats": "SELECT count(*), min(temperature), max(temperature) FROM {t}",
}
# A hundredth of the rows by their time; tensors are asked by position, for the same rows.
MIDDLE = "time >= to_timestamp_millis(1705000000000) AND time < to_timestamp_millis(1705100000000)"
MIDDLE_TET = "i0 >= 5000000 AND i0 < 5100000"


def tesselle(question, kind, folder, tess):
    file = folder / (f"rows.{kind}#root.bench" if kind == "tsfile" else f"rows.{kind}")
    sql = STATEMENTS[question].format(t=f"'{file}'", middle=MIDDLE_TET if kind == "tet" else MIDDLE)
    answer = sum(float(row[-1] or 0) for row in tess_csv(tess, [], sql))
    print(json.dumps({"seconds": tess_seconds(tess, [], sql, RUNS), "answer": answer}))


def rival(question, folder):
    sql = STATEMENTS[question].format(t="t", middle=MIDDLE)

    def run():
        batches = datafusion({"t": folder / "rows.parquet"}).sql(sql).collect()
        return sum(value or 0 for batch in batches for value in batch.column(-1).to_pylist())

    report(RUNS, run)


def main():
    engine, job, folder, tess = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4]
    question, kind = job.split("-")
    if engine == "tesselle":
        tesselle(question, kind, folder, tess)
    else:
        rival(question, folder)


main()
