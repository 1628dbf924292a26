//! Every statistic of a table is true of its rows, for all available files of the four formats.

use std::collections::BTreeMap;

use arrow_select::concat::concat_batches;
use tesselle::driver::Order;
use tesselle::{Depth, Driver, DriverOptions, Predicate, Scan, Table, find_where, verify};
use tesselle_core::testing::stats_conformance;
use tesselle_core::{Comparison, Scalar};

/// Tables with more rows than this are left to other tests.
const ROWS: u64 = 200_000;

fn roots() -> Vec<String> {
    let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let mut roots: Vec<String> =
        ["tatami", "tet", "tiledb", "tsfile"].map(|name| format!("{crates}/{name}/tests/data")).into();
    roots.extend(std::env::var("TESSELLE_FIXTURES").ok());
    roots
}

/// How many columns of the table have exact bounds; `None` where it cannot be read.
fn check(table: &dyn Table, driver: &Driver) -> Option<usize> {
    if table.stats().rows.value().is_some_and(|rows| *rows > ROWS) {
        return None;
    }
    let rows = tesselle::driver::scan(table, &Scan::all(), driver, Order::Plan).ok()?;
    let schema = rows.schema();
    let batches = rows.read_all().ok()?;
    stats_conformance(table, &concat_batches(&schema, &batches).ok()?);
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let stats = table.stats_of(&names);
    Some(stats.columns.values().filter(|column| column.max.exact().is_some()).count())
}

#[test]
fn statistics_are_true_of_the_rows() {
    let driver = Driver::try_new(&DriverOptions::default()).unwrap();
    let mut exact: BTreeMap<&str, usize> = BTreeMap::new();
    for path in roots().iter().flat_map(|root| find_where(root, |format| format.verifies).unwrap().paths) {
        // Some files are broken on purpose: they do not open, or state what is not true.
        let Ok(opened) = tesselle::open(&path) else { continue };
        if !verify(&path).depth(Depth::Deep).on(&driver).run().is_ok_and(|report| report.ok()) {
            continue;
        }
        for name in opened.container().table_names() {
            println!("{path}#{name}");
            let Ok(table) = opened.container().table(&name) else { continue };
            *exact.entry(opened.format().name()).or_default() += check(&*table, &driver).unwrap_or(0);
        }
    }
    println!("columns with exact bounds: {exact:?}");
    for format in ["tatami", "tet", "tiledb", "tsfile"] {
        assert!(exact.get(format).is_some_and(|n| *n > 0), "no exact bounds were found in {format} files");
    }
}

#[test]
fn dates_and_partly_filled_tiles_have_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let rows = (0..950).map(|i| format!("{},{:04}-06-01", i * 3, 1950 + i / 10));
    let rows = crate::support::csv(folder.path(), "rows.csv", "n,day", rows);
    let array = crate::support::into(&rows, "rows.tiledb", &["extent=100"]);
    let table = tesselle::open(array.to_str().unwrap()).unwrap().default_table().unwrap();
    let stats = table.table().stats_of(&["n", "day"]);
    let bounds = |name: &str| stats.columns.get(name).map(|known| (known.min.value(), known.max.value()));
    assert_eq!(bounds("n"), Some((Some(&Scalar::Int(0)), Some(&Scalar::Int(949 * 3)))));
    assert_eq!(bounds("day"), Some((Some(&Scalar::Int(-7_154)), Some(&Scalar::Int(27_180)))));
    // Nine of ten tiles have only other years than 1955.
    let scan = Scan::all().with_predicate(Predicate::compare("day", Comparison::Eq, Scalar::Int(-5_328)));
    let plan = table.table().plan(&scan.columns(["day"])).unwrap();
    assert_eq!((plan.stats().pieces, plan.stats().pruned), (10, 9));
}
