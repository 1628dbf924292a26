//! Damaged files: each one is refused with its own class, at its own stage, and nothing panics.

mod expected;

use expected::*;
use tesselle_core::{OpenOptions, Scan};

#[test]
fn every_damaged_fixture_gives_its_class_at_its_stage() {
    let Some((folder, expected)) = case("corrupt") else { return };
    let files = expected["files"].as_object().unwrap();
    let options = OpenOptions::default();
    let intact = &files["intact.tatami"]["columns"];
    for (name, spec) in files.iter().filter(|(_, spec)| spec.get("stage").is_some()) {
        let path = folder.join(name);
        let class = spec["class"].as_str().unwrap();
        let read = || read(&path, &Scan::all(), &options);
        match spec["stage"].as_str().unwrap() {
            "open" => assert_eq!(open(&path, &options).err().unwrap().class_name(), class, "{name}"),
            "read" => {
                open(&path, &options).unwrap().describe().unwrap();
                assert_eq!(read().unwrap_err().class_name(), class, "{name}");
            }
            "lookup" | "ok" => {
                let batches = read().unwrap_or_else(|e| panic!("{name}: {e}"));
                for (column, values) in intact.as_object().unwrap() {
                    check_column(name, &batches, column, values.as_array().unwrap());
                }
            }
            _ => {
                let _ = read();
            }
        }
    }
    let listed: Vec<&String> = files.keys().collect();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(name == "expected.json" || listed.contains(&&name), "{name} is not listed");
    }
}
