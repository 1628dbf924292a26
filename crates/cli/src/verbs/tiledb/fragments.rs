//! `tess tiledb fragments`.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tesselle::tiledb::{FragmentFacts, fragments, fragments_with_mbrs};
use tesselle::{Location, Result};

use super::TileDb;
use crate::Outcome;
use crate::format::{self, Align, TextTable};
use crate::verbs::info::chunks;
use crate::verbs::info::render::plain;

impl TileDb {
    /// The fragments that reads use, on request with their tiles or the MBRs of their R-trees.
    pub(super) fn fragments(&self, array: &str, tiles: bool, rtree: bool) -> Result<Outcome> {
        let (location, options) = (Location::local(array)?, self.read.options()?);
        let read = if rtree { fragments_with_mbrs } else { fragments };
        let mut found = read(&location, &options)?;
        if tiles {
            let mut listed = self.read.opener(None)?.open(array)?.container().chunks(None)?;
            for fragment in &mut found {
                let own = |tile: &mut Value| tile["fragment"] == *fragment.name;
                let own: Vec<Value> = listed.extract_if(.., own).collect();
                fragment.footer["tile_list"] = own.into_iter().map(without_fragment).collect();
            }
        }
        let mut text = summary(&found).render("");
        for fragment in found.iter().filter(|_| tiles || rtree) {
            let _ = writeln!(text, "\n{}", fragment.name);
            details(&mut text, &fragment.footer);
        }
        let footers: Vec<&Value> = found.iter().map(|fragment| &fragment.footer).collect();
        self.report(&json!({ "fragments": footers }), &text)
    }
}

/// A tile without the name of its fragment.
fn without_fragment(mut tile: Value) -> Value {
    if let Some(facts) = tile.as_object_mut() {
        facts.shift_remove("fragment");
    }
    tile
}

fn summary(found: &[FragmentFacts]) -> TextTable {
    let right = Align::Right;
    let mut table = TextTable::new(&[
        ("fragment", Align::Left),
        ("version", right),
        ("from", right),
        ("to", right),
        ("cells", right),
        ("tiles", right),
        ("size", right),
    ]);
    for fragment in found {
        table.row([
            fragment.name.clone(),
            fragment.version.to_string(),
            fragment.timestamps.0.to_string(),
            fragment.timestamps.1.to_string(),
            format::count(fragment.cells),
            format::count(fragment.tiles),
            format::bytes(fragment.bytes),
        ]);
    }
    table
}

/// The MBRs by level, then the tiles, whichever the footer has.
fn details(text: &mut String, footer: &Value) {
    for (level, mbrs) in footer["rtree"]["mbrs"].as_array().into_iter().flatten().enumerate() {
        for (number, mbr) in mbrs.as_array().into_iter().flatten().enumerate() {
            let _ = writeln!(text, "  level {level}, MBR {number}: {}", plain(mbr));
        }
    }
    if let Some(tiles) = footer["tile_list"].as_array() {
        chunks::table(text, tiles, false);
    }
}
