"""The table of the suites `convert` and `sql`: rows_python.py FILE.parquet ROWS."""
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

STEP = 1_000_000


def main():
    path, rows = sys.argv[1], int(sys.argv[2])
    schema = pa.schema([("time", pa.timestamp("ms")), ("sensor", pa.int32()), ("temperature", pa.float64()), ("speed", pa.float32())])
    rng = np.random.default_rng(1)
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_index=True) as writer:
        for start in range(0, rows, STEP):
            i = np.arange(start, min(start + STEP, rows))
            columns = [
                pa.array(1_700_000_000_000 + i * 1000, pa.int64()).cast(pa.timestamp("ms")),
                pa.array((i % 97).astype("i4")),
                pa.array(20 + 5 * np.sin(i / 5000) + rng.normal(0, 0.1, len(i)).round(2)),
                pa.array(rng.integers(0, 1200, len(i)).astype("f4") / 10),
            ]
            writer.write_batch(pa.record_batch(columns, schema=schema), row_group_size=STEP)


main()
