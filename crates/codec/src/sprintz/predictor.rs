//! Prediction of the next value. All arithmetic wraps at the type's width.

/// The prediction a column was written with; the column does not store it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prediction {
    /// The previous value plus a learned fraction of the last step.
    Learned(Product),
    /// The previous value.
    Previous,
}

/// How the 64-bit learned fraction is computed. The variants differ only where the product exceeds 63 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// In 64 bits.
    Wrapping,
    /// In 128 bits.
    Wide,
}

/// The state of a prediction within one block.
#[derive(Debug)]
pub(super) struct Predictor {
    prediction: Prediction,
    width: u32,
    accumulator: i32,
    delta: i64,
}

impl Predictor {
    pub(super) fn new(prediction: Prediction, width: u32) -> Self {
        Self { prediction, width, accumulator: 0, delta: 0 }
    }

    /// Truncates to the width and sign-extends.
    fn wrap(&self, value: i64) -> i64 {
        if self.width == 32 { value as i32 as i64 } else { value }
    }

    /// The predicted value after `previous`.
    pub(super) fn predict(&self, previous: i64) -> i64 {
        let share = match self.prediction {
            Prediction::Previous => 0,
            Prediction::Learned(_) if self.width == 32 => {
                ((self.accumulator >> 2).wrapping_mul(self.delta as i32) >> 8) as i64
            }
            Prediction::Learned(Product::Wrapping) => {
                ((self.accumulator >> 3) as i64).wrapping_mul(self.delta) >> 16
            }
            Prediction::Learned(Product::Wide) => {
                (((self.accumulator >> 3) as i128 * self.delta as i128) >> 16) as i64
            }
        };
        self.wrap(previous.wrapping_add(share))
    }

    /// True if both ways to multiply give the same next prediction.
    pub(super) fn is_portable(&self) -> bool {
        self.width == 32 || ((self.accumulator >> 3) as i64).checked_mul(self.delta).is_some()
    }

    /// Updates the state with `value`, which followed `previous` with this prediction `error`.
    pub(super) fn train(&mut self, previous: i64, value: i64, error: i64) {
        let step = self.delta as i32;
        self.accumulator =
            if error > 0 { self.accumulator.wrapping_add(step) } else { self.accumulator.wrapping_sub(step) };
        self.delta = self.wrap(value.wrapping_sub(previous));
    }
}
