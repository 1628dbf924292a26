//! Commands that add to a container that exists.

use crate::case::Case;
use crate::check;

#[test]
fn rows_are_added_or_not() {
    check(
        &[
            "convert rows.csv x.tatami",
            "convert rows.csv x.tsfile --columns time,a,b --into root.d",
            "convert rows.csv arr --to tiledb --set dims=time --set domain.time=0:999",
            "convert cells.npy x.tet",
            "tiledb create grid --dim y:INT32:0:99:4 --dim x:INT32:0:3:4 --attr value:FLOAT64",
            "tiledb write grid cells.npy --region 0:6,0:4",
        ],
        &[
            Case::once(
                "append more.csv x.tatami",
                &["x.tatami cat x.tatami --as csv", "x.tatami verify --deep x.tatami"],
                &["x.tatami"],
                "append more.csv x.tatami",
            ),
            Case::once(
                "append more.csv x.tsfile --columns time,a,b",
                &["x.tsfile cat x.tsfile --as csv", "x.tsfile verify --deep x.tsfile"],
                &["x.tsfile"],
                "append last.csv x.tsfile --columns time,a,b",
            ),
            Case::once(
                "append more.csv arr",
                &["arr cat arr --as csv", "arr verify --deep arr"],
                &["arr"],
                "append last.csv arr",
            ),
            Case::once(
                "append next.npy x.tet",
                &["x.tet cat x.tet --as csv", "x.tet verify --deep x.tet"],
                &["x.tet"],
                "append next.npy x.tet",
            ),
            Case::once(
                "append next.npy grid",
                &["grid cat grid --as csv", "grid verify --deep grid"],
                &["grid"],
                "append next.npy grid",
            ),
            Case::replacing(
                "tiledb write grid next.npy --region 2:4,0:4 --timestamp 2000000000000",
                &["grid cat grid --as csv", "grid verify --deep grid"],
                &["grid"],
            ),
        ],
    );
}
