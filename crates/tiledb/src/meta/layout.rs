//! Orders of tiles and cells.

use crate::{Error, Result};

/// The order of tiles in a fragment or of cells in a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The last dimension runs fastest.
    RowMajor,
    /// The first dimension runs fastest.
    ColMajor,
    /// Along the Hilbert curve (cells of sparse arrays only).
    Hilbert,
}

impl Layout {
    /// The layout with this number.
    pub(crate) fn from_id(id: u8) -> Result<Self> {
        match id {
            0 => Ok(Self::RowMajor),
            1 => Ok(Self::ColMajor),
            4 => Ok(Self::Hilbert),
            _ => Err(Error::corrupt(format!("layout {id} is not known; known are 0, 1 and 4"))),
        }
    }

    /// The number on disk.
    pub(crate) const fn id(self) -> u8 {
        match self {
            Self::RowMajor => 0,
            Self::ColMajor => 1,
            Self::Hilbert => 4,
        }
    }

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RowMajor => "row-major",
            Self::ColMajor => "col-major",
            Self::Hilbert => "hilbert",
        }
    }
}
