//! Files of the original engines, read completely.

mod golden;

#[test]
fn every_fixture_reads_as_the_original_engine_reads_it() {
    for folder in ["tsfile", "tsfile-upstream"] {
        for (name, path, expected) in golden::cases(folder) {
            let whole = expected.get("complete").is_none_or(|c| c == true);
            if whole && expected.get("devices").is_some() && expected.get("rows").is_none() {
                golden::check_devices(&name, &path.join("data.tsfile"), &expected);
            }
        }
    }
}
