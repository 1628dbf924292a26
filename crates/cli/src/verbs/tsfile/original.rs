//! The TsFile tools of IoTDB under their own names, with their own output.

use tesselle::core::Limits;
use tesselle::tsfile::original::{self, Zone};
use tesselle::{Driver, Location, Result, Uri};

use crate::out;

/// Default path of the sketch, as in the original.
pub(super) const SKETCH_FILE: &str = "TsFile_sketch_view.txt";
/// Default path of the overview.
pub(super) const OVERVIEW_FILE: &str = "IoTDB_data_dir_overview.txt";
/// Bytes of a saved output printed at a time.
const COPY: u64 = 1 << 20;

/// `print-tsfile-sketch`: saves the sketch and prints it.
pub(super) fn sketch(path: &str, output: &str, driver: &Driver) -> Result<()> {
    let location = Uri::parse(path)?.location;
    save(output, |line| original::sketch(&location, path, &Limits::default(), driver, line))?;
    print_saved(&format!("TsFile path:{path}\nSketch save path:{output}\n"), output)
}

/// `print-iotdb-data-dir`: saves the overview of data directories and prints it.
pub(super) fn overview(directories: &str, output: &str) -> Result<()> {
    let list = directories
        .split(',')
        .map(|path| Ok((Uri::parse(path)?.location, path.to_owned())))
        .collect::<Result<Vec<_>>>()?;
    save(output, |line| original::overview(&list, &local_zone(), line))?;
    let count = list.len();
    print_saved(&format!("output save path:{output}\nTsFile data dir num:{count}\n"), output)
}

/// `print-tsfile-resource-files`: prints the time ranges of devices.
pub(super) fn resources(path: &str) -> Result<()> {
    let location = Uri::parse(path)?.location;
    let absolute = std::path::absolute(path).map_or_else(|_| path.to_owned(), |p| p.display().to_string());
    let mut out = out::target(None, false)?;
    original::print_resources(&location, &absolute, &local_zone(), &mut |text| {
        out.write(text.as_bytes())?;
        out.write(b"\n")
    })?;
    out.commit().map(drop)
}

/// Writes the lines of a tool to a file, which appears only when all of them are written.
fn save(output: &str, tool: impl FnOnce(&mut original::Line<'_>) -> Result<()>) -> Result<()> {
    let mut staged = Location::local(output)?.create(true)?;
    tool(&mut |text| {
        staged.write(text.as_bytes())?;
        staged.write(b"\n")
    })?;
    staged.commit().map(drop)
}

fn print_saved(head: &str, output: &str) -> Result<()> {
    let saved = Location::local(output)?;
    let size = saved.size()?;
    let mut out = out::target(None, false)?;
    out.write(head.as_bytes())?;
    let mut at = 0;
    while at < size {
        let end = size.min(at + COPY);
        out.write(&saved.read_range(at..end)?)?;
        at = end;
    }
    out.commit().map(drop)
}

/// The zone of the machine: `TZ`, else the link target of `/etc/localtime`, else `/etc/timezone`.
fn local_zone() -> Zone {
    let given = std::env::var("TZ").ok().map(|name| name.trim_start_matches(':').to_owned());
    let name = given.filter(|name| !name.is_empty()).or_else(system_zone);
    Zone::named(name.as_deref().unwrap_or("GMT"))
}

fn system_zone() -> Option<String> {
    let link = std::fs::read_link("/etc/localtime").ok();
    let linked = link.as_deref().and_then(std::path::Path::to_str).and_then(|path| {
        let (_, name) = path.split_once("zoneinfo/")?;
        Some(name.to_owned())
    });
    linked.or_else(|| std::fs::read_to_string("/etc/timezone").ok().map(|text| text.trim().to_owned()))
}
