//! Files of the original engine read exactly: values, types, layout, pruned scans, lookups.

use serde_json::{Value, json};
use tesselle_core::testing::golden::compared;
use tesselle_core::{Location, OpenOptions, Predicate, Scalar, Scan};
use tesselle_tatami::File;

use crate::expected::*;

#[test]
fn every_column_of_every_fixture_reads_exactly() {
    for (folder, expected) in cases() {
        for (name, layout) in expected["layout"].as_object().unwrap() {
            let what = format!("{}/{name}", folder.file_name().unwrap().to_string_lossy());
            let Some(columns) = expected["files"][name]["columns"].as_object() else { continue };
            let schema = layout["schema"].as_array().unwrap();
            let text_as_binary = needs_binary(schema, columns);
            if text_as_binary {
                let error = read(&folder.join(name), &Scan::all(), &OpenOptions::default()).unwrap_err();
                assert!(error.to_string().contains("text_as_binary"), "{what}: {error}");
            }
            let options = OpenOptions::default().with_text_as_binary(text_as_binary).with_deleted(true);
            let table = open(&folder.join(name), &options).unwrap().default_table().unwrap();
            for (field, stated) in table.schema().fields().iter().zip(schema) {
                assert_eq!(field.name(), stated["name"].as_str().unwrap(), "{what}");
                assert_eq!(field.is_nullable(), stated["flags"].as_u64().unwrap() & 1 == 1, "{what}");
                assert_eq!(field.metadata()["tesselle:type"], stated["type"].as_str().unwrap(), "{what}");
            }
            let batches =
                read(&folder.join(name), &Scan::all(), &options).unwrap_or_else(|e| panic!("{what}: {e}"));
            for (column, values) in columns {
                check_column(&what, &batches, column, values.as_array().unwrap());
            }
        }
        compared("tatami", &folder);
    }
}

#[test]
fn the_layout_of_every_fixture_is_described_exactly() {
    for (folder, expected) in cases() {
        for (name, layout) in expected["layout"].as_object().unwrap() {
            let what = format!("{}/{name}", folder.file_name().unwrap().to_string_lossy());
            let container = open(&folder.join(name), &OpenOptions::default()).unwrap();
            let info = container.describe().unwrap().to_json();
            let header = &layout["header"];
            assert_eq!(info["version"], format!("{}.{}", header["major"], header["minor"]), "{what}");
            assert_eq!(info["tables"][0]["rows"], header["row_count"], "{what}");
            assert_eq!(info["metadata"], layout["key_value"], "{what}");
            let chunks = container.chunks(None).unwrap();
            let groups = layout["row_groups"].as_array().unwrap();
            for (number, group) in groups.iter().enumerate() {
                assert_eq!(info["row_groups"][number]["first_row"], group["first_row"], "{what}");
                assert_eq!(info["row_groups"][number]["rows"], group["rows"], "{what}");
                for want in group["chunks"].as_array().unwrap() {
                    check_chunk(&what, &chunks, number, want, layout);
                }
            }
            assert_eq!(container.chunk_count(), Some(chunks.len() as u64), "{what}");
        }
    }
}

fn check_chunk(what: &str, chunks: &[Value], group: usize, want: &Value, layout: &Value) {
    let name = &layout["schema"][want["column"].as_u64().unwrap() as usize]["name"];
    let got = chunks.iter().find(|c| c["row_group"] == group && c["column"] == *name).unwrap();
    for key in ["values", "nulls", "encoding", "codec", "compressed", "uncompressed"] {
        assert_eq!(got[key], want[key], "{what}: group {group}, {name}, {key}");
    }
    let zone = |key: &str| want.get(key).cloned().unwrap_or(Value::Null);
    assert_eq!(
        json!([got["zone_min"], got["zone_max"]]),
        json!([zone("zone_min"), zone("zone_max")]),
        "{what}"
    );
    let keys = [
        "offset",
        "encoding",
        "codec",
        "flags",
        "values",
        "uncompressed",
        "compressed",
        "nulls",
        "first_row",
        "crc32c",
    ];
    let pages = want["page_list"].as_array().unwrap();
    assert_eq!(got["pages"].as_array().unwrap().len(), pages.len(), "{what}");
    for (i, page) in pages.iter().enumerate() {
        for (key, value) in keys.iter().zip(page.as_array().unwrap()) {
            assert_eq!(got["pages"][i][key], *value, "{what}: group {group}, {name}, page {i}, {key}");
        }
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) if text.starts_with("f32:") => {
            format!("{:?}", f64::from(f32::from_bits(u32::from_str_radix(&text[4..], 16).unwrap())))
        }
        Value::String(text) if text.starts_with("f64:") => {
            format!("{:?}", f64::from_bits(u64::from_str_radix(&text[4..], 16).unwrap()))
        }
        Value::String(text) => format!("'{}'", text.replace('\'', "''")),
        Value::Object(map) => format!("X'{}'", map["hex"].as_str().unwrap()),
        other => other.to_string(),
    }
}

fn sql(p: &Value) -> String {
    let op = p["op"].as_str().unwrap();
    let column = || format!("\"{}\"", p["col"].as_str().unwrap());
    match op {
        "and" | "or" => {
            let parts: Vec<String> = p["args"].as_array().unwrap().iter().map(sql).collect();
            format!("({})", parts.join(&format!(" {op} ")))
        }
        "is_null" => format!("{} IS NULL", column()),
        "between" => format!("{} BETWEEN {} AND {}", column(), literal(&p["lo"]), literal(&p["hi"])),
        _ => {
            let sign = match op {
                "eq" => "=",
                "ne" => "<>",
                "lt" => "<",
                "le" => "<=",
                "gt" => ">",
                _ => ">=",
            };
            format!("{} {sign} {}", column(), literal(&p["value"]))
        }
    }
}

#[test]
fn scans_match_the_original_and_skip_as_many_groups() {
    for (folder, expected) in cases().into_iter().filter(|(_, e)| e.get("members").is_none()) {
        for wanted in expected["scans"].as_array().unwrap_or(&Vec::new()) {
            let name = expected["files"].as_object().unwrap().keys().next().unwrap();
            let names: Vec<&str> =
                wanted["projection"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
            let text = sql(&wanted["predicate"]);
            let request = Scan::all().columns(names.clone()).filter(text.parse::<Predicate>().unwrap());
            let path = folder.join(name);
            let batches = read(&path, &request, &OpenOptions::default()).unwrap();
            for (i, column) in names.iter().enumerate() {
                let values: Vec<Value> =
                    wanted["rows"].as_array().unwrap().iter().map(|r| r[i].clone()).collect();
                check_column(&format!("{}: {text}", path.display()), &batches, column, &values);
            }
            let table = open(&path, &OpenOptions::default()).unwrap().default_table().unwrap();
            let tasks = table.plan(&request).unwrap().tasks.len() as u64;
            // Float bounds ignore NaN, which is above every number here: they cannot refute `>`.
            if text.contains("\"score\" >") {
                continue;
            }
            assert!(
                tasks <= wanted["groups_scanned"].as_u64().unwrap(),
                "{text}: {tasks} row groups are read"
            );
        }
    }
}

fn scalar(value: &Value) -> Scalar {
    match value {
        Value::Number(n) => Scalar::Int(n.to_string().parse().unwrap()),
        Value::String(t) if t.starts_with("f64:") => {
            Scalar::Float(f64::from_bits(u64::from_str_radix(&t[4..], 16).unwrap()))
        }
        Value::String(t) => Scalar::String(t.clone()),
        Value::Object(map) => {
            let hex = map["hex"].as_str().unwrap();
            Scalar::Bytes(
                (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect(),
            )
        }
        other => panic!("{other}"),
    }
}

#[test]
fn lookups_match_the_original() {
    for (folder, expected) in cases().into_iter().filter(|(_, e)| e.get("members").is_none()) {
        let lookups = match &expected["lookups"] {
            Value::Array(list) => {
                let name = expected["files"].as_object().unwrap().keys().next().unwrap().clone();
                vec![(name, list.clone())]
            }
            Value::Object(map) => {
                map.iter().map(|(k, v)| (k.clone(), v.as_array().unwrap().clone())).collect()
            }
            _ => continue,
        };
        for (name, items) in lookups {
            let location = Location::local(folder.join(&name)).unwrap();
            let file = File::open(&location, &OpenOptions::default()).unwrap();
            let layout = &expected["layout"][&name];
            for item in items {
                let found = file.lookup(&scalar(&item["key"])).unwrap();
                let want = item["found"].as_bool().unwrap().then(|| {
                    let group = &layout["row_groups"][item["group"].as_u64().unwrap() as usize];
                    group["first_row"].as_u64().unwrap() + item["row"].as_u64().unwrap()
                });
                assert_eq!(found, want, "{name}: {}", item["key"]);
                if let Some(row) = found {
                    let batch = file.take(&[row], None).unwrap();
                    for (column, values) in expected["files"][&name]["columns"].as_object().unwrap() {
                        let value = values[row as usize].clone();
                        check_column(&name, std::slice::from_ref(&batch), column, &[value]);
                    }
                }
            }
        }
    }
}

#[test]
fn single_rows_and_blobs_are_read_in_any_order() {
    for case_name in ["blob-many", "blob-dict", "types-nulls", "row-groups", "crafted-blob-dict"] {
        let (folder, expected) = case(case_name);
        for (name, spec) in expected["files"].as_object().unwrap() {
            let file =
                File::open(&Location::local(folder.join(name)).unwrap(), &OpenOptions::default()).unwrap();
            let n = file.rows();
            let rows: Vec<u64> = (0..40).map(|i| (i * 7919 + 13) % n).chain([n - 1, 0, 0]).collect();
            let batch = file.take(&rows, None).unwrap();
            for (column, values) in spec["columns"].as_object().unwrap() {
                let want: Vec<Value> = rows.iter().map(|r| values[*r as usize].clone()).collect();
                check_column(name, std::slice::from_ref(&batch), column, &want);
            }
            assert!(file.take(&[n], None).is_err());
        }
    }
}

#[test]
fn formula_fixtures_read_exactly() {
    let (folder, expected) = case("page-64k");
    let rows = expected["formula"]["rows"].as_u64().unwrap();
    let batches = read(&folder.join("data.tatami"), &Scan::all(), &OpenOptions::default()).unwrap();
    assert_eq!(batches.iter().map(|b| b.num_rows() as u64).sum::<u64>(), rows);
    for (name, rule) in expected["formula"].as_object().unwrap().iter().filter(|(n, _)| *n != "rows") {
        let of = |i: u64| match rule.as_str().unwrap() {
            "row i holds 3*i" => json!(3 * i),
            _ => json!(i.is_multiple_of(11)),
        };
        check_column("page-64k", &batches, name, &(0..rows).map(of).collect::<Vec<_>>());
    }
}
