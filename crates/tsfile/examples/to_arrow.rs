//! Writes a table of a TsFile as an Arrow IPC file: `cargo run --example to_arrow -- in.tsfile TABLE out.arrow`.

use arrow_ipc::writer::FileWriter;
use tesselle_core::driver::{Order, scan};
use tesselle_core::{Driver, DriverOptions, Format, Location, OpenOptions, Scan};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(input), Some(table), Some(output)) = (args.next(), args.next(), args.next()) else {
        return Err("usage: to_arrow IN.tsfile TABLE OUT.arrow".into());
    };
    let container = tesselle_tsfile::TsFile.open(&Location::local(input)?, &OpenOptions::default())?;
    let driver = Driver::try_new(&DriverOptions::default())?;
    let rows = scan(&*container.table(&table)?, &Scan::all(), &driver, Order::Plan)?;
    let mut writer = FileWriter::try_new(std::fs::File::create(output)?, &rows.schema())?;
    for batch in rows {
        writer.write(&batch?)?;
    }
    writer.finish()?;
    Ok(())
}
