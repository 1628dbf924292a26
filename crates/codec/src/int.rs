//! Little-endian integers of one width and sign, over which the typed kernels are generic.

use crate::{Error, Result};

/// The integer type of a stream. Dispatch happens once per call; the inner loops are monomorphic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variant names are the documentation")]
pub enum IntKind {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
}

impl IntKind {
    /// Bytes of one value.
    pub fn width(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 => 4,
            Self::I64 | Self::U64 => 8,
        }
    }

    /// The unsigned integer of `width` bytes.
    pub fn unsigned(width: usize) -> Option<Self> {
        match width {
            1 => Some(Self::U8),
            2 => Some(Self::U16),
            4 => Some(Self::U32),
            8 => Some(Self::U64),
            _ => None,
        }
    }
}

/// An integer in a byte stream.
pub(crate) trait Int: Copy + Ord + Default {
    const SIZE: usize;
    const SIGNED: bool;
    type Bytes: Copy + AsRef<[u8]>;
    fn from_slice(src: &[u8]) -> Self;
    fn bytes(self) -> Self::Bytes;
    fn put(self, dst: &mut [u8]);
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn wide(self) -> i128;
    /// The value as 64 bits, wrapping for large unsigned ones.
    fn narrow(self) -> i64;
    fn cut(value: i64) -> Self;
}

macro_rules! int {
    ($($t:ty, $signed:literal, $n:literal;)*) => {$(
        impl Int for $t {
            const SIZE: usize = $n;
            const SIGNED: bool = $signed;
            type Bytes = [u8; $n];
            #[inline]
            fn from_slice(src: &[u8]) -> Self {
                src.first_chunk().map_or(0, |bytes| <$t>::from_le_bytes(*bytes))
            }
            #[inline]
            fn bytes(self) -> [u8; $n] {
                self.to_le_bytes()
            }
            #[inline]
            fn put(self, dst: &mut [u8]) {
                if let Some(space) = dst.first_chunk_mut() {
                    *space = self.to_le_bytes();
                }
            }
            #[inline]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline]
            fn wide(self) -> i128 {
                i128::from(self)
            }
            #[inline]
            #[allow(clippy::unnecessary_cast, reason = "one body for all types")]
            fn narrow(self) -> i64 {
                self as i64
            }
            #[inline]
            #[allow(clippy::unnecessary_cast, reason = "one body for all types")]
            fn cut(value: i64) -> Self {
                value as $t
            }
        }
    )*};
}

int! {
    i8, true, 1; i16, true, 2; i32, true, 4; i64, true, 8;
    u8, false, 1; u16, false, 2; u32, false, 4; u64, false, 8;
}

/// Calls `$f::<T>($args)` for the integer type that `$kind` names.
macro_rules! dispatch {
    ($kind:expr, $f:ident ( $($arg:expr),* )) => {
        match $kind {
            $crate::IntKind::I8 => $f::<i8>($($arg),*),
            $crate::IntKind::I16 => $f::<i16>($($arg),*),
            $crate::IntKind::I32 => $f::<i32>($($arg),*),
            $crate::IntKind::I64 => $f::<i64>($($arg),*),
            $crate::IntKind::U8 => $f::<u8>($($arg),*),
            $crate::IntKind::U16 => $f::<u16>($($arg),*),
            $crate::IntKind::U32 => $f::<u32>($($arg),*),
            $crate::IntKind::U64 => $f::<u64>($($arg),*),
        }
    };
}
pub(crate) use dispatch;

/// Splits `src` into whole values of `size` bytes, or fails with an error that names the stream.
pub(crate) fn whole_values(what: &'static str, src: &[u8], size: usize) -> Result<usize> {
    if size == 0 || !src.len().is_multiple_of(size) {
        return Err(Error::unencodable(what, format!("{} bytes are not whole values of {size}", src.len())));
    }
    Ok(src.len() / size)
}

/// Checks that `src` and `dst` have the same length.
pub(crate) fn same_length(what: &'static str, src: &[u8], dst: &[u8]) -> Result<()> {
    if src.len() == dst.len() {
        Ok(())
    } else {
        Err(Error::Length { what, expected: dst.len() as u64, found: src.len() as u64 })
    }
}
