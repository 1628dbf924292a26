//! Every golden file, read through both views and compared with its expected contents.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use serde_json::{Value, json};
use tesselle_core::array::{contiguous, read_region};
use tesselle_core::driver::{Order, scan};
use tesselle_core::testing::golden::compared;
use tesselle_core::{Container, Depth, Region, Report, Scan, Selection, Severity};
use tesselle_tet::File;

use crate::golden;
use crate::golden::{Case, bytes_of, driver, dtype_of, number, sha256};

/// Runs `check` on every case, and reports all that fail at once.
fn every_case(check: impl Fn(&Case) -> Result<(), String>) {
    let cases = golden::cases();
    let mut failed = Vec::new();
    for case in &cases {
        match check(case) {
            Ok(()) => compared("tet", &case.path),
            Err(why) => failed.push(format!("{}: {why}", case.name)),
        }
    }
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), cases.len(), failed.join("\n"));
}

fn same(what: &str, got: &Value, want: &Value) -> Result<(), String> {
    if got == want { Ok(()) } else { Err(format!("{what}: {got}, expected {want}")) }
}

#[test]
fn bad_files_are_refused_for_the_right_reason() {
    every_case(|case| match (case.opens(), case.open()) {
        (true, Ok(_)) => Ok(()),
        (true, Err(error)) => Err(error.to_string()),
        (false, Ok(_)) => Err("it opens".into()),
        (false, Err(error)) => {
            let places =
                error.byte_offset().is_some() && error.piece_name().is_some() && error.file_name().is_some();
            if !places || error.kind().exit_code() != 1 {
                return Err(format!("no place or wrong kind: {error}"));
            }
            same("class", &error.class_name().into(), &case.expected["error_class"])
        }
    });
}

#[test]
fn catalogs_match_the_files() {
    every_case(|case| {
        let Ok(file) = case.open() else { return Ok(()) };
        let info = file.describe().map_err(|e| e.to_string())?.to_json();
        let want = &case.expected;
        same("version", &info["version"], &json!("1"))?;
        for (got, want) in golden::pairs(&info["tables"], &want["datasets"])? {
            same("name", &got["name"], &want["name"])?;
            same("shape", &got["shape"], &want["shape"])?;
            same("chunk_shape", &got["chunk_shape"], &want["chunk_shape"])?;
            if want["dtype"] != "?" {
                same("dtype", &got["dtype"], &want["dtype"])?;
            }
        }
        same("execution", &info["execution"], &want["execution"])?;
        if let Some(history) = want["history"].as_array() {
            for (got, want) in golden::pairs(&info["history"], &json!(history))? {
                for key in ["op", "source", "at"] {
                    same(key, &got[key], &want[key])?;
                }
            }
        }
        if want.get("metadata").is_some() {
            golden::contains("metadata", &info["metadata"], &want["metadata"])?;
        }
        if let Some(sum) = want.get("metadata_canonical_sha256") {
            let canonical = golden::canonical(&info["metadata"]).to_string();
            same("metadata", &json!(sha256(canonical.as_bytes())), sum)?;
        }
        let chunks = file.chunks(None).map_err(|e| e.to_string())?;
        assert_eq!(file.chunk_count(), Some(chunks.len() as u64));
        assert!(file.chunks(Some(1)).unwrap().len() <= 1);
        if want.get("chunks").is_none() {
            return same("chunk count", &json!(chunks.len()), &want["chunk_count"]);
        }
        for (got, want) in golden::pairs(&json!(chunks), &want["chunks"])? {
            let codec = if want["codec"] == 1 { "zstd" } else { "raw" };
            same("codec", &got["codec"], &json!(codec))?;
            for (ours, theirs) in [
                ("dataset_id", "dataset_id"),
                ("chunk_index", "chunk_index"),
                ("offset", "payload_offset"),
                ("raw_bytes", "raw_byte_len"),
                ("stored_bytes", "stored_byte_len"),
            ] {
                same(ours, &got[ours], &want[theirs])?;
            }
        }
        Ok(())
    });
}

#[test]
fn tensors_contain_the_written_data() {
    every_case(|case| {
        let Ok(file) = case.open() else { return Ok(()) };
        for (id, dataset) in case.datasets().iter().enumerate() {
            let read = golden::tensor(&file, id);
            if dataset.get("read_error").is_some() {
                let error = read.err().ok_or("it reads")?;
                // A frame that decodes to more than its size is detected before its length is.
                if (error.class_name(), &dataset["read_error"])
                    != ("zstd_decode", &json!("decoded_length_mismatch"))
                {
                    same("class", &error.class_name().into(), &dataset["read_error"])?;
                }
                if error.kind().exit_code() != 1 {
                    return Err(format!("exit code of {error}"));
                }
                continue;
            }
            let bytes = read.map_err(|e| format!("{}: {e}", dataset["name"]))?;
            same("sha256", &json!(sha256(&bytes)), &dataset["sha256_le"])?;
            let shape: Vec<u64> = serde_json::from_value(dataset["shape"].clone()).unwrap();
            strided(&file, id, &shape, &bytes)?;
        }
        Ok(())
    });
}

/// A region with steps, compared with the whole tensor.
fn strided(file: &File, id: usize, shape: &[u64], whole: &[u8]) -> Result<(), String> {
    if shape.contains(&0) {
        return Ok(());
    }
    let text: Vec<String> = shape.iter().map(|n| format!("{}:{n}:2", u64::min(1, n - 1))).collect();
    let selection: Selection = text.join(",").parse().unwrap();
    let region = selection.resolve(&vec![0; shape.len()], shape).unwrap();
    let array = file.array(id).map_err(|e| e.to_string())?;
    let size = array.dtype().size();
    let want = golden::select(whole, shape, &region, size);
    let mut got = vec![0; want.len()];
    read_region(&*array, &region, &mut got, &driver()).map_err(|e| e.to_string())?;
    if got != want {
        return Err(format!("slice {} of dataset {id} differs", text.join(",")));
    }
    let table = file.table_at(id).map_err(|e| e.to_string())?;
    let rows = scan(&*table, &Scan::all().select(selection).columns(["value"]), &driver(), Order::Plan);
    let batches: Result<Vec<_>, _> = rows.map_err(|e| e.to_string())?.collect();
    let got: Vec<u8> =
        batches.map_err(|e| e.to_string())?.iter().flat_map(|b| bytes_of(b.column(0))).collect();
    if got == want { Ok(()) } else { Err(format!("scan of slice {} differs", text.join(","))) }
}

#[test]
fn tables_list_positions_and_values_row_major() {
    every_case(|case| {
        let Ok(file) = case.open() else { return Ok(()) };
        for (id, dataset) in case.datasets().iter().enumerate() {
            let Some(values) = dataset["values"].as_array() else { continue };
            let table = file.table_at(id).map_err(|e| e.to_string())?;
            let schema = table.schema();
            assert_eq!(schema.fields().last().unwrap().name(), "value");
            assert_eq!(schema.field(schema.fields().len() - 1).data_type(), &dtype_of(dataset).arrow());
            let shape: Vec<u64> = serde_json::from_value(dataset["shape"].clone()).unwrap();
            let rows = scan(&*table, &Scan::all().with_batch_rows(7), &driver(), Order::Plan).unwrap();
            let mut row = 0;
            for batch in rows {
                let batch = batch.map_err(|e| e.to_string())?;
                for i in 0..batch.num_rows() {
                    let mut rest = row;
                    for (axis, extent) in shape.iter().enumerate().rev() {
                        let at = batch.column(axis).as_primitive::<Int64Type>().value(i);
                        assert_eq!(at, (rest % extent) as i64, "{} axis {axis} row {row}", case.name);
                        rest /= extent;
                    }
                    let got = number(batch.column(shape.len()), i);
                    let want = &values[row as usize];
                    // The parser of the expectations may be off by a bit; the hash of the tensor is exact.
                    let near = |a: f64, b: f64| (a - b).abs() <= a.abs() * 1e-15;
                    if !got.as_f64().zip(want.as_f64()).is_some_and(|(a, b)| near(a, b)) {
                        same("value", &got, want)?;
                    }
                    row += 1;
                }
            }
            same("rows", &json!(row), &json!(values.len()))?;
        }
        Ok(())
    });
}

#[test]
fn verification_agrees_with_the_original() {
    every_case(|case| {
        let Ok(file) = case.open() else { return Ok(()) };
        let mut report = Report::new(Depth::Deep);
        file.verify(Depth::Deep, &driver(), &mut report).map_err(|e| e.to_string())?;
        let kinds = |severity| {
            let findings = report.findings().iter().filter(move |f| f.severity == severity);
            findings.map(|f| f.kind).collect::<Vec<_>>()
        };
        let verdict = &case.expected["verify_deep"];
        same("ok", &json!(report.ok()), &verdict["ok"])
            .map_err(|e| format!("{e}: {:?}", report.findings()))?;
        for (severity, key) in [(Severity::Error, "failed_checks"), (Severity::Warning, "warnings")] {
            let found = kinds(severity);
            for kind in verdict[key].as_array().unwrap() {
                if !found.contains(&kind.as_str().unwrap()) {
                    return Err(format!("{key} {found:?}, expected {kind}"));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn byte_maps_cover_every_byte() {
    every_case(|case| {
        let Ok(file) = case.open() else { return Ok(()) };
        let layout = file.layout().map_err(|e| e.to_string())?;
        let mut at = 0;
        for extent in &layout.files[0].extents {
            if extent.range.start > at {
                return Err(format!("bytes {at}..{} are unaccounted for", extent.range.start));
            }
            at = at.max(extent.range.end);
        }
        same("size", &json!(at), &json!(case.size()))
    });
}

#[test]
fn a_name_binds_the_first_dataset() {
    for case in golden::cases().iter().filter(|case| case.name == "name_duplicate") {
        let file = case.open().unwrap();
        assert_eq!(file.table_names(), ["x", "x"]);
        assert_eq!(file.table("x").unwrap().array("value").unwrap().dtype(), tesselle_core::DType::U8);
        assert!(file.table("y").is_err());
    }
}

#[test]
fn whole_regions_of_packed_files_are_borrowed() {
    for case in golden::cases().iter().filter(|case| case.name == "rank1_raw") {
        let file = golden::open_bytes(case.bytes()).unwrap();
        let array = file.array(0).unwrap();
        let bytes = contiguous(&*array).unwrap().unwrap();
        let mut copy = vec![0; bytes.len()];
        read_region(&*array, &Region::whole(array.shape()), &mut copy, &driver()).unwrap();
        assert_eq!(bytes, copy);
    }
}

#[test]
fn zone_maps_and_axis_conditions_skip_chunks() {
    for case in golden::cases().iter().filter(|case| case.name == "session_weather_v2") {
        let file = case.open().unwrap();
        let table = file.table("temperature").unwrap();
        let plan =
            |condition: &str| table.plan(&Scan::all().filter(condition.parse().unwrap())).unwrap().stats();
        assert_eq!((plan("value > 280").pieces, plan("value > 280").pruned), (4, 3));
        assert_eq!(plan("value > 1000").pruned, 4);
        assert_eq!(plan("value < 1000").pruned, 0);
        assert_eq!(plan("station = 5").pruned, 2);
        assert_eq!(plan("time < 2 AND station >= 3").pruned, 3);
        assert_eq!(plan("time = 0 OR value > 280").pruned, 1);
    }
}

#[test]
fn limits_and_columns_shorten_the_plan() {
    for case in golden::cases().iter().filter(|case| case.name == "rank3_raw") {
        let file = case.open().unwrap();
        let table = file.table_at(0).unwrap();
        let plan = table.plan(&Scan::all().columns(["i0"])).unwrap();
        assert_eq!((plan.pieces, plan.tasks.iter().map(|task| task.cost().bytes_in).sum::<u64>()), (0, 0));
        assert!(table.plan(&Scan::all().limit(0)).unwrap().tasks.is_empty());
        assert!(table.plan(&Scan::all().columns(["nope"])).is_err());
    }
}
