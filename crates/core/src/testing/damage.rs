//! Reproducible damage to bytes.

/// A deterministic pseudorandom number generator.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self(0x9e37_79b9_7f4a_7c15 ^ seed)
    }

    /// The next number below `bound`, which is at least one.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % bound
    }

    /// A position in something of this length, which is at least one.
    pub fn place(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }
}

/// An endless sequence of copies of `bytes` with one to four changed bytes: half of the time one bit is flipped, else
/// the byte gets a value that is dangerous in lengths and counts.
pub fn flips(bytes: &[u8], seed: u64) -> impl Iterator<Item = Vec<u8>> {
    let mut random = Random::new(seed);
    std::iter::repeat_with(move || {
        let mut damaged = bytes.to_vec();
        for _ in 0..=random.below(4) {
            let at = random.place(damaged.len());
            damaged[at] = match random.below(8) {
                0 => 0,
                1 => 0xff,
                2 => 0x7f,
                3 => random.below(256) as u8,
                _ => damaged[at] ^ (1 << random.below(8)),
            };
        }
        damaged
    })
}

/// Every proper prefix of `bytes`, `step` bytes apart.
pub fn cuts(bytes: &[u8], step: usize) -> impl Iterator<Item = &[u8]> {
    (0..bytes.len()).step_by(step).map(|len| &bytes[..len])
}

/// Whether tests that sample are to try many more cases: `TESSELLE_THOROUGH` is set.
pub fn is_thorough() -> bool {
    std::env::var_os("TESSELLE_THOROUGH").is_some()
}
