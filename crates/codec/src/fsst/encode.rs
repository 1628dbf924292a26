use fsst::Compressor;

/// A symbol table trained on a set of strings.
pub struct Encoder {
    compressor: Compressor,
}

impl Encoder {
    /// Trains a table on `values`; deterministic.
    pub fn train(values: &[&[u8]]) -> Self {
        Self { compressor: Compressor::train(&values.to_vec()) }
    }

    /// Appends the table as [`super::Decoder::parse`] reads it.
    pub fn write_table(&self, dst: &mut Vec<u8>) {
        let lengths = self.compressor.symbol_lengths();
        dst.push(lengths.len() as u8);
        dst.extend_from_slice(lengths);
        for (symbol, &len) in self.compressor.symbol_table().iter().zip(lengths) {
            dst.extend(symbol.to_u64().to_le_bytes().iter().take(usize::from(len)));
        }
    }

    /// Returns the coded form of one string.
    pub fn encode(&self, value: &[u8]) -> Vec<u8> {
        self.compressor.compress(value)
    }
}
