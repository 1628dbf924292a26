//! Pushdown: for every fixture and many conditions, a scan with a condition returns the same rows as filtering
//! everything, and plans prune what they can.

use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use serde_json::Value as Json;
use tesselle_core::{Comparison, Known, OpenOptions, Predicate, Scalar, Scan};

use crate::support;
use crate::support::values::{cell, column};
use crate::support::{case, cases, expected, open, options, read};

/// A value of a column as a literal, if conditions support its type.
fn literal(array: &dyn Array, row: usize) -> Option<Scalar> {
    if array.is_null(row) {
        return None;
    }
    let value = cell(array, row);
    match array.data_type() {
        DataType::Float32 | DataType::Float64 => value.as_str()?.parse().ok().map(Scalar::Float),
        DataType::Utf8 => {
            use arrow_array::cast::AsArray;
            Some(Scalar::String(array.as_string::<i32>().value(row).to_owned()))
        }
        DataType::Boolean => Some(Scalar::Bool(value == 1)),
        data_type if data_type.is_integer() => {
            value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from)).map(Scalar::Int)
        }
        _ => None,
    }
}

fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let Some(first) = batches.first() else { return Vec::new() };
    let schema = first.schema();
    let columns: Vec<Vec<Json>> = schema.fields().iter().map(|field| column(batches, field.name())).collect();
    let count = columns.first().map_or(0, Vec::len);
    let row = |i: usize| columns.iter().map(|column| column[i].to_string()).collect::<Vec<_>>().join(" | ");
    let mut out: Vec<String> = (0..count).map(row).collect();
    out.sort();
    out
}

#[test]
fn conditions_pushed_down_keep_exactly_the_matching_rows() {
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut below = |bound: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % bound.max(1) as u64) as usize
    };
    for case in cases() {
        let expected = expected(&case);
        if expected["kind"] != "dense" && expected["kind"] != "sparse" {
            continue;
        }
        let options = options(&expected).with_raw(true).with_text_as_binary(true);
        let container = open(&case.join("array"), &options).unwrap();
        let whole = read(&*container, &Scan::all()).unwrap();
        let total: usize = whole.iter().map(RecordBatch::num_rows).sum();
        if total == 0 {
            continue;
        }
        let fields = whole[0].num_columns();
        let mut draw = || {
            let batch = &whole[below(whole.len())];
            let (at, row) = (below(fields), below(batch.num_rows()));
            if batch.num_rows() == 0 {
                return None;
            }
            let value = literal(&**batch.column(at), row)?;
            let ops = [
                Comparison::Eq,
                Comparison::Ne,
                Comparison::Lt,
                Comparison::Le,
                Comparison::Gt,
                Comparison::Ge,
            ];
            Some(Predicate::Compare {
                column: batch.schema().field(at).name().clone(),
                op: ops[below(6)],
                value,
            })
        };
        for round in 0..12 {
            let (Some(a), Some(b)) = (draw(), draw()) else { continue };
            let predicate = match round % 4 {
                0 => a,
                1 => Predicate::And(vec![a, b]),
                2 => Predicate::Or(vec![a, b]),
                _ => Predicate::And(vec![Predicate::Not(Box::new(a)), b]),
            };
            let bound = predicate.bind(&whole[0].schema()).unwrap();
            let kept: Vec<RecordBatch> = whole.iter().map(|batch| bound.filter(batch).unwrap()).collect();
            let got = read(&*container, &Scan::all().filter(predicate.clone())).unwrap();
            assert_eq!(rows(&got), rows(&kept), "{}: {predicate}", case.display());
        }
    }
}

#[test]
fn small_batches_contain_the_same_rows() {
    // Tiny tasks also force the splitting of space where many tiles overlap.
    for case in cases() {
        let expected = expected(&case);
        if expected["kind"] != "dense" && expected["kind"] != "sparse" {
            continue;
        }
        let options = options(&expected).with_raw(true).with_text_as_binary(true);
        let container = open(&case.join("array"), &options).unwrap();
        let whole = rows(&read(&*container, &Scan::all()).unwrap());
        if whole.len() > 2000 {
            continue;
        }
        for batch_rows in [1, 5, 64] {
            let scan = Scan::all().with_batch_rows(batch_rows);
            assert_eq!(rows(&read(&*container, &scan).unwrap()), whole, "{} {batch_rows}", case.display());
        }
    }
}

#[test]
fn columns_come_in_the_requested_order() {
    let case = case("sparse_2d_i64");
    let container = open(&case.join("array"), &OpenOptions::default()).unwrap();
    let table = container.default_table().unwrap();
    let mut names: Vec<String> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    names.reverse();
    let text = format!("\"{}\" >= 0", names.last().unwrap());
    for scan in [Scan::all(), Scan::all().filter(text.parse().unwrap())] {
        let batches = read(&*container, &scan.columns(names.clone())).unwrap();
        let got: Vec<String> =
            batches[0].schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(got, names);
    }
}

#[test]
fn tiles_outside_of_a_condition_are_not_planned() {
    for (name, condition) in [("sparse_rtree_levels", 0_i128), ("sparse_rtree_string", 1)] {
        let case = case(name);
        let container = open(&case.join("array"), &OpenOptions::default()).unwrap();
        let table = container.default_table().unwrap();
        let dim = table.schema().field(0).name().clone();
        let batches = read(&*container, &Scan::all()).unwrap();
        let value = literal(&**batches[0].column(0), 0).unwrap();
        let predicate = Predicate::Compare { column: dim, op: Comparison::Eq, value };
        let plan = table.plan(&Scan::all().filter(predicate)).unwrap();
        assert!(plan.pieces >= 20 && plan.pruned >= plan.pieces - 3, "{name} {condition}: {plan:?}");
    }
}

#[test]
fn the_array_face_reads_regions_as_rows_do() {
    for name in ["dense_2d_multi_fragment", "dense_3d_col", "dense_2d_partial_fill", "current_domain_dense"] {
        let case = case(name);
        let container = open(&case.join("array"), &OpenOptions::default()).unwrap();
        let table = container.default_table().unwrap();
        for attribute in table.array_columns() {
            let view = table.array(&attribute).unwrap();
            let text = vec!["1:"; view.shape().len()].join(",");
            let origin = view.origin();
            let starts: Vec<String> = origin.iter().map(|first| format!("{}:", first + 1)).collect();
            let region =
                starts.join(",").parse::<tesselle_core::Selection>().unwrap().resolve(&origin, view.shape());
            let region = region.unwrap();
            let cells = region.cells().unwrap() as usize;
            let mut bytes = vec![0; cells * view.dtype().size()];
            tesselle_core::array::read_region(&*view, &region, &mut bytes, &support::driver()).unwrap();
            let scan = Scan::all().columns([attribute.clone()]).select(starts.join(",").parse().unwrap());
            let batches = read(&*container, &scan).unwrap();
            let rows: Vec<u8> = batches
                .iter()
                .flat_map(|batch| {
                    let data = batch.column(0).to_data();
                    let size = view.dtype().size();
                    data.buffers()[0].as_slice()[data.offset() * size..][..data.len() * size].to_vec()
                })
                .collect();
            assert_eq!(bytes, rows, "{name} {attribute} {text}");
        }
    }
}

#[test]
fn sums_of_dense_tiles_are_known_only_if_no_run_can_saturate() {
    let case = case("dense_statistics_by_runs");
    let container = open(&case.join("array"), &options(&expected(&case))).unwrap();
    let stats = container.default_table().unwrap().stats_of(&["a", "b"]);
    for name in ["a", "b"] {
        let column = &stats.columns[name];
        assert_eq!(column.sum, Known::Absent, "{name}");
        assert_ne!(column.max, Known::Absent, "{name}");
    }
}
