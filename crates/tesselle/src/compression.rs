//! Compressed text files: `x.csv.gz`, `x.jsonl.zst`.
//!
//! They are decompressed once when they are opened, into memory or a temporary file, because a table reads by position.

use std::io::{BufRead, BufReader, Read, Write};

use flate2::Compression as Level;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use tesselle_core::storage::{Staged, spool};
use tesselle_core::{Error, Location, Result};

/// How a file is compressed.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// gzip, `.gz`.
    Gzip,
    /// Zstandard, `.zst`.
    Zstd,
}

impl Compression {
    /// The compression according to the file name.
    pub fn of(name: &str) -> Option<Self> {
        match name.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "gz" => Some(Self::Gzip),
            "zst" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The compression according to the first bytes.
    fn of_content(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The content of a pipe, decompressed if it is compressed.
    pub(crate) fn spooled(input: impl Read, name: &str) -> Result<Location> {
        let mut input = BufReader::new(input);
        let head = input.fill_buf().map_err(|error| Error::io(format!("cannot read '{name}'"), error))?;
        match Self::of_content(head) {
            Some(compression) => compression.decoded(input, name, name),
            None => spool(&mut input, name),
        }
    }

    /// The name without the extension of a compression.
    pub fn inner_name(name: &str) -> &str {
        match Self::of(name) {
            Some(_) => name.rsplit_once('.').map_or(name, |(inner, _)| inner),
            None => name,
        }
    }

    /// The decompressed content of a local file, under its name without the extension.
    pub(crate) fn decompressed(self, path: &str) -> Result<Location> {
        let file = std::fs::File::open(path).map_err(|e| Error::io(format!("cannot read '{path}'"), e))?;
        self.decoded(BufReader::new(file), path, Self::inner_name(path))
    }

    /// The decompressed content of `path`, under another name.
    fn decoded(self, input: impl BufRead, path: &str, name: &str) -> Result<Location> {
        let failed = |error| Error::io(format!("cannot read '{path}'"), error);
        let mut reader: Box<dyn Read + '_> = match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(input)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(input).map_err(failed)?),
        };
        spool(&mut reader, name).map_err(|error| {
            Error::corrupt(format!("'{path}' cannot be decompressed")).class("compression").source(error)
        })
    }

    /// Compresses what is written to `inner`.
    pub fn staged(self, inner: Box<dyn Staged>) -> Box<dyn Staged> {
        let buffer = Vec::new();
        let encoder = match self {
            Self::Gzip => Encoder::Gzip(Box::new(GzEncoder::new(buffer, Level::default()))),
            Self::Zstd => Encoder::Zstd(buffer),
        };
        Box::new(CompressedStaged { inner, encoder, written: 0 })
    }
}

/// Bytes of a frame of Zstandard; frames follow each other in a file.
const FRAME: usize = 4 << 20;

/// The level that the command line tool uses.
const LEVEL: i32 = 3;

enum Encoder {
    Gzip(Box<GzEncoder<Vec<u8>>>),
    Zstd(Vec<u8>),
}

/// A staged file that compresses its content.
struct CompressedStaged {
    inner: Box<dyn Staged>,
    encoder: Encoder,
    written: u64,
}

fn failed(error: std::io::Error) -> Error {
    Error::io("cannot compress", error)
}

impl CompressedStaged {
    fn frame(&mut self) -> Result<()> {
        if let Encoder::Zstd(buffer) = &mut self.encoder {
            let frame = zstd::bulk::compress(buffer, LEVEL).map_err(failed)?;
            buffer.clear();
            self.inner.write(&frame)?;
        }
        Ok(())
    }
}

impl Staged for CompressedStaged {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.written += bytes.len() as u64;
        match &mut self.encoder {
            Encoder::Gzip(encoder) => {
                encoder.write_all(bytes).map_err(failed)?;
                let ready = std::mem::take(encoder.get_mut());
                if ready.is_empty() { Ok(()) } else { self.inner.write(&ready) }
            }
            Encoder::Zstd(buffer) => {
                buffer.extend_from_slice(bytes);
                if buffer.len() >= FRAME { self.frame() } else { Ok(()) }
            }
        }
    }

    fn write_at(&mut self, _offset: u64, _bytes: &[u8]) -> Result<()> {
        Err(Error::internal("a compressed file is written from front to back"))
    }

    fn position(&self) -> u64 {
        self.inner.position()
    }

    fn commit(mut self: Box<Self>) -> Result<u64> {
        if self.written == 0 || !matches!(&self.encoder, Encoder::Zstd(buffer) if buffer.is_empty()) {
            self.frame()?;
        }
        let Self { mut inner, encoder, .. } = *self;
        if let Encoder::Gzip(encoder) = encoder {
            inner.write(&encoder.finish().map_err(failed)?)?;
        }
        inner.commit()
    }
}
