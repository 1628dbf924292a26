//! The builder of a conversion.

use arrow_schema::DataType;
use tesselle_core::{Result, Scan};

use super::Conversion;
use crate::cast::cast_methods;
use crate::create::WriteReport;
use crate::create::target::{Target, target_methods};
use crate::open::Opener;
use crate::run::{RunOn, run_methods};
use crate::scan::scan_methods;

/// Builds a conversion of `input` into `output`. The source format is detected from the content, the target format from
/// the file name.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
/// # let (csv, tet) = (path("a.csv"), path("a.parquet"));
/// use arrow_schema::DataType;
///
/// std::fs::write(&csv, "id,speed\n1,80.5\n2,81\n3,79\n")?;
/// let report = tesselle::convert(csv, tet).cast("speed", DataType::Float32).filter("id > 1")?.run()?;
/// assert_eq!((report.format, report.summary.rows), ("parquet", 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert(input: impl Into<String>, output: impl Into<String>) -> Convert {
    Convert {
        input: input.into(),
        opener: Opener::new(),
        scan: Scan::all(),
        casts: Vec::new(),
        upgrade: false,
        auto_cast: false,
        more: Vec::new(),
        target: Target::new(output),
        run: RunOn::default(),
    }
}

/// A builder for a conversion. See [`convert`].
#[derive(Debug, Clone)]
#[must_use = "nothing is converted before `run`"]
pub struct Convert {
    input: String,
    opener: Opener,
    scan: Scan,
    casts: Vec<(String, DataType)>,
    upgrade: bool,
    auto_cast: bool,
    more: Vec<String>,
    target: Target,
    run: RunOn,
}

impl Convert {
    target_methods!();
    run_methods!();
    cast_methods!();
    scan_methods!();

    /// Sets how the source is opened: its format, its table, time travel, keys, types.
    pub fn opener(mut self, opener: Opener) -> Self {
        self.opener = opener;
        self
    }

    /// Replaces columns, filter, region and limit by those of `scan`.
    pub fn scan(mut self, scan: Scan) -> Self {
        self.scan = scan;
        self
    }

    /// Adds the rows of these inputs, one after the other in this order. They have the columns of the first input.
    pub fn then<S: Into<String>>(mut self, inputs: impl IntoIterator<Item = S>) -> Self {
        self.more.extend(inputs.into_iter().map(Into::into));
        self
    }

    /// Writes the newest version of the format if a container is converted into its own format `[default: its version]`.
    pub fn upgrade(mut self, upgrade: bool) -> Self {
        self.upgrade = upgrade;
        self
    }

    /// Converts. The target appears atomically; the source is not modified.
    pub fn run(self) -> Result<WriteReport> {
        let driver = self.run.driver()?;
        let Target { uri, format, options, attributes } = self.target;
        let conversion = Conversion {
            opener: self.opener.on(&driver),
            to: format,
            scan: self.scan,
            casts: self.casts,
            auto_cast: self.auto_cast,
            attributes,
            write: options,
            upgrade: self.upgrade,
        };
        if self.more.is_empty() {
            return super::run(&self.input, &uri, &conversion, &driver);
        }
        let inputs: Vec<String> = std::iter::once(self.input).chain(self.more).collect();
        super::merge::merge(&inputs, &uri, &conversion, &driver)
    }
}
