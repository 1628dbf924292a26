//! Fixed-width values as raw bits, over which the kernels are generic.
//!
//! Kernels compute on `u64`; the constant width is folded at compile time, so one body serves four types.

mod sealed {
    pub trait Sealed {}
    impl Sealed for i32 {}
    impl Sealed for i64 {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A value of 32 or 64 bits.
pub trait Word: sealed::Sealed + Copy + Default + PartialEq + std::fmt::Debug + Send + 'static {
    /// Bits of the value, 32 or 64.
    const BITS: u32;
    /// The terminator of a Gorilla or Chimp stream: the smallest integer, or the canonical NaN.
    const TERMINATOR: u64;

    /// The raw bits, zero extended.
    fn to_word(self) -> u64;

    /// The value with these low bits.
    fn from_word(word: u64) -> Self;

    /// The raw bits with every NaN replaced by the canonical one.
    fn to_canonical_word(self) -> u64 {
        self.to_word()
    }
}

/// A signed integer of 32 or 64 bits.
pub trait Int: Word + Ord {
    /// The largest value.
    const MAX: Self;

    /// Sign extended.
    fn to_i64(self) -> i64;

    /// The low bits of `value`.
    fn from_i64(value: i64) -> Self;
}

/// A float of 32 or 64 bits, with the integer of the same width.
pub trait Float: Word {
    /// The integer of the same width.
    type Int: Int;

    /// Widened.
    fn to_f64(self) -> f64;

    /// Narrowed.
    fn from_f64(value: f64) -> Self;
}

/// The low `bits` bits set; `bits` is at most 64.
#[inline]
pub(crate) const fn low_mask(bits: u32) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> (64 - bits) }
}

impl Word for i32 {
    const BITS: u32 = 32;
    const TERMINATOR: u64 = 1 << 31;

    #[inline]
    fn to_word(self) -> u64 {
        self as u32 as u64
    }

    #[inline]
    fn from_word(word: u64) -> Self {
        word as u32 as i32
    }
}

impl Word for i64 {
    const BITS: u32 = 64;
    const TERMINATOR: u64 = 1 << 63;

    #[inline]
    fn to_word(self) -> u64 {
        self as u64
    }

    #[inline]
    fn from_word(word: u64) -> Self {
        word as i64
    }
}

impl Word for f32 {
    const BITS: u32 = 32;
    const TERMINATOR: u64 = 0x7fc0_0000;

    #[inline]
    fn to_word(self) -> u64 {
        self.to_bits() as u64
    }

    #[inline]
    fn from_word(word: u64) -> Self {
        Self::from_bits(word as u32)
    }

    #[inline]
    fn to_canonical_word(self) -> u64 {
        if self.is_nan() { Self::TERMINATOR } else { self.to_word() }
    }
}

impl Word for f64 {
    const BITS: u32 = 64;
    const TERMINATOR: u64 = 0x7ff8_0000_0000_0000;

    #[inline]
    fn to_word(self) -> u64 {
        self.to_bits()
    }

    #[inline]
    fn from_word(word: u64) -> Self {
        Self::from_bits(word)
    }

    #[inline]
    fn to_canonical_word(self) -> u64 {
        if self.is_nan() { Self::TERMINATOR } else { self.to_word() }
    }
}

impl Int for i32 {
    const MAX: Self = i32::MAX;

    #[inline]
    fn to_i64(self) -> i64 {
        self as i64
    }

    #[inline]
    fn from_i64(value: i64) -> Self {
        value as i32
    }
}

impl Int for i64 {
    const MAX: Self = i64::MAX;

    #[inline]
    fn to_i64(self) -> i64 {
        self
    }

    #[inline]
    fn from_i64(value: i64) -> Self {
        value
    }
}

impl Float for f32 {
    type Int = i32;

    #[inline]
    fn to_f64(self) -> f64 {
        self as f64
    }

    #[inline]
    fn from_f64(value: f64) -> Self {
        value as f32
    }
}

impl Float for f64 {
    type Int = i64;

    #[inline]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline]
    fn from_f64(value: f64) -> Self {
        value
    }
}
