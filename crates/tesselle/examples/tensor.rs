//! Writes a tensor from memory into a tet file and reduces it without reading it entirely into memory.
//!
//! `cargo run -p tesselle --example tensor`

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "examples print to the terminal")]

use tesselle::reduce::{ReduceOp, reduce};
use tesselle::{Conversion, Driver, DriverOptions, Region};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let npy = folder.path().join("field.npy");
    let tet = folder.path().join("field.tet");
    std::fs::write(&npy, npy_bytes(400, 300))?;

    let driver = Driver::new(&DriverOptions::default())?;
    let mut conversion = Conversion::default();
    conversion.write.settings.set("chunk", "64,64");
    conversion.write.settings.set("codec", "zstd");
    let (source, target) = (npy.to_string_lossy(), tet.to_string_lossy());
    let converted = tesselle::convert(&source, &target, &conversion, &driver)?;
    println!("wrote {} cells in {} bytes", converted.summary.rows, converted.summary.bytes);

    let table = tesselle::open(&target)?.default_table()?;
    let array = table.array().ok_or("the table is an array")?;
    let means = reduce(&*array, &Region::whole(array.shape()), ReduceOp::Mean, &[1], &driver)?;
    println!("mean of {} rows, the first of them {}", means.values.len(), means.to_json()["values"][0]);

    let same = tesselle::open(&source)?.default_table()?.array().ok_or("a NumPy file is an array")?;
    let direct = reduce(&*same, &Region::whole(array.shape()), ReduceOp::Mean, &[1], &driver)?;
    assert_eq!(means, direct);
    Ok(())
}

/// A field of singles, as NumPy writes it.
fn npy_bytes(rows: u32, columns: u32) -> Vec<u8> {
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    let cells = (0..rows).flat_map(|y| (0..columns).map(move |x| (y * 7 + x) as f32 / 10.0));
    bytes.extend(cells.flat_map(f32::to_le_bytes));
    bytes
}
