//! The tet jobs, run by Tesselle.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use tesselle::array::{Place, read_region};
use tesselle::core::{ArrayRequest, WriteTarget};
use tesselle::reduce::{ReduceOp, reduce};
use tesselle::{ArrayView, DType, Depth, Driver, DriverOptions, Location, Region, Result, Span, WriteOptions};
use compare_harness::{arguments, remove, report, report_after};
use compare_tet::{CHUNK, base, cell, many, side, windows};

/// A tensor in memory.
struct Memory {
    bytes: Bytes,
    shape: Vec<u64>,
    tile: Vec<u64>,
    names: Vec<String>,
}

impl ArrayView for Memory {
    fn dtype(&self) -> DType {
        DType::F32
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn tile_shape(&self) -> &[u64] {
        &self.tile
    }

    fn axis_names(&self) -> &[String] {
        &self.names
    }

    fn locate(&self, tile: &[u64], _rows: &Range<u64>) -> Result<Place> {
        let row = (self.shape[1] * 4) as usize;
        let rows = (tile[0] * self.tile[0]) as usize..((tile[0] + 1) * self.tile[0]).min(self.shape[0]) as usize;
        Ok(Place::Held(self.bytes.slice(rows.start * row..rows.end * row)))
    }

    fn whole(&self) -> Option<Place> {
        Some(Place::Held(self.bytes.clone()))
    }
}

fn write(path: &Path, array: &Memory, chunk: &str, codec: &str, driver: &Driver) {
    let mut options = WriteOptions::default().with_overwrite(true);
    options.settings.set("chunk", chunk);
    options.settings.set("codec", codec);
    let format = tesselle::format_by_name("tet").expect("tet is a format");
    let target = WriteTarget::Location(Location::local(path).unwrap());
    format.write_array(ArrayRequest::new(target, array, options), driver).expect("the file is written");
}

/// Memory as numpy gets it for large arrays: anonymous, and with huge pages where the system has them. The rivals'
/// results land in such memory, so ours does too.
fn huge_buffer(size: usize) -> memmap2::MmapMut {
    let memory = memmap2::MmapMut::map_anon(size).expect("there is memory");
    // Without huge pages the buffer works as well.
    let _ = memory.advise(memmap2::Advice::HugePage);
    memory
}

fn array(path: &Path) -> Arc<dyn ArrayView> {
    let opened = tesselle::open(path.to_str().unwrap()).expect("the file opens");
    opened.default_table().unwrap().table().array("value").expect("the table is an array")
}

fn main() {
    let (job, folder) = arguments();
    let driver = Driver::try_new(&DriverOptions::default()).unwrap();
    let (verb, codec) = job.split_once('-').unwrap();
    let file = folder.join(format!("{codec}.tet"));
    let (side, many) = (side(), many());
    let whole = Region::whole(&[side, side]);
    match verb {
        "write" => {
            let names = vec!["i0".to_owned(), "i1".to_owned()];
            let memory = Memory { bytes: base(&folder).into(), shape: vec![side; 2], tile: vec![CHUNK, side], names };
            let chunk = format!("{CHUNK},{CHUNK}");
            report_after(5, || remove(&file), || write(&file, &memory, &chunk, codec, &driver));
        }
        "make" => {
            let bytes: Vec<u8> = (0..(many * many) as u32).flat_map(|i| ((i % 97) as f32).to_le_bytes()).collect();
            let names = vec!["i0".to_owned(), "i1".to_owned()];
            let memory = Memory { bytes: bytes.into(), shape: vec![many; 2], tile: vec![many; 2], names };
            report(1, || {
                write(&folder.join("many.tet"), &memory, "1,1", "raw", &driver);
                0.0
            });
        }
        "read" => report(5, || {
            let array = array(&file);
            let mut out = huge_buffer((side * side * 4) as usize);
            read_region(&*array, &whole, &mut out, &driver).unwrap();
            cell(&out, (7 * side + 5) as usize) + cell(&out, (side * side - 1) as usize)
        }),
        "windows" => report(5, || {
            let array = array(&file);
            let mut sum = 0.0;
            for (row, column) in windows() {
                let span = |start| Span { start, stop: start + CHUNK, step: 1 };
                let region = Region { spans: vec![span(row), span(column)] };
                let mut out = vec![0; (CHUNK * CHUNK * 4) as usize];
                read_region(&*array, &region, &mut out, &driver).unwrap();
                sum += cell(&out, (CHUNK * CHUNK - 1) as usize);
            }
            sum
        }),
        "mean" => report(5, || {
            let mean = reduce(&*array(&file), &whole, ReduceOp::Mean, &[], &driver).unwrap();
            mean.to_json()["values"].as_f64().unwrap_or(f64::NAN)
        }),
        "mean0" => report(5, || {
            let mean = reduce(&*array(&file), &whole, ReduceOp::Mean, &[0], &driver).unwrap();
            mean.to_json()["values"][77].as_f64().unwrap_or(f64::NAN)
        }),
        "verify" => report(1, || {
            let report = tesselle::verify(file.to_str().unwrap()).depth(Depth::Deep).on(&driver).run().unwrap();
            f64::from(report.ok())
        }),
        "info" => report(5, || {
            let opened = tesselle::open(file.to_str().unwrap()).unwrap();
            let info = opened.container().describe().unwrap().to_json();
            info["tables"][0]["rows"].as_f64().unwrap()
        }),
        "one" => report(5, || {
            let span = |start| Span { start, stop: start + 1, step: 1 };
            let region = Region { spans: vec![span(many / 2), span(many / 2 + 1)] };
            let mut out = vec![0; 4];
            read_region(&*array(&file), &region, &mut out, &driver).unwrap();
            cell(&out, 0)
        }),
        "sum" => report(5, || {
            let sum = reduce(&*array(&file), &Region::whole(&[many, many]), ReduceOp::Sum, &[], &driver).unwrap();
            sum.to_json()["values"].as_f64().unwrap_or(f64::NAN)
        }),
        other => panic!("unknown job {other}"),
    }
}
