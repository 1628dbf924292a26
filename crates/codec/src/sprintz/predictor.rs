//! What the next value is expected to be. All arithmetic wraps at the type's width.

/// Which prediction a column was written with; the column does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prediction {
    /// The value before plus a learned share of the last step.
    Learned(Product),
    /// The value before.
    Previous,
}

/// How the 64-bit learned share is computed. The forms differ only where the product passes 63 bits.
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

    /// Cut to the width and sign extended.
    fn wrap(&self, value: i64) -> i64 {
        if self.width == 32 { value as i32 as i64 } else { value }
    }

    /// The value expected after `previous`.
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

    /// True if the ways to multiply agree on the next prediction.
    pub(super) fn is_portable(&self) -> bool {
        self.width == 32 || ((self.accumulator >> 3) as i64).checked_mul(self.delta).is_some()
    }

    /// Learns from `value`, which came after `previous` with this `error` of the prediction.
    pub(super) fn train(&mut self, previous: i64, value: i64, error: i64) {
        let step = self.delta as i32;
        self.accumulator =
            if error > 0 { self.accumulator.wrapping_add(step) } else { self.accumulator.wrapping_sub(step) };
        self.delta = self.wrap(value.wrapping_sub(previous));
    }
}
