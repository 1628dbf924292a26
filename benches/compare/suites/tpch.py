"""tpch: the 22 queries of TPC-H through `tess sql` on Parquet, tatami and TileDB, DuckDB and DataFusion on Parquet."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


class Suite:
    """The jobs: one per query. The data is made by tpchgen-cli, from the package index. `tess` counts the start of a process
    for each run; the other engines run in one."""

    SCALE = "1"
    TINY = {"SCALE": "0.01"}
    ENGINES = ("tesselle", "tesselle tatami", "tesselle tiledb", "datafusion", "duckdb", "tess", "tess tatami")

    def __init__(self, folder, release):
        self.folder = folder
        self.tess = pathlib.Path(os.environ.get("TESS", release / "tess"))

    def prepare(self, _jobs):
        parquet = self.folder / "parquet"
        if not (parquet / "supplier.parquet").exists():
            generate = [pathlib.Path(sys.executable).parent / "tpchgen-cli", "parquet", "-s", self.SCALE, "-o", parquet]
            subprocess.run(generate, check=True)
        for name, ending in (("tatami", "tatami"), ("tiledb", "tdb")):
            for table in TABLES:
                target = self.folder / name / f"{table}.{ending}"
                if not target.exists():
                    target.parent.mkdir(exist_ok=True)
                    source = parquet / f"{table}.parquet"
                    subprocess.run([self.tess, "convert", source, target, "--to", name], check=True, stderr=subprocess.DEVNULL)

    def jobs(self):
        for number in range(1, 23):
            yield f"q{number}", f"Q{number}", None

    def command(self, engine, job):
        kind = engine.split()[-1] if " " in engine else "parquet"
        driver = engine.split()[0]
        return [sys.executable, HERE / "tpch_python.py", driver, job, self.folder / kind, self.tess]
