//! A location as `std::io::Read` and `Seek`, for readers of other crates.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{Buf, Bytes};
use tesselle_core::{Location, Result};

/// Bytes fetched ahead.
const WINDOW: u64 = 4 << 20;

/// Reads a file front to back, a window at a time; on a mapped file a window is a borrow.
#[derive(Clone)]
pub(super) struct LocationReader {
    location: Location,
    size: u64,
    position: u64,
    window: Bytes,
    consumed: Arc<AtomicU64>,
}

impl LocationReader {
    pub(super) fn new(location: &Location) -> Result<Self> {
        Ok(Self {
            size: location.size()?,
            location: location.clone(),
            position: 0,
            window: Bytes::new(),
            consumed: Arc::default(),
        })
    }

    /// How many bytes have been read so far; for progress.
    pub(super) fn consumed(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.consumed)
    }
}

impl Read for LocationReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.window.is_empty() {
            let end = self.size.min(self.position.saturating_add(WINDOW));
            if self.position >= end {
                return Ok(0);
            }
            self.window = self.location.read_range(self.position..end).map_err(io::Error::other)?;
            self.consumed.fetch_add(end - self.position, Ordering::Relaxed);
        }
        let n = buffer.len().min(self.window.len());
        if let Some(part) = buffer.get_mut(..n) {
            self.window.copy_to_slice(part);
        }
        self.position += n as u64;
        Ok(n)
    }
}

impl Seek for LocationReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(distance) => self.size.checked_add_signed(distance),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
        };
        self.position = target.ok_or(io::ErrorKind::InvalidInput)?;
        self.window = Bytes::new();
        Ok(self.position)
    }
}
