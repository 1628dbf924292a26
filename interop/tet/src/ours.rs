//! Our side: writing a case, reading it back, and handing it to the original engine.

use std::path::Path;
use std::sync::OnceLock;

use tesselle_core::array::read_region;
use tesselle_core::{Container, Depth, Driver, DriverOptions, Location, OpenOptions, Region, Report};
use tesselle_tet::{
    Alignment, DatasetMetadata, DatasetSpec, File, FooterSpec, HistoryRow, Metadata, Writer, WriterOptions,
};
use tetration::query::{DenseBuffer, materialize_query_selection, parse_query_json};

use crate::Outcome;
use crate::case::Case;

pub fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| Driver::try_new(&DriverOptions::default()).expect("threads start"))
}

pub fn spec(case: &Case, name: &str) -> DatasetSpec {
    DatasetSpec::new(name, case.dtype, case.shape.clone()).chunk_shape(case.chunk_shape.clone()).codec(case.codec)
}

pub fn footer(case: &Case, indexes: bool) -> FooterSpec {
    let dim_names = (0..case.shape.len()).map(|axis| format!("axis_{axis}")).collect();
    let about = DatasetMetadata { dim_names: Some(dim_names), ..DatasetMetadata::default() };
    let metadata = Metadata { file: None, datasets: [("a".to_owned(), about)].into() };
    FooterSpec { history: vec![HistoryRow::new("write", "interop", "1700000000")], metadata: Some(metadata), indexes, version: None }
}

/// Writes a case.
pub fn write(case: &Case, path: &Path, alignment: Alignment, footer: Option<FooterSpec>) -> Outcome {
    let options = WriterOptions::default().with_overwrite(true).with_alignment(alignment).with_footer(footer);
    let mut writer = Writer::create(&Location::local(path)?, &[spec(case, "a")], options, driver())?;
    writer.push_rows(0, &case.bytes)?;
    writer.finish()?;
    Ok(())
}

/// Opens a file, verifies it, and compares one dataset.
pub fn check(case: &Case, path: &Path, id: usize) -> Result<File, Box<dyn std::error::Error>> {
    let file = File::open(&Location::local(path)?, &OpenOptions::default())?;
    let mut report = Report::new(Depth::Deep);
    file.verify(Depth::Deep, driver(), &mut report)?;
    if !report.ok() {
        return Err(format!("our verification: {:?}", report.findings()).into());
    }
    let array = file.array(id)?;
    let mut bytes = vec![0; case.bytes.len()];
    read_region(&*array, &Region::whole(array.shape()), &mut bytes, driver())?;
    if bytes != case.bytes { Err("we read other values".into()) } else { Ok(file) }
}

/// The original engine verifies a file and reads a dataset.
pub fn check_there(case: &Case, path: &Path, name: &str) -> Outcome {
    let options = tetration::verify::VerifyOptions { deep_decode: true };
    let report = tetration::verify::verify_tet_file_with_options(path, options)?;
    if !report.ok {
        return Err(format!("its verification: {:?}", report.findings).into());
    }
    let bytes = std::fs::read(path)?;
    let read = materialize_query_selection(&parse_query_json(&format!(r#"{{"dataset":"{name}"}}"#))?, &bytes)?;
    if read.shape != case.shape || le_bytes(&read.buffer) != case.bytes {
        return Err("it reads other values".into());
    }
    Ok(())
}

fn le_bytes(buffer: &DenseBuffer) -> Vec<u8> {
    macro_rules! bytes {
        ($values:expr) => {
            $values.iter().flat_map(|value| value.to_le_bytes()).collect()
        };
    }
    match buffer {
        DenseBuffer::F16(values) => bytes!(values),
        DenseBuffer::F32(values) => bytes!(values),
        DenseBuffer::F64(values) => bytes!(values),
        DenseBuffer::I16(values) => bytes!(values),
        DenseBuffer::I32(values) => bytes!(values),
        DenseBuffer::I64(values) => bytes!(values),
        DenseBuffer::U8(values) => bytes!(values),
        DenseBuffer::U16(values) => bytes!(values),
        DenseBuffer::U32(values) => bytes!(values),
        DenseBuffer::U64(values) => bytes!(values),
    }
}

/// The part of a case from `start` to `stop` along an axis.
fn part(case: &Case, axis: usize, start: u64, stop: u64) -> Case {
    let inner = case.shape[axis + 1..].iter().product::<u64>() as usize * case.dtype.size();
    let row = case.shape[axis] as usize * inner;
    let bytes = case.bytes.chunks(row).flat_map(|row| row[start as usize * inner..stop as usize * inner].to_vec());
    let mut shape = case.shape.clone();
    shape[axis] = stop - start;
    Case { shape, bytes: bytes.collect(), chunk_shape: case.chunk_shape.clone(), ..*case }
}

/// A dataset that grows along its first and its last axis, with and without zone maps.
pub fn extended_here_reads_there(case: &Case, path: &Path) -> Outcome {
    let added = path.with_file_name("added.tet");
    for (axis, indexes) in [(0, false), (case.shape.len() - 1, true)] {
        let cut = case.shape[axis] / 2;
        write(&part(case, axis, 0, cut), path, Alignment::Packed, Some(footer(case, indexes)))?;
        write(&part(case, axis, cut, case.shape[axis]), &added, Alignment::Packed, None)?;
        let more = File::open(&Location::local(&added)?, &OpenOptions::default())?.array(0)?;
        tesselle_tet::extend(&Location::local(path)?, "a", axis, &*more, driver())?;
        check(case, path, 0)?;
        check_there(case, path, "a")?;
    }
    Ok(())
}

/// All footers and alignments.
pub fn written_here_reads_there(case: &Case, path: &Path) -> Outcome {
    for footer in [None, Some(footer(case, false)), Some(footer(case, true))] {
        for alignment in [Alignment::Packed, Alignment::Gaps, Alignment::Sorted] {
            write(case, path, alignment, footer.clone())?;
            check(case, path, 0)?;
            check_there(case, path, "a")?;
        }
    }
    Ok(())
}
