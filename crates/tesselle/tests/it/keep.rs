//! A container converted into its own format without settings is the same container: `diff` finds nothing, and `info` shows
//! the same, for random columns, rows and settings of every format.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::Value;
use tesselle::{Depth, Driver, DriverOptions, Settings, convert, diff, verify};

fn driver() -> Driver {
    Driver::new(&DriverOptions::default().with_threads(2).with_memory(64 << 20)).unwrap()
}

/// A table: names of the value columns, and rows of cells.
#[derive(Debug, Clone)]
struct Sample {
    kinds: Vec<u8>,
    rows: usize,
    nulls: u64,
    seed: u64,
}

impl Sample {
    /// The value of a column at a row, by its kind; nothing for a null.
    fn cell(&self, row: usize, column: usize) -> String {
        let mixed = (self.seed ^ (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .wrapping_add((column as u64).wrapping_mul(0x85eb_ca6b));
        let mixed = mixed ^ (mixed >> 29);
        if self.nulls > 0 && row > 0 && mixed.is_multiple_of(self.nulls + 2) {
            return String::new();
        }
        match self.kinds[column] {
            0 => format!("{}", mixed % 1000),
            1 => format!("{}.25", mixed % 100_000),
            2 => format!("word{}", mixed % 17),
            _ => mixed.is_multiple_of(2).to_string(),
        }
    }

    /// A file with the key columns that `keys` gives for a row, then the values.
    fn csv(&self, folder: &Path, keys: &str, key: impl Fn(usize) -> String) -> PathBuf {
        let names: Vec<String> = (0..self.kinds.len()).map(|i| format!("c{i}")).collect();
        let mut text = format!("{keys},{}\n", names.join(","));
        for row in 0..self.rows {
            let cells: Vec<String> = (0..self.kinds.len()).map(|column| self.cell(row, column)).collect();
            text.extend([key(row), ",".to_owned(), cells.join(","), "\n".to_owned()]);
        }
        let path = folder.join("rows.csv");
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn samples(kinds: std::ops::Range<u8>) -> impl Strategy<Value = Sample> {
    (prop::collection::vec(kinds, 1..5), 1_usize..400, 0_u64..4, any::<u64>())
        .prop_map(|(kinds, rows, nulls, seed)| Sample { kinds, rows, nulls, seed })
}

fn written(source: &Path, name: &str, settings: &[String]) -> PathBuf {
    let target = source.with_file_name(name);
    let conversion = convert(source.to_str().unwrap(), target.to_str().unwrap());
    let conversion = conversion.options(Settings::from_pairs(settings).unwrap());
    conversion.on(&driver()).run().unwrap_or_else(|error| panic!("{settings:?}: {error}"));
    target
}

/// The output of `info`, except what is the file's own: names, identities and positions.
fn info(path: &Path) -> Value {
    const OWN: [&str; 8] =
        ["uuid", "created_ms", "fragments", "file", "history", "offset", "non_empty_domain_bytes", "bytes"];
    fn strip(value: &mut Value) {
        match value {
            Value::Object(items) => {
                items.retain(|key, _| !OWN.contains(&key.as_str()));
                items.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut info = tesselle::open(path.to_str().unwrap()).unwrap().container().describe().unwrap().to_json();
    strip(&mut info);
    info
}

fn check(source: &Path, again: &str) {
    let copy = written(source, again, &[]);
    let (left, right) = (source.to_str().unwrap(), copy.to_str().unwrap());
    let found = diff(left, right).on(&driver()).run().unwrap();
    assert!(found.is_equal(), "{}", found.to_json());
    assert_eq!(info(source), info(&copy));
    let report = verify(right).depth(Depth::Deep).on(&driver()).run().unwrap();
    assert!(report.ok(), "{:?}", report.findings());
}

fn pick<'a>(options: &[&'a str], seed: u64, shift: u32) -> &'a str {
    options[(seed >> shift) as usize % options.len()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn tsfile(sample in samples(0..4)) {
        let folder = tempfile::tempdir().unwrap();
        let seed = sample.seed;
        let source = sample.csv(folder.path(), "time,device", |row| format!("{},root.d{}", row * 10, row % 3));
        let settings = [
            format!("version={}", pick(&["0.8", "1", "2", "3", "4"], seed, 3)),
            "device_column=device".to_owned(),
            "time=time".to_owned(),
            "aligned=false".to_owned(),
            format!("page_points={}", pick(&["7", "64", "10000"], seed, 9)),
            format!("group_bytes={}", pick(&["2000", "1000000"], seed, 13)),
            format!("compression={}", pick(&["UNCOMPRESSED", "SNAPPY"], seed, 17)),
        ];
        check(&written(&source, "a.tsfile", &settings), "b.tsfile");
    }

    #[test]
    fn tatami(sample in samples(0..4)) {
        let folder = tempfile::tempdir().unwrap();
        let seed = sample.seed;
        let source = sample.csv(folder.path(), "id", |row| format!("{row}"));
        let mut settings = vec![
            format!("row_group_rows={}", pick(&["50", "100000"], seed, 3)),
            format!("page_rows={}", pick(&["11", "1000"], seed, 7)),
            format!("profile={}", pick(&["plain", "extended"], seed, 11)),
            format!("codec={}", pick(&["zstd", "none"], seed, 13)),
        ];
        if seed % 2 == 0 {
            settings.push("sort_key=id".to_owned());
        }
        check(&written(&source, "a.tatami", &settings), "b.tatami");
    }

    #[test]
    fn tiledb(sample in samples(0..3)) {
        let folder = tempfile::tempdir().unwrap();
        let seed = sample.seed;
        let source = sample.csv(folder.path(), "x", |row| format!("{row}"));
        let settings = [
            format!("kind={}", pick(&["sparse", "dense"], seed, 3)),
            "dims=x".to_owned(),
            format!("domain.x=0:{}", sample.rows - 1),
            format!("extent.x={}", 1 + (seed >> 7) as usize % sample.rows),
            format!("filters={}", pick(&["zstd", "gzip", "byteshuffle,lz4"], seed, 17)),
        ];
        check(&written(&source, "a.tiledb", &settings), "b.tiledb");
    }

    #[test]
    fn tet(sample in samples(0..2)) {
        let folder = tempfile::tempdir().unwrap();
        let sample = Sample { nulls: 0, kinds: vec![sample.kinds[0]], ..sample };
        let seed = sample.seed;
        let source = sample.csv(folder.path(), "i", |row| format!("{row}"));
        let settings = [
            "axes=1".to_owned(),
            format!("shape={}", sample.rows),
            format!("chunk={}", 1 + (seed >> 7) as usize % 90),
            format!("codec={}", pick(&["raw", "zstd"], seed, 3)),
            format!("footer={}", pick(&["none", "v1", "v2"], seed, 5)),
        ];
        check(&written(&source, "a.tet", &settings), "b.tet");
    }
}
