//! Every fixture is opened, described and read; the values equal those read by the original engine.
//!
//! A few fixtures are next to the tests; `TESSELLE_FIXTURES` points to all of them.

use std::path::Path;

use serde_json::{Value as Json, json};
use tesselle_core::testing::golden::compared;
use tesselle_core::{OpenOptions, Predicate, Scan};

use crate::support::values::{column, is_text, not_utf8, wanted};
use crate::support::{case, cases, expected, open, options, read};

/// Runs `check` over all fixtures and reports every one that fails.
fn over_fixtures(check: fn(&Path, &Json) -> Result<(), String>) {
    let mut failures = Vec::new();
    for case in cases() {
        match check(&case, &expected(&case)) {
            Ok(()) => compared("tiledb", &case),
            Err(why) => failures.push(format!("{}: {why}", case.file_name().unwrap().to_string_lossy())),
        }
    }
    assert!(failures.is_empty(), "{} fixtures fail:\n{}", failures.len(), failures.join("\n"));
}

fn same(what: &str, got: &Json, want: &Json) -> Result<(), String> {
    if got == want { Ok(()) } else { Err(format!("{what}: {got}, expected {want}")) }
}

fn is_array(expected: &Json) -> bool {
    expected["kind"] == "dense" || expected["kind"] == "sparse"
}

#[test]
fn arrays_are_described() {
    over_fixtures(|case, expected| {
        if !is_array(expected) {
            return Ok(());
        }
        let container = open(&case.join("array"), &options(expected)).map_err(|e| e.to_string())?;
        let info = container.describe().map_err(|e| e.to_string())?.to_json();
        for key in ["kind", "allows_dups"] {
            same(key, &info[key], &expected[key])?;
        }
        let columns = info["tables"][0]["columns"].as_array().unwrap();
        for (column, dim) in columns.iter().zip(expected["dimensions"].as_array().unwrap()) {
            for key in ["name", "type", "domain", "cell_val_num"] {
                same(key, &column[key], &dim[key])?;
            }
        }
        if let Some(domain) = expected.get("current_domain") {
            same("current domain", &info["current_domain"], domain)?;
        }
        if let Some(metadata) = expected.get("metadata") {
            same_metadata(&info["metadata"], metadata)?;
        }
        for (name, want) in expected["enumerations"].as_object().into_iter().flatten() {
            let got = &info["enumerations"][name];
            let plain = |values: &Json| -> Json {
                let kind = got["type"].as_str().unwrap();
                values.as_array().unwrap().iter().map(|value| whole(kind, value)).collect()
            };
            same("enumeration", &got["values"], &plain(&want["values"]))?;
        }
        for (time, metadata) in expected["metadata_at"].as_object().into_iter().flatten() {
            let at = options(expected).with_between((0, time.parse().unwrap()));
            let container = open(&case.join("array"), &at).map_err(|e| e.to_string())?;
            same_metadata(&container.describe().map_err(|e| e.to_string())?.to_json()["metadata"], metadata)?;
        }
        container.layout().map_err(|e| e.to_string())?;
        container.chunks(None).map_err(|e| e.to_string())?;
        Ok(())
    });
}

/// Integer values that are written as floats.
fn whole(kind: &str, value: &Json) -> Json {
    match value.as_f64() {
        Some(number) if kind.contains("INT") => json!(number as i64),
        _ => value.clone(),
    }
}

fn same_metadata(got: &Json, want: &Json) -> Result<(), String> {
    let keys =
        |value: &Json| value.as_object().unwrap().keys().cloned().collect::<std::collections::BTreeSet<_>>();
    if keys(got) != keys(want) {
        return Err(format!("metadata keys {:?}, expected {:?}", keys(got), keys(want)));
    }
    for (key, value) in want.as_object().unwrap() {
        match value.as_object() {
            Some(fields) => fields.iter().try_for_each(|(name, field)| same(key, &got[key][name], field))?,
            None => same(key, &got[key]["value"], value)?,
        }
    }
    Ok(())
}

#[test]
fn groups_list_their_members() {
    over_fixtures(|case, expected| {
        if expected["kind"] != "group" {
            return Ok(());
        }
        let group = open(&case.join("array"), &OpenOptions::default()).map_err(|e| e.to_string())?;
        let info = group.describe().map_err(|e| e.to_string())?.to_json();
        let sorted = |members: &Json| {
            let key = |m: &Json| {
                format!("{} {} {}", m["name"], m["type"].as_str().unwrap().to_lowercase(), m["uri"])
            };
            let mut keys: Vec<String> = members.as_array().unwrap().iter().map(key).collect();
            keys.sort();
            json!(keys)
        };
        same("members", &sorted(&info["members"]), &sorted(&expected["members"]))?;
        same_metadata(&info["metadata"], &expected["metadata"])
    });
}

#[test]
fn every_read_gives_the_engines_values() {
    over_fixtures(|case, expected| {
        if !is_array(expected) {
            return Ok(());
        }
        for read in expected["reads"].as_array().unwrap() {
            check_read(case, expected, read, true)?;
            if read["fields"].as_object().unwrap().is_empty() {
                continue;
            }
            check_read(case, expected, read, false)?;
        }
        Ok(())
    });
}

fn check_read(case: &Path, expected: &Json, request: &Json, raw: bool) -> Result<(), String> {
    let fields = request["fields"].as_object().unwrap();
    let broken_text = fields.values().any(|field| {
        is_text(field["type"].as_str().unwrap()) && field["values"].as_array().unwrap().iter().any(not_utf8)
    });
    let mut options = options(expected).with_raw(raw).with_text_as_binary(broken_text);
    if let Some(end) = request["open"].get("timestamp_end") {
        let start = request["open"].get("timestamp_start").and_then(Json::as_u64).unwrap_or(0);
        options.between = Some((start, end.as_u64().unwrap()));
    }
    let container = open(&case.join("array"), &options).map_err(|e| e.to_string())?;
    let dims = expected["dimensions"].as_array().unwrap();
    let mut scan = Scan::all();
    let dense = expected["kind"] == "dense";
    if let Some(region) = request.get("subarray").and_then(Json::as_array) {
        if dense {
            let part = |range: &Json| {
                let end =
                    range[1].as_i64().map_or_else(|| i128::from(range[1].as_u64().unwrap()), i128::from);
                format!("{}:{}", range[0], end + 1)
            };
            let text: Vec<String> = region.iter().map(part).collect();
            scan = scan.select(text.join(",").parse().map_err(|e: tesselle_core::Error| e.to_string())?);
        } else {
            let literal = |value: &Json| match value.as_str() {
                Some(text) => format!("'{text}'"),
                None => value.to_string(),
            };
            let ranges = region.iter().zip(dims).map(|(range, dim)| {
                let name = dim["name"].as_str().unwrap();
                format!("\"{name}\" BETWEEN {} AND {}", literal(&range[0]), literal(&range[1]))
            });
            let text = ranges.collect::<Vec<_>>().join(" AND ");
            scan = scan.filter(text.parse::<Predicate>().map_err(|e| e.to_string())?);
        }
    }
    let batches = read(&*container, &scan).map_err(|e| e.to_string())?;
    let info = container.describe().map_err(|e| e.to_string())?.to_json();
    let wanted_column = |name: &str, field: &Json| -> Vec<Json> {
        let enumeration =
            expected["enumerations"].as_object().and_then(|all| all.iter().find(|(_, e)| e["attr"] == *name));
        let kind = field["type"].as_str().unwrap();
        let values = field["values"].as_array().unwrap().iter();
        match enumeration.filter(|_| !raw) {
            Some((enumeration_name, enumeration)) => values
                .map(|code| {
                    let at = code.as_u64().map(|code| code as usize);
                    let meaning = at.and_then(|at| enumeration["values"].get(at)).unwrap_or(&Json::Null);
                    let kind = info["enumerations"][enumeration_name]["type"].as_str().unwrap();
                    wanted(kind, &whole(kind, meaning), raw)
                })
                .collect(),
            None => values.map(|value| wanted(kind, value, raw)).collect(),
        }
    };
    if dense {
        for (name, field) in fields {
            let (got, want) = (column(&batches, name), wanted_column(name, field));
            if got.len() != want.len() {
                return Err(format!("{name}: {} values, expected {}", got.len(), want.len()));
            }
            for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                same(&format!("{name}[{i}] {}", request["open"]), got, want)?;
            }
        }
        return Ok(());
    }
    let rows = |columns: Vec<Vec<Json>>| -> Vec<String> {
        let count = columns.first().map_or(0, Vec::len);
        let row =
            |i: usize| columns.iter().map(|column| column[i].to_string()).collect::<Vec<_>>().join(" | ");
        let mut rows: Vec<String> = (0..count).map(row).collect();
        rows.sort();
        rows
    };
    let got = rows(fields.keys().map(|name| column(&batches, name)).collect());
    let want = rows(fields.iter().map(|(name, field)| wanted_column(name, field)).collect());
    let differs = got.iter().zip(&want).find(|(got, want)| got != want);
    match differs {
        Some((got, want)) => Err(format!("{} row {got}, expected {want}", request["open"])),
        None if got.len() != want.len() => {
            Err(format!("{} {} rows, expected {}", request["open"], got.len(), want.len()))
        }
        None => Ok(()),
    }
}

#[test]
fn dense_reads_with_steps_and_conditions_agree_with_the_whole() {
    let case = case("dense_2d_multi_fragment");
    let container = open(&case.join("array"), &OpenOptions::default()).unwrap();
    let whole = read(&*container, &Scan::all()).unwrap();
    let names: Vec<String> = whole[0].schema().fields().iter().map(|f| f.name().clone()).collect();
    let keep = |test: &dyn Fn(i64, i64) -> bool| -> Vec<Vec<Json>> {
        let columns: Vec<Vec<Json>> = names.iter().map(|name| column(&whole, name)).collect();
        (0..columns[0].len())
            .filter(|i| test(columns[0][*i].as_i64().unwrap(), columns[1][*i].as_i64().unwrap()))
            .map(|i| columns.iter().map(|c| c[i].clone()).collect())
            .collect()
    };
    let rows = |scan: Scan| -> Vec<Vec<Json>> {
        let batches = read(&*container, &scan).unwrap();
        let columns: Vec<Vec<Json>> = names.iter().map(|name| column(&batches, name)).collect();
        (0..columns[0].len()).map(|i| columns.iter().map(|c| c[i].clone()).collect()).collect()
    };
    let first = column(&whole, &names[0])[0].as_i64().unwrap();
    let second = column(&whole, &names[1])[0].as_i64().unwrap();
    let stepped = rows(Scan::all().select("::2,::3".parse().unwrap()));
    assert_eq!(stepped, keep(&|x, y| (x - first) % 2 == 0 && (y - second) % 3 == 0));
    let text = format!("\"{}\" > {} AND \"{}\" <= {}", names[0], first + 1, names[1], second + 3);
    let filtered = rows(Scan::all().filter(text.parse().unwrap()));
    assert_eq!(filtered, keep(&|x, y| x > first + 1 && y <= second + 3));
}

#[test]
fn a_key_is_needed_and_must_be_right() {
    for case in cases() {
        let expected = expected(&case);
        let Some(key) = expected.pointer("/encryption/key_utf8").and_then(Json::as_str) else { continue };
        let wrong: String = key.chars().rev().collect();
        let path = case.join("array");
        for given in [None, Some(wrong.as_bytes()), Some(&b"short"[..])] {
            let options = OpenOptions::default().with_key(given.map(tesselle_core::Secret::new));
            let error = open(&path, &options).map(|_| ()).unwrap_err();
            assert_eq!(error.kind(), tesselle_core::ErrorKind::Denied, "{error}");
        }
    }
}

#[test]
fn unknown_versions_are_refused() {
    for case in cases() {
        let expected = expected(&case);
        if expected["unreadable_by_2_30"].as_str().is_some_and(|why| why.contains("is newer than")) {
            let error = open(&case.join("array"), &OpenOptions::default()).map(|_| ()).unwrap_err();
            assert_eq!(error.class_name(), "unsupported_version", "{error}");
        }
    }
}
