//! Files of the original engines, read completely and with predicates.

use serde_json::Value;
use tesselle_core::Scan;
use tesselle_core::testing::golden::compared;

use crate::golden;

fn whole(folder: &str) -> impl Iterator<Item = (String, std::path::PathBuf, Value)> {
    golden::cases(folder).into_iter().filter(|(_, _, expected)| {
        expected.get("complete").is_none_or(|c| c == true) && expected.get("devices").is_some()
    })
}

#[test]
fn every_fixture_matches_the_original_engine() {
    for folder in ["tsfile", "tsfile-upstream"] {
        for (name, path, expected) in whole(folder).filter(|(_, _, e)| e.get("rows").is_none()) {
            golden::check_devices(&name, &path.join("data.tsfile"), &expected);
            compared("tsfile", &path);
        }
    }
}

#[test]
fn tables_of_the_table_model_have_their_tags() {
    for (name, path, expected) in whole("tsfile").filter(|(_, _, e)| e.get("rows").is_some()) {
        let container = golden::open(&path.join("data.tsfile"), false).unwrap();
        for (table, columns) in expected["tables"].as_object().unwrap() {
            let (schema, batches) = golden::rows(&*container, table, &Scan::all()).unwrap();
            let names: Vec<&str> =
                columns.as_array().unwrap().iter().map(|c| c[0].as_str().unwrap()).collect();
            let found: Vec<&str> = schema.fields().iter().skip(1).map(|f| f.name().as_str()).collect();
            assert_eq!(found, names, "{name}");
            let kinds = std::iter::once("TIMESTAMP")
                .chain(columns.as_array().unwrap().iter().map(|c| c[1].as_str().unwrap()));
            let kinds: Vec<&str> = kinds.collect();
            let mut want: Vec<Vec<Option<golden::Plain>>> = Vec::new();
            for row in expected["rows"].as_array().unwrap() {
                let cells = std::iter::once("time").chain(names.iter().copied()).zip(&kinds);
                want.push(
                    cells
                        .map(|(n, k)| if row[n].is_null() { None } else { golden::wanted(k, &row[n]) })
                        .collect(),
                );
            }
            let mut got: Vec<Vec<Option<golden::Plain>>> = Vec::new();
            for batch in &batches {
                for row in 0..batch.num_rows() {
                    got.push(batch.columns().iter().map(|c| golden::cell(c, row)).collect());
                }
            }
            want.sort();
            got.sort();
            assert_eq!(got, want, "{name}: {table}");
        }
        compared("tsfile", &path);
    }
}

/// The result is the same whether statistics prune chunks and pages or a filter checks every row.
#[test]
fn pruning_does_not_change_results() {
    for (name, path, expected) in whole("tsfile").filter(|(_, _, e)| e.get("rows").is_none()) {
        if golden::needs_binary(&expected) {
            continue;
        }
        let container = golden::open(&path.join("data.tsfile"), false).unwrap();
        for (device, series) in expected["devices"].as_object().unwrap().iter().take(3) {
            let (schema, all) = golden::rows(&*container, device, &Scan::all()).unwrap();
            for (column, s) in series.as_object().unwrap().iter().take(6) {
                let Some(middle) = s.get("points").and_then(|p| p.get(p.as_array()?.len() / 2)) else {
                    continue;
                };
                let mut conditions = vec![format!("time > {}", middle[0]), format!("time < {}", middle[0])];
                if matches!(s["type"].as_str(), Some("INT32" | "INT64" | "FLOAT" | "DOUBLE"))
                    && middle[1].is_number()
                {
                    let quoted = format!("\"{column}\"");
                    conditions.push(format!("{quoted} > {}", middle[1]));
                    conditions.push(format!("{quoted} = {} OR time = {}", middle[1], middle[0]));
                    conditions.push(format!("NOT {quoted} <= {} AND time >= {}", middle[1], middle[0]));
                }
                for condition in conditions {
                    let predicate: tesselle_core::Predicate = condition.parse().unwrap();
                    let bound = predicate.bind(&schema).unwrap();
                    let want: usize = all.iter().map(|b| bound.filter(b).unwrap().num_rows()).sum();
                    let scan = Scan::all().filter(predicate);
                    let (_, got) = golden::rows(&*container, device, &scan).unwrap();
                    let found: usize = got.iter().map(arrow_array::RecordBatch::num_rows).sum();
                    assert_eq!(found, want, "{name}: {device}: {condition}");
                    let (_, narrow) =
                        golden::rows(&*container, device, &scan.columns([column.as_str()])).unwrap();
                    assert_eq!(
                        narrow.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(),
                        want,
                        "{name}: {device}: {condition}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_data_directory_is_one_container_with_deletions_applied() {
    let cases = golden::cases("tsfile");
    let bytes = |path: &std::path::Path| std::fs::read(path).unwrap();
    for (name, path, expected) in cases.iter().filter(|(_, _, e)| e.get("mods").is_some()) {
        let mut devices = serde_json::json!({});
        for file in expected["resource"].as_object().unwrap().keys() {
            let mine = bytes(&path.join(file));
            let known = cases
                .iter()
                .find(|(_, p, _)| p.join("data.tsfile").is_file() && bytes(&p.join("data.tsfile")) == mine);
            for (device, series) in known.unwrap().2["devices"].as_object().unwrap() {
                for (column, s) in series.as_object().unwrap() {
                    let mut s = s.clone();
                    let mods = expected["mods"].get(file).and_then(Value::as_array).into_iter().flatten();
                    let path = format!("{device}.{column}");
                    let gone: Vec<i64> = mods
                        .filter(|m| m["path"] == *path)
                        .map(|m| m["timestamp"].as_i64().unwrap())
                        .collect();
                    let points = s["points"].as_array_mut().unwrap();
                    points.retain(|p| !gone.iter().any(|t| p[0].as_i64().unwrap() <= *t));
                    devices[device][column] = s;
                }
            }
        }
        golden::check_devices(name, path, &serde_json::json!({ "devices": devices }));
    }
}

#[test]
fn resource_files_name_devices_and_times() {
    for folder in ["tsfile", "tsfile-upstream"] {
        for (name, path, expected) in
            golden::cases(folder).into_iter().filter(|(_, _, e)| e.get("resource").is_some())
        {
            let location = tesselle_core::Location::local(&path).unwrap();
            let shown = tesselle_tsfile::tools::resources(&location).unwrap();
            let want = expected["resource"].as_object().unwrap();
            assert_eq!(shown["files"].as_array().unwrap().len(), want.len(), "{name}");
            for file in shown["files"].as_array().unwrap() {
                let known = file["file"].as_str().unwrap();
                let devices = want.get(known).or_else(|| want.get(known.strip_suffix(".resource").unwrap()));
                assert_eq!(&file["devices"], devices.unwrap(), "{name}: {known}");
            }
        }
    }
}

/// Exact statistics of a table match its rows.
#[test]
fn exact_statistics_match_the_rows() {
    use tesselle_core::Scalar;
    let mut checked = 0;
    for (name, path, _) in whole("tsfile").filter(|(_, _, e)| !golden::needs_binary(e)) {
        let container = golden::open(&path.join("data.tsfile"), false).unwrap();
        for table in container.table_names().iter().take(8) {
            let stats = container.table(table).unwrap().stats();
            let (schema, batches) = golden::rows(&*container, table, &Scan::all()).unwrap();
            let rows: usize = batches.iter().map(arrow_array::RecordBatch::num_rows).sum();
            if let Some(exact) = stats.rows.exact() {
                assert_eq!(*exact as usize, rows, "{name}: {table}: rows");
                checked += 1;
            }
            for (column, field) in schema.fields().iter().enumerate() {
                let Some(known) = stats.columns.get(field.name()) else { continue };
                let arrays = || batches.iter().map(|b| b.column(column));
                if let Some(nulls) = known.nulls.exact() {
                    let found: usize = arrays().map(arrow_array::Array::null_count).sum();
                    assert_eq!(*nulls as usize, found, "{name}: {table}.{}: nulls", field.name());
                }
                let numbers = || {
                    arrays().flat_map(|a| (0..a.len()).filter_map(move |row| golden::cell(a, row))).map(|v| {
                        match v {
                            golden::Plain::Int(v) => Scalar::from(v),
                            golden::Plain::Bits32(v) => Scalar::from(f32::from_bits(v)),
                            golden::Plain::Bits64(v) => Scalar::from(f64::from_bits(v)),
                            golden::Plain::Bytes(v) => Scalar::Bytes(v),
                        }
                    })
                };
                let what = format!("{name}: {table}.{}", field.name());
                if let Some(min) = known.min.exact() {
                    let least = numbers().reduce(Scalar::min).unwrap();
                    assert!(
                        min.compare(&least).is_some_and(std::cmp::Ordering::is_eq),
                        "{what}: {min} {least}"
                    );
                    checked += 1;
                }
                if let Some(max) = known.max.exact() {
                    let most = numbers().reduce(Scalar::max).unwrap();
                    assert!(
                        max.compare(&most).is_some_and(std::cmp::Ordering::is_eq),
                        "{what}: {max} {most}"
                    );
                }
                if let Some(Scalar::Int(sum)) = known.sum.exact() {
                    let found: i128 = numbers().map(|v| if let Scalar::Int(v) = v { v } else { 0 }).sum();
                    assert_eq!(*sum, found, "{what}: sum");
                }
            }
        }
    }
    assert!(checked > 0);
}

/// Aggregates of every file of the originals: from statistics if they cover the time range, otherwise from
/// points.
#[test]
fn aggregates_match_the_points() {
    let driver = golden::driver();
    let (mut compared, mut decoded) = (0, 0);
    for (name, path, _) in whole("tsfile") {
        let location = tesselle_core::Location::local(path.join("data.tsfile")).unwrap();
        let container = golden::open(&path.join("data.tsfile"), true).unwrap();
        let stats = container.chunks(None).unwrap();
        let times =
            |key: &str| stats.iter().filter_map(|c| c["statistics"][key].as_i64()).collect::<Vec<_>>();
        let lo = times("start_time").into_iter().min().unwrap_or(0);
        let hi = times("end_time").into_iter().max().unwrap_or(0);
        let span = hi.saturating_sub(lo);
        let ranges = [
            (i64::MIN, i64::MAX),
            (lo.saturating_add(span / 4), lo.saturating_add(span / 4 * 3)),
            (lo.saturating_add(span / 2), hi),
        ];
        let (n, pages) = golden::check_aggregates(&name, &location, &ranges, &driver);
        compared += n;
        decoded += pages;
    }
    assert!(compared > decoded / 4 && compared > 0);
}

#[test]
fn tables_of_small_files_pass_the_table_conformance_suite() {
    let driver =
        tesselle_core::Driver::try_new(&tesselle_core::DriverOptions::default().with_threads(2)).unwrap();
    for (_, path, expected) in whole("tsfile") {
        let file = path.join("data.tsfile");
        if golden::needs_binary(&expected) || file.metadata().map_or(true, |m| m.len() > 1 << 10) {
            continue;
        }
        let container = golden::open(&file, false).unwrap();
        for name in container.table_names().iter().map(String::as_str).take(1).chain(["*"]) {
            tesselle_core::testing::table_conformance(&*container.table(name).unwrap(), &driver);
        }
        if let Ok(devices) = container.table("root.**") {
            tesselle_core::testing::table_conformance(&*devices, &driver);
        }
    }
}

/// A pattern gives the rows of each device, with its name and with nulls for measurements that it does not have.
#[test]
fn a_pattern_joins_the_tables_of_its_devices() {
    type Row = std::collections::BTreeMap<String, Option<golden::Plain>>;
    let rows = |container: &dyn tesselle_core::Container, table: &str| -> Option<Vec<Row>> {
        let (schema, batches) = golden::rows(container, table, &Scan::all()).ok()?;
        let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        let row = |batch: &arrow_array::RecordBatch, row: usize| -> Row {
            let cells = names.iter().zip(batch.columns());
            cells.map(|(name, column)| ((*name).clone(), golden::cell(column, row))).collect()
        };
        Some(batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |i| row(batch, i))).collect())
    };
    let (mut joined, mut refused) = (0, 0);
    for (name, path, expected) in whole("tsfile") {
        let container = golden::open(&path.join("data.tsfile"), golden::needs_binary(&expected)).unwrap();
        let devices: Vec<String> =
            container.table_names().into_iter().filter(|name| name.starts_with("root.")).collect();
        if devices.len() < 2 {
            continue;
        }
        let table = match container.table("root.**") {
            Ok(table) => table,
            Err(error) => {
                assert_eq!(error.kind(), tesselle_core::ErrorKind::Unsupported, "{name}: {error}");
                refused += 1;
                continue;
            }
        };
        let Some(mut found) = rows(&*container, "root.**") else { continue };
        let mut wanted = Vec::new();
        for device in &devices {
            for mut row in rows(&*container, device).unwrap() {
                let missing =
                    table.schema().fields().iter().map(|field| (field.name().clone(), None)).collect::<Row>();
                row = missing.into_iter().chain(row).collect();
                row.insert("device".to_owned(), Some(golden::Plain::Bytes(device.clone().into_bytes())));
                wanted.push(row);
            }
        }
        found.sort();
        wanted.sort();
        assert!(found == wanted, "{name}: {} rows instead of {}", found.len(), wanted.len());
        joined += 1;
    }
    assert!(joined > 0, "no file has several devices; {refused} have mixed types");
}
