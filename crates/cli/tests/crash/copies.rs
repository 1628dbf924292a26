//! Statements that write files.

use crate::case::Case;
use crate::check;

#[test]
fn a_copy_gives_the_old_file_or_the_new_one() {
    check(
        &[
            "convert few.csv x.parquet",
            "convert few.csv x.tatami",
            "convert few.csv x.tsfile",
            "convert few.csv x.tiledb --set dims=time",
            "convert next.npy x.zarr",
            "convert cells.npy cells.tiledb",
            "convert next.npy copy.tiledb",
            "convert few.csv x.jsonl",
        ],
        &[
            Case::replacing(
                "sql `COPY (SELECT time, a FROM 'rows.csv' ORDER BY a) TO 'x.parquet' OPTIONS (overwrite 'true')`",
                &["x.parquet cat x.parquet --as csv"],
                &["x.parquet"],
            ),
            Case::replacing(
                "sql `COPY (SELECT time, a, c FROM 'rows.csv' ORDER BY a, time) TO 'x.tatami' OPTIONS (overwrite 'true')`",
                &["x.tatami cat x.tatami --as csv", "x.tatami verify --deep x.tatami"],
                &["x.tatami"],
            ),
            Case::replacing(
                "sql `COPY (SELECT time, a * 2 AS a FROM 'rows.csv') TO 'x.tsfile' OPTIONS (overwrite 'true', 'time' 'time')`",
                &["x.tsfile cat x.tsfile --as csv", "x.tsfile verify --deep x.tsfile"],
                &["x.tsfile"],
            ),
            Case::replacing(
                "sql `COPY (SELECT time, b + 1 AS b FROM 'rows.csv') TO 'x.tiledb' OPTIONS (overwrite 'true', 'dims' 'time')`",
                &["x.tiledb cat x.tiledb --as csv", "x.tiledb verify --deep x.tiledb"],
                &["x.tiledb"],
            ),
            Case::replacing(
                "sql `COPY 'cells.npy' TO 'x.zarr' OPTIONS (overwrite 'true')`",
                &["x.zarr cat x.zarr --as csv"],
                &["x.zarr"],
            ),
            // A whole container, fragment by fragment.
            Case::replacing(
                "sql `COPY 'cells.tiledb' TO 'copy.tiledb' OPTIONS (overwrite 'true')`",
                &["copy.tiledb cat copy.tiledb --as csv", "copy.tiledb verify --deep copy.tiledb"],
                &["copy.tiledb"],
            ),
            Case::replacing(
                "sql `SELECT a, b FROM 'rows.csv' ORDER BY b, a` --as jsonl -o x.jsonl --force",
                &["x.jsonl cat x.jsonl --as csv"],
                &["x.jsonl"],
            ),
        ],
    );
}
