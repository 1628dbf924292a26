//! What is written and read: one tensor of each kind.

use std::fmt;

use tesselle_core::DType;
use tesselle_tet::Codec;

/// One tensor.
pub struct Case {
    pub dtype: DType,
    pub shape: Vec<u64>,
    pub chunk_shape: Vec<u64>,
    pub codec: Codec,
    /// Row-major, little-endian.
    pub bytes: Vec<u8>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} in {:?}, {}", self.dtype.name(), self.shape, self.chunk_shape, self.codec.name())
    }
}

impl Case {
    /// Every type, rank and codec.
    pub fn all() -> Vec<Self> {
        let mut cases = Vec::new();
        for dtype in DType::ALL.into_iter().filter(|dtype| *dtype != DType::I8) {
            for rank in 1..=8 {
                for codec in [Codec::Raw, Codec::Zstd] {
                    cases.push(Self::new(dtype, rank, codec));
                }
            }
        }
        cases
    }

    fn new(dtype: DType, rank: usize, codec: Codec) -> Self {
        let shape = [7, 3, 4, 2, 3, 2, 2, 3][..rank].to_vec();
        let chunk_shape = [3, 2, 9, 1, 2, 2, 1, 2][..rank].to_vec();
        let count: u64 = shape.iter().product();
        let bytes = (0..count).flat_map(|i| element(dtype, i, count)).collect();
        Self { dtype, shape, chunk_shape, codec, bytes }
    }

    /// The tag of its type in a record.
    pub fn tag(&self) -> u32 {
        let tags = tetration::catalog::DATASET_DTYPE_TAG_V1;
        match self.dtype {
            DType::F16 => tags.f16,
            DType::F32 => tags.f32,
            DType::F64 => tags.f64,
            DType::I16 => tags.i16,
            DType::I32 => tags.i32,
            DType::I64 => tags.i64,
            DType::U8 => tags.u8,
            DType::U16 => tags.u16,
            DType::U32 => tags.u32,
            _ => tags.u64,
        }
    }
}

/// Numbers including the limits of their type, but no NaN: the original engine cannot read a selection that contains one.
fn element(dtype: DType, i: u64, count: u64) -> Vec<u8> {
    let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7;
    let float = match i {
        0 => f64::INFINITY,
        1 => -0.0,
        _ => (mixed % 2000) as f64 / 8.0 - 100.0,
    };
    match dtype {
        DType::F16 => half::f16::from_f64(float).to_le_bytes().to_vec(),
        DType::F32 => (float as f32).to_le_bytes().to_vec(),
        DType::F64 => float.to_le_bytes().to_vec(),
        _ if i + 1 == count => vec![0xff; dtype.size()],
        _ => mixed.to_le_bytes()[..dtype.size()].to_vec(),
    }
}
