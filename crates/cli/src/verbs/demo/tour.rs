//! The tour, section by section. A section is a list of steps; a step is a command as a user types it.

use std::path::Path;

/// One command of the tour.
pub(super) struct Step {
    /// Its explanation.
    pub(super) why: &'static str,
    /// Its words, without `tess`.
    pub(super) words: Vec<String>,
}

/// The folder of the samples, and the names of files created by the tour.
struct Samples<'a> {
    folder: &'a Path,
}

impl Samples<'_> {
    /// A file of the folder, optionally with a table.
    fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// A command; words that start with `@` are files of the folder.
    fn step(&self, why: &'static str, words: &[&str]) -> Step {
        let word =
            |word: &&str| word.strip_prefix('@').map_or_else(|| (*word).to_owned(), |name| self.file(name));
        Step { why, words: words.iter().map(word).collect() }
    }
}

/// All steps, in order.
pub(super) fn steps(folder: &Path) -> Vec<Step> {
    let samples = Samples { folder };
    [look(&samples), read(&samples), query(&samples), convert(&samples), search(&samples), health(&samples)]
        .into_iter()
        .flatten()
        .collect()
}

fn look(samples: &Samples<'_>) -> Vec<Step> {
    vec![
        samples.step("Contents of a file", &["info", "@tensor.tet"]),
        samples.step("Contents of an array, which is a folder", &["info", "@weather.tiledb"]),
        samples.step("Every byte of a file, with its meaning", &["sketch", "@crawl.tatami"]),
        samples.step(
            "The same as a single HTML page",
            &["sketch", "--html", "@fleet.tsfile", "-o", "@fleet.html", "--force"],
        ),
    ]
}

fn read(samples: &Samples<'_>) -> Vec<Step> {
    vec![
        samples.step("A corner of the tensor", &["cat", "@tensor.tet", "--slice", "0:1,0:2,0:4"]),
        samples.step(
            "Its mean along an axis",
            &["reduce", "@tensor.tet", "--op", "mean", "--axis", "time", "--slice", "0:24,0:2,0:3"],
        ),
        samples.step("A region of the raster", &["cat", "@weather.tiledb", "--slice", "10:12,20:23"]),
        samples.step(
            "Points in a box: only the tiles that intersect it are read",
            &["cat", "@points.tiledb", "--where", "x BETWEEN 100 AND 105 AND y < 60", "--limit", "5"],
        ),
        samples.step(
            "Sensors that run hot",
            &[
                "cat",
                "@fleet.tsfile",
                "--table",
                "root.fleet.truck2",
                "--where",
                "temperature > 92",
                "--limit",
                "5",
            ],
        ),
    ]
}

#[cfg(feature = "sql")]
fn query(samples: &Samples<'_>) -> Vec<Step> {
    let table = |name: &str, file: &str| format!("{name}={}", samples.file(file));
    vec![samples.step(
        "Two formats in one query: the raster joined with the tensor",
        &[
            "sql",
            "-t",
            &table("raster", "weather.tiledb"),
            "-t",
            &table("wind", "tensor.tet"),
            "SELECT r.lat, round(avg(r.temperature), 2) AS temperature, round(avg(w.value), 2) AS wind \
                 FROM raster r JOIN wind w ON w.lat = r.lat AND w.lon = r.lon \
                 GROUP BY r.lat ORDER BY wind DESC, r.lat LIMIT 3",
        ],
    )]
}

#[cfg(not(feature = "sql"))]
fn query(_: &Samples<'_>) -> Vec<Step> {
    Vec::new()
}

fn convert(samples: &Samples<'_>) -> Vec<Step> {
    vec![
        samples.step(
            "A truck's series as Parquet",
            &["convert", "@fleet.tsfile#root.fleet.truck2", "@truck2.parquet", "--force"],
        ),
        samples.step("Both are equal", &["diff", "@fleet.tsfile#root.fleet.truck2", "@truck2.parquet"]),
        samples
            .step("The raster as a tensor file", &["convert", "@weather.tiledb", "@weather.tet", "--force"]),
        samples.step(
            "With the same values at the same coordinates",
            &["diff", "@weather.tiledb", "@weather.tet", "--columns", "temperature,rain"],
        ),
        samples.step("Through Parquet", &["convert", "@weather.tiledb", "@weather.parquet", "--force"]),
        samples.step(
            "And back: the dimensions are restored",
            &["convert", "@weather.parquet", "@again.tiledb", "--force"],
        ),
        samples.step("Nothing is lost", &["diff", "@weather.tiledb", "@again.tiledb"]),
        samples
            .step("The tensor as Zarr, for Python", &["convert", "@tensor.tet", "@tensor.zarr", "--force"]),
    ]
}

fn search(samples: &Samples<'_>) -> Vec<Step> {
    vec![
        samples.step(
            "An index over the crawl",
            &["index", "@crawl.tatami", "@pages.tatami", "--text", "title,body", "--force"],
        ),
        samples.step("And a search in it", &["search", "@pages.tatami", "river +bridge", "-k", "3"]),
    ]
}

fn health(samples: &Samples<'_>) -> Vec<Step> {
    vec![samples.step("The health of the whole folder, down to every value", &["verify", "--deep", "@"])]
}

/// Suggestions for next steps.
pub(super) fn next(folder: &Path) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    format!(
        "Next, try:
  tess info --chunks {}          the chunks of a file
  tess convert {} rows.csv --columns url,title --limit 10
  tess diff {} {} --key lat,lon --columns temperature
  tess --help                                 every verb; each has --help with examples
and open {} in a browser.
",
        at("fleet.tsfile"),
        at("crawl.tatami"),
        at("weather.tiledb"),
        at("again.tiledb"),
        at("fleet.html"),
    )
}
