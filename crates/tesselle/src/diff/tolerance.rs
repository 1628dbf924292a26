//! How far floats may be apart and still be equal.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::DataType;
use tesselle_core::{Error, Result};

/// How far floats may be apart and still be equal.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// By this much.
    Absolute(f64),
    /// By this part of the greater of the two.
    Relative(f64),
}

impl std::str::FromStr for Tolerance {
    type Err = Error;

    /// Reads a number, or a percentage of the value.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::invalid(format!("'{text}' is not a tolerance"))
                .hint("a number such as 0.001, or a part of the value such as 0.1%")
        };
        let (number, percent) = text.strip_suffix('%').map_or((text, false), |number| (number, true));
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        if !number.is_finite() || number < 0.0 {
            return Err(wrong());
        }
        Ok(if percent { Self::Relative(number / 100.0) } else { Self::Absolute(number) })
    }
}

/// Whether the values of a row are near enough.
type Near<'a> = Box<dyn Fn(usize) -> bool + 'a>;

impl Tolerance {
    fn holds(self, a: f64, b: f64) -> bool {
        let apart = (a - b).abs();
        match self {
            Self::Absolute(most) => apart <= most,
            // Any part of infinity is infinite.
            Self::Relative(part) => apart.is_finite() && apart <= part * a.abs().max(b.abs()),
        }
    }

    /// For two columns of floats of one type; `None` for others.
    pub(super) fn compare<'a>(self, a: &'a ArrayRef, b: &'a ArrayRef) -> Option<Near<'a>> {
        fn near<'a, T: ArrowPrimitiveType>(tolerance: Tolerance, a: &'a ArrayRef, b: &'a ArrayRef) -> Near<'a>
        where
            T::Native: Into<f64>,
        {
            let (a, b) = (a.as_primitive::<T>(), b.as_primitive::<T>());
            Box::new(move |row| {
                a.is_valid(row)
                    && b.is_valid(row)
                    && tolerance.holds(a.value(row).into(), b.value(row).into())
            })
        }
        Some(match a.data_type() {
            DataType::Float16 => near::<Float16Type>(self, a, b),
            DataType::Float32 => near::<Float32Type>(self, a, b),
            DataType::Float64 => near::<Float64Type>(self, a, b),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_relative() {
        assert_eq!("0.5".parse::<Tolerance>().unwrap(), Tolerance::Absolute(0.5));
        assert_eq!("50%".parse::<Tolerance>().unwrap(), Tolerance::Relative(0.5));
        assert!("-1".parse::<Tolerance>().is_err() && "x%".parse::<Tolerance>().is_err());
        assert!(Tolerance::Relative(0.01).holds(1000.0, 1009.0));
        assert!(!Tolerance::Relative(0.01).holds(1000.0, 1011.0));
        assert!(!Tolerance::Absolute(1.0).holds(f64::NAN, 0.0));
        assert!(!Tolerance::Relative(0.1).holds(f64::INFINITY, 5.0));
        assert!(!Tolerance::Relative(0.1).holds(f64::INFINITY, f64::NEG_INFINITY));
    }
}
