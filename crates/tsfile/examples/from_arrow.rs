//! Writes an Arrow IPC file as a TsFile:
//! `cargo run --example from_arrow -- in.arrow out.tsfile version=3 device=root.plant.pump`.

use arrow_ipc::reader::FileReader;
use tesselle_core::{Driver, DriverOptions, Format, Location, WriteOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(input), Some(output)) = (args.next(), args.next()) else {
        return Err("usage: from_arrow IN.arrow OUT.tsfile [name=value]…".into());
    };
    let mut options = WriteOptions::default().with_overwrite(true);
    for setting in args {
        let (name, value) = setting.split_once('=').ok_or("settings are name=value")?;
        options.settings.set(name, value);
    }
    let reader = FileReader::try_new(std::fs::File::open(input)?, None)?;
    let driver = Driver::try_new(&DriverOptions::default())?;
    let mut sink =
        tesselle_tsfile::TsFile.create(&Location::local(output)?, reader.schema(), &options, &driver)?;
    for batch in reader {
        sink.write(&batch?)?;
    }
    sink.finish()?;
    Ok(())
}
