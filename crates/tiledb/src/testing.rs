//! Access for fuzzers to the structures inside the filtered files of an array. Not part of the API.

use tesselle_core::Result;

use crate::meta::commits::{parse_consolidated, parse_lines};
use crate::meta::condition::Condition;
use crate::meta::consolidated::ConsolidatedFooters;
use crate::meta::enumeration::Enumeration;
use crate::meta::generic_tile::GenericTile;
use crate::meta::group::GroupDetails;
use crate::meta::key_value;
use crate::meta::schema::ArraySchema;
use crate::meta::statistics::{parse_numbers, parse_summary};

/// Parses bytes as one structure: `s`chema, `k`ey-value metadata, `c`ondition, `e`numeration, `g`roup, generic `t`ile,
/// consolidated `f`ooters, statistics (`m`), commits (`v`). Other letters are no structure.
pub fn parse(structure: u8, bytes: &[u8]) -> Result<()> {
    match structure {
        b's' => ArraySchema::parse(bytes).map(drop),
        b'k' => key_value::parse(bytes).map(drop),
        b'c' => Condition::parse(bytes, 64).map(drop),
        b'e' => Enumeration::parse(bytes).map(drop),
        b'g' => GroupDetails::parse(bytes).map(drop),
        b't' => GenericTile::parse(bytes, 0, None, 1 << 20).map(drop),
        b'f' => ConsolidatedFooters::parse(bytes).map(drop),
        b'm' => parse_numbers(bytes, "numbers").and(parse_summary(bytes, 5).map(drop)),
        b'v' => {
            parse_lines(bytes);
            parse_consolidated(bytes).map(drop)
        }
        _ => Ok(()),
    }
}
