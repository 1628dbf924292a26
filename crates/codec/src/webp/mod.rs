//! WebP images with 8-bit colors: lossy and lossless to read, lossless to write.

#[cfg(test)]
mod tests;

use std::io::Cursor;

use image_webp::{ColorType, WebPDecoder, WebPEncoder};

use crate::{Error, Result};

const WHAT: &str = "WebP image";

/// The order of the colors of a pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variant names are the documentation")]
pub enum Pixels {
    Rgb,
    Bgr,
    Rgba,
    Bgra,
}

impl Pixels {
    /// Bytes of a pixel.
    pub fn width(self) -> usize {
        match self {
            Self::Rgb | Self::Bgr => 3,
            Self::Rgba | Self::Bgra => 4,
        }
    }

    fn swapped(self) -> bool {
        matches!(self, Self::Bgr | Self::Bgra)
    }

    fn has_alpha(self) -> bool {
        self.width() == 4
    }
}

/// Rows of pixels, each row `stride` bytes apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The order of the colors.
    pub pixels: Pixels,
    /// Rows.
    pub height: usize,
    /// Bytes from one row to the next; the image is as wide as whole pixels fit.
    pub stride: usize,
}

impl Layout {
    fn columns(self) -> usize {
        self.stride / self.pixels.width()
    }

    fn bytes(self) -> Option<usize> {
        self.height.checked_mul(self.stride)
    }
}

/// Appends a lossless WebP image of `src`. Bytes of a row after its last whole pixel are lost.
pub fn encode(layout: Layout, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    let size = |n: usize| u32::try_from(n).ok().filter(|n| (1..=16384).contains(n));
    let (Some(width), Some(height)) = (size(layout.columns()), size(layout.height)) else {
        return Err(Error::unencodable(WHAT, format!("{} x {} pixels", layout.columns(), layout.height)));
    };
    if layout.bytes() != Some(src.len()) {
        return Err(Error::unencodable(WHAT, format!("{} bytes do not fill the image", src.len())));
    }
    let mut packed = Vec::with_capacity(src.len());
    for row in src.chunks_exact(layout.stride) {
        packed.extend_from_slice(&row[..layout.columns() * layout.pixels.width()]);
    }
    if layout.pixels.swapped() {
        swap_red_and_blue(layout.pixels, &mut packed);
    }
    let color = if layout.pixels.has_alpha() { ColorType::Rgba8 } else { ColorType::Rgb8 };
    WebPEncoder::new(dst)
        .encode(&packed, width, height, color)
        .map_err(|e| Error::unencodable(WHAT, e.to_string()))
}

/// Fills `dst` with the pixels of a WebP image of the size that `layout` states. Bytes between rows become 0.
pub fn decode(layout: Layout, src: &[u8], dst: &mut [u8]) -> Result<()> {
    let damaged = |e: image_webp::DecodingError| Error::corrupt(WHAT, e.to_string());
    if layout.bytes() != Some(dst.len()) {
        return Err(Error::Length {
            what: WHAT,
            expected: dst.len() as u64,
            found: layout.bytes().unwrap_or(0) as u64,
        });
    }
    let mut decoder = WebPDecoder::new(Cursor::new(src)).map_err(damaged)?;
    let (width, height) = decoder.dimensions();
    if (width as usize, height as usize) != (layout.columns(), layout.height) {
        let why = format!("{width} x {height} pixels, expected {} x {}", layout.columns(), layout.height);
        return Err(Error::corrupt(WHAT, why));
    }
    let size =
        decoder.output_buffer_size().ok_or_else(|| Error::corrupt(WHAT, "the image size overflows"))?;
    // Only two pixel widths exist, so the checked size bounds this.
    let mut pixels = vec![0; size];
    decoder.read_image(&mut pixels).map_err(damaged)?;
    let stored = if decoder.has_alpha() { 4 } else { 3 };
    let wanted = layout.pixels.width();
    for (row, out) in pixels.chunks_exact(layout.columns() * stored).zip(dst.chunks_exact_mut(layout.stride))
    {
        out.fill(0);
        for (pixel, space) in row.chunks_exact(stored).zip(out.chunks_exact_mut(wanted)) {
            for (i, byte) in space.iter_mut().enumerate() {
                *byte = pixel.get(i).copied().unwrap_or(0xFF);
            }
        }
        if layout.pixels.swapped() {
            swap_red_and_blue(layout.pixels, out);
        }
    }
    Ok(())
}

fn swap_red_and_blue(pixels: Pixels, bytes: &mut [u8]) {
    for pixel in bytes.chunks_exact_mut(pixels.width()) {
        pixel.swap(0, 2);
    }
}
