//! Decoding: the filters, last to first; the last step writes directly into the caller's buffer.

use std::borrow::Cow;

use tesselle_codec::cipher::{self, Key};
use tesselle_codec::{compress, difference, runs, scale, shuffle, strings, webp, window};
use tesselle_core::{At, Cursor, ErrorKind, Within};

use super::bound::{Bound, bounds};
use super::entries::Entries;
use super::stage::{PartCodec, Stage, StringCodec};
use super::{Chunk, TileCodec};
use crate::{Error, Result};

impl TileCodec {
    /// Fills `dst`, which has the size of the tile, from `body`.
    ///
    /// If [`TileCodec::makes_offsets`], `offsets` has one slot per cell and is filled too; otherwise it is ignored.
    pub(crate) fn decode(&self, body: &[u8], dst: &mut [u8], offsets: Option<&mut [u64]>) -> Result<()> {
        let chunks = Self::chunks(body, dst.len())?;
        if self.makes_offsets() {
            let Some(offsets) = offsets else {
                return Err(Error::internal("strings are decoded without a buffer for their offsets"));
            };
            return match chunks.as_slice() {
                [] => {
                    offsets.fill(0);
                    Ok(())
                }
                [chunk] => self.run_back(chunk, dst, offsets),
                more => {
                    Err(Error::corrupt(format!("a tile of strings has {} chunks, expected 1", more.len())))
                }
            };
        }
        for chunk in chunks {
            let out = dst.part_mut(chunk.start..chunk.start.saturating_add(chunk.original))?;
            self.decode_chunk(&chunk, out)?;
        }
        Ok(())
    }

    /// Fills `dst`, of `chunk.original` bytes, with one chunk. Not for tiles that make offsets.
    pub(crate) fn decode_chunk(&self, chunk: &Chunk<'_>, dst: &mut [u8]) -> Result<()> {
        self.run_back(chunk, dst, &mut [])
    }

    /// The bytes of a chunk as stored, if there is no filter.
    pub(crate) fn plain<'a>(&self, chunk: &Chunk<'a>) -> Option<&'a [u8]> {
        let whole = chunk.data.len() == chunk.original && chunk.metadata.is_empty();
        (self.stages.is_empty() && whole).then_some(chunk.data)
    }

    /// The distinct strings of a tile of `cells` strings of `len` bytes, and which of them each cell is: what
    /// [`TileCodec::decode`] looks up. `None` if the tile is no dictionary, or one of too many strings.
    pub(crate) fn entries(&self, body: &[u8], len: usize, cells: usize) -> Result<Option<Entries>> {
        let Some(Stage::Strings(StringCodec::Dictionary)) = self.stages.first() else { return Ok(None) };
        let chunks = Self::chunks(body, len)?;
        let [chunk] = chunks.as_slice() else { return Ok(None) };
        expect_len(chunk.original, len)?;
        let bounds = bounds(&self.stages, len, cells);
        let mut state = State::of(chunk);
        for (stage, bound) in self.stages.iter().zip(&bounds).skip(1).rev() {
            if stage.keeps_data() {
                state.pass(stage, &[])?;
            } else {
                state.undo(stage, *bound, self.key.as_ref(), len)?;
            }
        }
        let entries = state.entries(len, cells)?;
        state.expect_end()?;
        Ok(entries)
    }

    fn run_back(&self, chunk: &Chunk<'_>, dst: &mut [u8], offsets: &mut [u64]) -> Result<()> {
        expect_len(chunk.original, dst.len())?;
        let bounds = bounds(&self.stages, dst.len(), offsets.len());
        let last_writer = self.stages.iter().position(|stage| !stage.keeps_data());
        let mut state = State::of(chunk);
        for (i, (stage, bound)) in self.stages.iter().zip(&bounds).enumerate().rev() {
            if stage.keeps_data() {
                state.pass(stage, dst)?;
            } else if Some(i) == last_writer {
                state.undo_into(stage, *bound, self.key.as_ref(), dst, offsets)?;
                state.done = true;
                state.data = Cow::Borrowed(&[]);
            } else {
                state.undo(stage, *bound, self.key.as_ref(), dst.len())?;
            }
        }
        if !state.done {
            expect_len(state.data.len(), dst.len())?;
            dst.copy_from_slice(&state.data);
        }
        state.expect_end()
    }
}

fn expect_len(found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(Error::corrupt(format!("a chunk has {found} bytes, expected {expected}")))
}

/// The remainder of a chunk between two stages.
struct State<'a> {
    metadata: Cow<'a, [u8]>,
    /// Bytes of metadata consumed by later filters.
    at: usize,
    data: Cow<'a, [u8]>,
    /// The data is in the caller's buffer.
    done: bool,
}

impl<'a> State<'a> {
    fn of(chunk: &Chunk<'a>) -> Self {
        let (metadata, data) = (Cow::Borrowed(chunk.metadata), Cow::Borrowed(chunk.data));
        Self { metadata, at: 0, data, done: false }
    }
}

impl State<'_> {
    fn expect_end(&self) -> Result<()> {
        if self.at == self.metadata.len() {
            return Ok(());
        }
        Err(Error::corrupt("a chunk has metadata that no filter reads"))
    }

    fn cursor(&self) -> Cursor<'_> {
        Cursor::new(self.metadata.within(self.at..), 0, "filter metadata")
    }

    /// Runs a stage that does not change the data.
    fn pass(&mut self, stage: &Stage, dst: &[u8]) -> Result<()> {
        let Stage::Checksum(digest) = stage else { return Ok(()) };
        let data: &[u8] = if self.done { dst } else { &self.data };
        let mut cursor = self.cursor();
        let (metadata_parts, data_parts) = (cursor.u32_le()?, cursor.u32_le()?);
        let parts = cursor.count(u64::from(metadata_parts) + u64::from(data_parts), 8 + digest.len())?;
        let mut table = cursor.sub((parts * (8 + digest.len())) as u64, "checksums")?;
        let taken = cursor.position();
        let mut inputs = [Cursor::new(cursor.rest(), 0, "filter metadata"), Cursor::new(data, 0, "chunk")];
        for part in 0..parts {
            let len = table.u64_le()?;
            let digest_stored = table.bytes(digest.len())?;
            let input = usize::from(part as u64 >= u64::from(metadata_parts));
            if let Some(input) = inputs.get_mut(input) {
                digest
                    .check(input.bytes_u64(len)?, digest_stored)
                    .map_err(|e| Error::from(e).class("checksum"))?;
            }
        }
        inputs.iter().try_for_each(Cursor::expect_end)?;
        self.at += taken;
        Ok(())
    }

    /// Bytes of the data before the stage was applied.
    fn length_before(&self, stage: &Stage) -> Result<usize> {
        let mut cursor = self.cursor();
        Ok(match stage {
            Stage::Compress(_) | Stage::Aes256Gcm => {
                // The entry of a part: its original length, then its compressed length, or length, nonce and tag.
                let entry = if matches!(stage, Stage::Aes256Gcm) { 36 } else { 8 };
                let (metadata_parts, data_parts) = (cursor.u32_le()?, cursor.u32_le()?);
                let metadata_parts = cursor.count(metadata_parts.into(), entry)?;
                cursor.skip(metadata_parts * entry)?;
                let data_parts = cursor.count(data_parts.into(), entry)?;
                let mut sum = 0_usize;
                for _ in 0..data_parts {
                    sum = sum.saturating_add(cursor.u32_le()? as usize);
                    cursor.skip(entry - 4)?;
                }
                sum
            }
            Stage::BitWidth(..) => cursor.u32_le()? as usize,
            Stage::FloatScale(width, scale) => {
                (self.data.len() / scale.byte_width.max(1)).saturating_mul(*width)
            }
            _ => self.data.len(),
        })
    }

    /// Undoes a stage that is followed by others, in a chunk of `whole` bytes.
    fn undo(&mut self, stage: &Stage, bound: Bound, key: Option<&Key>, whole: usize) -> Result<()> {
        let len = self.length_before(stage)?;
        if len > bound.data {
            return Err(Error::corrupt(format!("a filter states {len} bytes in a chunk of {whole}")));
        }
        let mut space = vec![0; len];
        self.undo_into(stage, bound, key, &mut space, &mut [])?;
        self.data = Cow::Owned(space);
        Ok(())
    }

    /// Undoes a stage: `dst` gets the data, the metadata becomes that of the earlier stages.
    fn undo_into(
        &mut self,
        stage: &Stage,
        bound: Bound,
        key: Option<&Key>,
        dst: &mut [u8],
        offsets: &mut [u64],
    ) -> Result<()> {
        match stage {
            Stage::Pass | Stage::Checksum(_) => Ok(()),
            Stage::Compress(codec) => self.undo_parts(*codec, bound, dst),
            Stage::Strings(codec) => self.undo_strings(*codec, dst, offsets),
            Stage::Byteshuffle(width) => {
                self.undo_each(dst, |src, dst| shuffle::byteunshuffle(*width, src, dst))
            }
            Stage::Bitshuffle(width) => {
                self.undo_each(dst, |src, dst| shuffle::bitunshuffle(*width, src, dst))
            }
            Stage::Xor(width) => self.undo_each(dst, |src, dst| difference::xor::decode(*width, src, dst)),
            Stage::BitWidth(kind, _) => {
                self.undo_window(|metadata, src| window::bit_width::decode(*kind, metadata, src, dst))
            }
            Stage::PositiveDelta(kind, _) => {
                self.undo_window(|metadata, src| window::positive_delta::decode(*kind, metadata, src, dst))
            }
            Stage::FloatScale(width, scale) => {
                self.take_lengths()?;
                Ok(scale::decode(*width, scale, &self.data, dst)?)
            }
            Stage::Webp(layout) => {
                self.take_lengths()?;
                Ok(webp::decode(*layout, &self.data, dst)?)
            }
            Stage::Aes256Gcm => {
                let Some(key) = key else {
                    return Err(Error::new(ErrorKind::Denied, "the data is encrypted").hint("give the key"));
                };
                self.undo_cipher(key, bound, dst)
            }
        }
    }

    /// Takes `u32 n | u32 length...`, which must add up to the data.
    fn take_lengths(&mut self) -> Result<Vec<usize>> {
        let mut cursor = self.cursor();
        let stated = cursor.u32_le()?;
        let count = cursor.count(stated.into(), 4)?;
        let lengths: Vec<usize> = (0..count).map(|_| Ok(cursor.u32_le()? as usize)).collect::<Result<_>>()?;
        let sum = lengths.iter().fold(0_usize, |sum, len| sum.saturating_add(*len));
        if sum != self.data.len() {
            return Err(Error::corrupt(format!(
                "the parts of a chunk have {sum} bytes, expected {}",
                self.data.len()
            )));
        }
        self.at += cursor.position();
        Ok(lengths)
    }

    fn undo_each(
        &mut self,
        dst: &mut [u8],
        undo: impl Fn(&[u8], &mut [u8]) -> tesselle_codec::Result<()>,
    ) -> Result<()> {
        let lengths = self.take_lengths()?;
        if dst.len() != self.data.len() {
            return Err(Error::corrupt(format!(
                "a chunk has {} bytes, expected {}",
                self.data.len(),
                dst.len()
            )));
        }
        let (mut src, mut dst) = (&*self.data, dst);
        for len in lengths {
            let (Some((part, src_rest)), Some((out, dst_rest))) =
                (src.split_at_checked(len), dst.split_at_mut_checked(len))
            else {
                return Err(Error::corrupt("the parts of a chunk exceed it"));
            };
            undo(part, out)?;
            (src, dst) = (src_rest, dst_rest);
        }
        Ok(())
    }

    fn undo_window(
        &mut self,
        undo: impl FnOnce(&mut &[u8], &[u8]) -> tesselle_codec::Result<()>,
    ) -> Result<()> {
        let mut metadata = self.metadata.part(self.at..)?;
        undo(&mut metadata, &self.data)?;
        self.at = self.metadata.len() - metadata.len();
        Ok(())
    }

    fn undo_parts(&mut self, codec: PartCodec, bound: Bound, dst: &mut [u8]) -> Result<()> {
        self.undo_each_part(8, bound, dst, |_, _, stored, out| undo_part(codec, stored, out))
    }

    /// Undoes a filter that lists its parts, those of the metadata first: `original` and stored bytes of each, and what
    /// `undo` reads after them; `entry` bytes together. `undo` also gets the original size, the stored bytes and the space.
    fn undo_each_part(
        &mut self,
        entry: usize,
        bound: Bound,
        mut dst: &mut [u8],
        mut undo: impl FnMut(&mut Cursor<'_>, usize, &[u8], &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let mut cursor = self.cursor();
        let (metadata_parts, data_parts) = (cursor.u32_le()?, cursor.u32_le()?);
        let parts = cursor.count(u64::from(metadata_parts) + u64::from(data_parts), entry)?;
        let mut metadata = Vec::new();
        let mut src = Cursor::new(&self.data, 0, "chunk");
        for part in 0..parts {
            let (original, stored) = (cursor.u32_le()? as usize, cursor.u32_le()?);
            let stored = src.bytes_u64(stored.into())?;
            if (part as u64) < u64::from(metadata_parts) {
                let start = metadata.len();
                let end = start.saturating_add(original);
                if end > bound.metadata {
                    return Err(Error::corrupt(format!("a filter states {end} bytes of metadata")));
                }
                metadata.resize(end, 0);
                undo(&mut cursor, original, stored, metadata.part_mut(start..)?)?;
            } else {
                let Some((out, rest)) = dst.split_at_mut_checked(original) else {
                    return Err(Error::corrupt(format!("a part of {original} bytes exceeds its chunk")));
                };
                undo(&mut cursor, original, stored, out)?;
                dst = rest;
            }
        }
        src.expect_end()?;
        cursor.expect_end()?;
        if !dst.is_empty() {
            return Err(Error::corrupt(format!("{} bytes of a chunk are missing", dst.len())));
        }
        (self.metadata, self.at) = (Cow::Owned(metadata), 0);
        Ok(())
    }

    /// The metadata of `cells` strings of `len` bytes, up to two widths that depend on how they are stored.
    fn strings(&self, len: usize, cells: usize) -> Result<(Cursor<'_>, u8, u8)> {
        let mut cursor = self.cursor();
        let head = (cursor.u32_le()?, cursor.u32_le()?);
        let (original, stored, offset_bytes) = (cursor.u32_le()?, cursor.u32_le()?, cursor.u32_le()?);
        let (first, second) = (cursor.u8()?, cursor.u8()?);
        let expected = (len, self.data.len(), cells.saturating_mul(8));
        if head != (0, 1) || (original as usize, stored as usize, offset_bytes as usize) != expected {
            return Err(Error::corrupt(format!(
                "strings of {original} bytes in {stored} with {offset_bytes} bytes of offsets, expected {expected:?}"
            )));
        }
        Ok((cursor, first, second))
    }

    /// The distinct strings of `cells` strings of `len` bytes; `None` if they are too many.
    fn entries(&mut self, len: usize, cells: usize) -> Result<Option<Entries>> {
        let (mut cursor, id_width, length_width) = self.strings(len, cells)?;
        let size = cursor.u32_le()?;
        let stored = cursor.bytes_u64(size.into())?;
        let mut ids = Vec::with_capacity(cells.min(self.data.len()));
        let strings = strings::dictionary::split(id_width, length_width, stored, &self.data, len, &mut ids)?;
        if ids.len() != cells && strings.is_some() {
            return Err(Error::corrupt(format!("a tile has {} strings, expected {cells}", ids.len())));
        }
        let entries = strings.map(|strings| Entries::new(&strings, ids));
        self.at += cursor.position();
        Ok(entries)
    }

    fn undo_strings(&mut self, codec: StringCodec, dst: &mut [u8], offsets: &mut [u64]) -> Result<()> {
        let (mut cursor, first, second) = self.strings(dst.len(), offsets.len())?;
        match codec {
            StringCodec::Rle => {
                let widths = strings::runs::Widths { run: first, string: second };
                strings::runs::decode(widths, &self.data, dst, offsets)?;
            }
            StringCodec::Dictionary => {
                let len = cursor.u32_le()?;
                let entries = cursor.bytes_u64(len.into())?;
                strings::dictionary::decode(first, second, entries, &self.data, dst, offsets)?;
            }
        }
        self.at += cursor.position();
        Ok(())
    }

    fn undo_cipher(&mut self, key: &Key, bound: Bound, dst: &mut [u8]) -> Result<()> {
        self.undo_each_part(36, bound, dst, |cursor, plain, stored, out| {
            let (iv, tag) = (cursor.array()?, cursor.array()?);
            if plain != stored.len() {
                return Err(Error::corrupt(format!("{plain} bytes are encrypted as {}", stored.len())));
            }
            out.copy_from_slice(stored);
            cipher::decrypt(key, iv, tag, out)
                .map_err(|e| Error::new(ErrorKind::Denied, e.to_string()).hint("check the key"))
        })
    }
}

fn undo_part(codec: PartCodec, src: &[u8], dst: &mut [u8]) -> Result<()> {
    match codec {
        PartCodec::General(compressor, _) => compress::decompress_into(compressor, src, dst)?,
        PartCodec::Rle(cell) => runs::decode(cell, src, dst)?,
        PartCodec::Delta(kind) => difference::delta::decode(kind, src, dst)?,
        PartCodec::DoubleDelta(kind) => difference::double_delta::decode(kind, src, dst)?,
    }
    Ok(())
}
