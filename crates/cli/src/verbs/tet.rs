//! `tess tet`: tet-specific tools.

use clap::{Args, Subcommand};
use serde_json::json;
use tesselle::tet::{self, Codec, DatasetSpec, Writer, WriterOptions};
use tesselle::{
    ArrayView, DType, Driver, Error, Location, OpenOptions, Opener, Result, Settings, Summary, Uri,
};

use crate::args::ResourceArgs;
use crate::{Outcome, format, out};

/// tet tools: add, remove, rename and extend the datasets of a file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess tet add run.tet pressure.npy --name pressure --set codec=zstd
  tess tet append run.tet#pressure next.npy --axis time
  tess tet rename run.tet pressure p
  tess tet remove run.tet p

Each command replaces the file atomically; unchanged chunks are copied as
stored.")]
pub(crate) struct TetVerb {
    #[command(subcommand)]
    tool: Tool,

    /// Report as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
enum Tool {
    /// Add an array as a new dataset
    #[command(after_help = "\
Examples:
  tess tet add run.tet pressure.npy
  tess tet add run.tet 'other.tet#wind' --name wind/old --set chunk=64,64")]
    Add {
        /// File
        file: String,
        /// Array: npy, a dataset of a tet file, a dense TileDB array, an array of a Zarr group
        input: String,
        /// Name of the dataset [default: the name of the input]
        #[arg(long)]
        name: Option<String>,
        /// Setting of the dataset: chunk, codec, level or checksum; repeatable
        #[arg(long = "set", value_name = "NAME=VALUE")]
        settings: Vec<String>,
    },
    /// Extend a dataset along an axis
    #[command(after_help = "Example:\n  tess tet append run.tet#pressure next.npy --axis time")]
    Append {
        /// Dataset, as FILE#DATASET
        dataset: String,
        /// Array; its extents on the other axes equal those of the dataset
        input: String,
        /// Axis, by name or number [default: 0]
        #[arg(long)]
        axis: Option<String>,
    },
    /// Rename a dataset
    #[command(after_help = "Example:\n  tess tet rename run.tet pressure p")]
    Rename {
        /// File
        file: String,
        /// Dataset
        from: String,
        /// Its new name
        to: String,
    },
    /// Remove datasets
    #[command(after_help = "Example:\n  tess tet remove run.tet pressure wind")]
    Remove {
        /// File
        file: String,
        /// Datasets
        #[arg(required = true)]
        names: Vec<String>,
    },
}

impl TetVerb {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        let driver = resources.driver()?;
        let (file, summary, what) = match &self.tool {
            Tool::Add { file, input, name, settings } => {
                let settings = Settings::from_pairs(settings)?;
                let (summary, name) = add(file, input, name.as_deref(), &settings, &driver)?;
                (file.clone(), summary, format!("dataset '{name}' added"))
            }
            Tool::Append { dataset, input, axis } => {
                let (file, summary) = append(dataset, input, axis.as_deref(), &driver)?;
                (file, summary, "extended".to_owned())
            }
            Tool::Rename { file, from, to } => {
                let summary = tet::rename(&Location::local(file)?, from, to, &driver)?;
                (file.clone(), summary, format!("dataset '{from}' renamed to '{to}'"))
            }
            Tool::Remove { file, names } => {
                let known: Vec<&str> = names.iter().map(String::as_str).collect();
                let summary = tet::remove(&Location::local(file)?, &known, &driver)?;
                (file.clone(), summary, format!("{} removed", names.join(", ")))
            }
        };
        if self.json {
            out::print_json(
                &json!({ "file": file, "bytes": summary.bytes, "chunks": summary.pieces, "lost": summary.lost }),
            )?;
        } else {
            out::print(&format!("{file}: {what}, {}\n", format::bytes(summary.bytes)))?;
            for line in &summary.lost {
                out::note(&format!("  not kept: {line}"));
            }
        }
        Ok(Outcome::Fine)
    }
}

/// An input that is a single array, and its name.
fn array(input: &str, driver: &Driver) -> Result<(std::sync::Arc<dyn ArrayView>, Option<String>)> {
    let source = Opener::new().on(driver).open(input)?.default_table()?;
    let array = source.array().ok_or_else(|| {
        Error::invalid(format!("'{input}' is not one array")).hint("select one of its arrays with #NAME")
    })?;
    let name = source.table().name();
    Ok((array, Some(name.to_owned()).filter(|name| !name.is_empty())))
}

fn add(
    file: &str,
    input: &str,
    name: Option<&str>,
    settings: &Settings,
    driver: &Driver,
) -> Result<(Summary, String)> {
    settings.expect_only(&["chunk", "codec", "level", "checksum"])?;
    let (array, own_name) = array(input, driver)?;
    let stem = || {
        let last = Uri::split(input).0.trim_end_matches('/').rsplit('/').next();
        last.and_then(|last| last.split('.').next()).filter(|stem| !stem.is_empty()).map(str::to_owned)
    };
    let name = name.map(str::to_owned).or(own_name).or_else(stem).unwrap_or_else(|| "data".to_owned());
    let dtype = if array.dtype() == DType::I8 { DType::I16 } else { array.dtype() };
    let mut spec = DatasetSpec::new(&name, dtype, array.shape());
    if let Some(text) = settings.get("chunk") {
        let numbers: Option<Vec<u64>> = text.split(',').map(|word| word.trim().parse().ok()).collect();
        spec.chunk_shape = numbers.ok_or_else(|| {
            Error::invalid(format!("chunk={text} is not a list of numbers")).hint("use the form 512,512")
        })?;
    }
    spec.level = settings.zstd_level()?;
    spec.codec = match settings.get("codec") {
        Some("zstd") => Codec::Zstd,
        None | Some("raw") => Codec::Raw,
        Some(other) => {
            return Err(Error::invalid(format!("codec={other} is not known")).hint("use raw or zstd"));
        }
    };
    let checksum = settings.parse::<bool>("checksum", "true or false")?;
    if (spec.level.is_some() || checksum == Some(true)) && spec.codec == Codec::Raw {
        return Err(Error::invalid("level and checksum require the codec zstd").hint("add --set codec=zstd"));
    }
    let location = Location::local(file)?;
    let options = WriterOptions::default().with_checksum(checksum.unwrap_or(true));
    let id = tet::File::open(&location, &OpenOptions::default())?.datasets();
    let mut writer = Writer::append(&location, std::slice::from_ref(&spec), options, driver)?;
    writer.put_array(id, &*array)?;
    Ok((writer.finish()?, name))
}

fn append(dataset: &str, input: &str, axis: Option<&str>, driver: &Driver) -> Result<(String, Summary)> {
    let Uri { location, table } = Uri::parse(dataset)?;
    let file = tet::File::open(&location, &OpenOptions::default())?;
    let names = tesselle::Container::table_names(&file);
    let name = match (&table, names.as_slice()) {
        (Some(name), _) => name.clone(),
        (None, [only]) => only.clone(),
        _ => {
            return Err(Error::invalid(format!("the file has {} datasets; select one", names.len()))
                .hint("use FILE#DATASET"));
        }
    };
    let axis = match axis {
        None => 0,
        Some(text) => {
            let table = tesselle::Container::table(&file, &name)?;
            let view = table.array("value").ok_or_else(|| Error::internal("a dataset is not an array"))?;
            let known = view.axis_names();
            let by_name = known.iter().position(|axis| axis == text).or_else(|| text.parse().ok());
            by_name.ok_or_else(|| Error::unknown_name("axis", text, known.iter().map(String::as_str)))?
        }
    };
    let (array, _) = array(input, driver)?;
    Ok((location.path().to_owned(), tet::extend(&location, &name, axis, &*array, driver)?))
}
