//! BM25 scoring arithmetic, bit-exact (spec §22).
//!
//! There is no length normalization. Operations and their order are fixed, because scores are compared as
//! bits; the logarithm is computed here, so that scores do not depend on the platform's library.

/// Saturation of the term frequency.
const K1: f32 = 1.2;

/// Contributions of smaller frequencies are tabulated.
const TABLE: usize = 64;

/// Weight of a term that `df` of `docs` documents contain; `df` above `docs` counts as `docs`.
pub fn idf(docs: u64, df: u64) -> f32 {
    let (docs, df) = (docs as f64, df.min(docs) as f64);
    ln(1.0 + (docs - df + 0.5) / (df + 0.5)) as f32
}

/// The contribution of a term of weight `idf` to a document that contains it `freq` times.
pub fn contribution(idf: f32, freq: u32) -> f32 {
    let freq = freq as f32;
    idf * freq * (K1 + 1.0) / (K1 + freq)
}

/// Contributions of one term.
#[derive(Debug, Clone)]
pub(crate) struct TermWeight {
    idf: f32,
    table: [f32; TABLE],
}

impl TermWeight {
    pub(crate) fn new(idf: f32) -> Self {
        let mut table = [0.0; TABLE];
        for (freq, slot) in table.iter_mut().enumerate() {
            *slot = contribution(idf, freq as u32);
        }
        Self { idf, table }
    }

    /// The contribution to a document that contains the term `freq` times.
    #[inline]
    pub(crate) fn of(&self, freq: u32) -> f32 {
        match self.table.get(freq as usize) {
            Some(&known) => known,
            None => contribution(self.idf, freq),
        }
    }
}

/// Natural logarithm of a finite number of at least 1: argument reduction to [√½, √2), then the polynomial in
/// s = f / (2 + f) of the classic double precision approximation (error below one unit in the last place).
fn ln(x: f64) -> f64 {
    const LN2_HI: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
    const LN2_LO: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
    const L: [f64; 7] = [
        f64::from_bits(0x3fe5_5555_5555_5593),
        f64::from_bits(0x3fd9_9999_9997_fa04),
        f64::from_bits(0x3fd2_4924_9422_9359),
        f64::from_bits(0x3fcc_71c5_1d8e_78af),
        f64::from_bits(0x3fc7_4664_96cb_03de),
        f64::from_bits(0x3fc3_9a09_d078_c69f),
        f64::from_bits(0x3fc2_f112_df3e_5244),
    ];
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1022;
    // The mantissa in [0.5, 1).
    let mut mantissa = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 0x3fe0_0000_0000_0000);
    if mantissa < std::f64::consts::FRAC_1_SQRT_2 {
        mantissa *= 2.0;
        exponent -= 1;
    }
    let f = mantissa - 1.0;
    let k = exponent as f64;
    let s = f / (2.0 + f);
    let s2 = s * s;
    let s4 = s2 * s2;
    let odd = s2 * (L[0] + s4 * (L[2] + s4 * (L[4] + s4 * L[6])));
    let even = s4 * (L[1] + s4 * (L[3] + s4 * L[5]));
    let half = 0.5 * f * f;
    k * LN2_HI - ((half - (s * (half + (odd + even)) + k * LN2_LO)) - f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_and_scores_of_the_worked_example() {
        let (rare, even) = (idf(700, 3), idf(700, 350));
        assert_eq!(rare, 5.299_745);
        assert_eq!(even, std::f32::consts::LN_2);
        assert_eq!(contribution(rare, 3).to_bits(), 0x4105_4030);
        assert_eq!(contribution(rare, 2).to_bits(), 0x40e9_3054);
        assert_eq!(contribution(rare, 1).to_bits(), 0x40a9_9783);
        assert_eq!(contribution(even, 3).to_bits(), 0x3f8b_6bef);
    }

    #[test]
    fn a_document_frequency_above_the_total_is_capped() {
        assert_eq!(idf(10, 11).to_bits(), idf(10, 10).to_bits());
        assert_eq!(contribution(2.0, 0), 0.0);
    }

    #[test]
    fn logarithm_agrees_with_the_library_to_the_last_place() {
        let mut x = 1.0f64;
        while x < 1e12 {
            assert!((ln(x) - x.ln()).abs() <= x.ln() * 4e-16, "{x}");
            x *= 1.000_37;
        }
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn the_table_matches_the_formula() {
        let weight = TermWeight::new(idf(1000, 17));
        for freq in [0, 1, 63, 64, 65, 70_000] {
            assert_eq!(weight.of(freq).to_bits(), contribution(idf(1000, 17), freq).to_bits());
        }
    }
}
