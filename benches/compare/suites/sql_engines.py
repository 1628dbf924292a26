"""How the suites `sql` and `tpch` ask the engines that answer SQL."""
import csv
import io
import re
import subprocess

THREADS = 2


def tess_csv(tess, options, sql):
    """The rows of an answer of `tess`, as strings, in a process of its own."""
    command = [tess, "sql", *options, sql, "--as", "csv", "--threads", str(THREADS)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return list(csv.reader(io.StringIO(out)))[1:]


def tess_seconds(tess, options, sql, runs):
    """The seconds that the shell of `tess` shows for a statement that it runs again and again, as the other engines do."""
    command = [tess, "sql", *options, "--threads", str(THREADS), "--rows", "1000000", ";\n".join([sql] * runs)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    times = re.findall(r" in ([0-9.]+) (ms|s)$", shown, re.MULTILINE)
    seconds = [float(time) / (1000 if unit == "ms" else 1) for time, unit in times]
    assert len(seconds) == runs, shown
    return seconds


def datafusion(tables):
    """A session of DataFusion over Parquet files by name."""
    from datafusion import SessionConfig, SessionContext

    context = SessionContext(SessionConfig().with_target_partitions(THREADS))
    for name, file in tables.items():
        context.register_parquet(name, str(file))
    return context
