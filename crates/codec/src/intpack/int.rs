/// An integer type whose values are packed as 64-bit words.
pub trait Int: Copy + Default + Ord + Send + Sync + 'static {
    /// Bytes of one plain value.
    const BYTES: usize;
    /// Whether values are ordered with their sign.
    const SIGNED: bool;

    /// The value as 64 bits, sign-extended for signed types.
    fn widen(self) -> u64;

    /// The low bits of `word`.
    fn narrow(word: u64) -> Self;
}

macro_rules! ints {
    ($($type:ty: $signed:literal via $wide:ty),*) => {$(
        impl Int for $type {
            const BYTES: usize = size_of::<$type>();
            const SIGNED: bool = $signed;

            #[inline(always)]
            fn widen(self) -> u64 {
                self as $wide as u64
            }

            #[inline(always)]
            fn narrow(word: u64) -> Self {
                word as $type
            }
        }
    )*};
}

ints!(i8: true via i64, i16: true via i64, i32: true via i64, i64: true via i64);
ints!(u8: false via u64, u16: false via u64, u32: false via u64, u64: false via u64);
