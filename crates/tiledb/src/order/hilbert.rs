//! The Hilbert curve of sparse arrays (spec §8.3): bucketed coordinates, then Skilling's axes-to-transpose transform with
//! the first dimension as the most significant axis.

/// Bits per dimension, so that all of them fit 63.
pub(crate) fn bits(dims: usize) -> u32 {
    63_u32.checked_div(u32::try_from(dims).unwrap_or(u32::MAX)).unwrap_or(63)
}

/// The bucket of a number in its domain.
pub(crate) fn bucket_number(value: f64, low: f64, span: f64, bits: u32) -> u64 {
    let buckets = (1_u64 << bits.min(63)) - 1;
    // Truncates and saturates for values outside the domain; NaN is bucket 0. With one dimension the number of buckets
    // is rounded up to 2^63, which the end of the domain must not reach.
    (((value - low) / span * buckets as f64) as u64).min(buckets)
}

/// The bucket of a string whose first eight bytes are `head`, most significant first.
pub(crate) fn bucket_string(head: u64, bits: u32) -> u64 {
    head >> (64 - bits.clamp(1, 63))
}

/// The position on the curve of the buckets in `axes`, which are used as scratch space.
pub(crate) fn position(axes: &mut [u64], bits: u32) -> u64 {
    let Some(top) = bits.checked_sub(1).map(|shift| 1_u64 << shift.min(62)) else { return 0 };
    let Some((first, rest)) = axes.split_first_mut() else { return 0 };
    let mut q = top;
    while q > 1 {
        let mask = q - 1;
        if *first & q != 0 {
            *first ^= mask;
        }
        for axis in rest.iter_mut() {
            if *axis & q != 0 {
                *first ^= mask;
            } else {
                let swap = (*first ^ *axis) & mask;
                *first ^= swap;
                *axis ^= swap;
            }
        }
        q >>= 1;
    }
    let mut previous = *first;
    for axis in rest.iter_mut() {
        *axis ^= previous;
        previous = *axis;
    }
    let mut flip = 0;
    let mut q = top;
    while q > 1 {
        if previous & q != 0 {
            flip ^= q - 1;
        }
        q >>= 1;
    }
    for axis in axes.iter_mut() {
        *axis ^= flip;
    }
    let mut out = 0_u64;
    for bit in (0..bits.min(63)).rev() {
        for axis in axes.iter() {
            out = (out << 1) | ((axis >> bit) & 1);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_visits_every_cell_once_and_moves_one_step_at_a_time() {
        for (dims, bits) in [(2_u32, 4_u32), (3, 3)] {
            let side = 1_u64 << bits;
            let mut cells = vec![None; 1 << (dims * bits)];
            for cell in 0..side.pow(dims) {
                let coords: Vec<u64> = (0..dims).map(|d| cell / side.pow(d) % side).collect();
                let at = position(&mut coords.clone(), bits) as usize;
                assert!(cells[at].replace(coords).is_none());
            }
            for pair in cells.windows(2) {
                let (a, b) = (pair[0].as_ref().unwrap(), pair[1].as_ref().unwrap());
                let steps: u64 = a.iter().zip(b).map(|(x, y)| x.abs_diff(*y)).sum();
                assert_eq!(steps, 1);
            }
        }
    }

    #[test]
    fn a_curve_through_one_dimension_runs_along_it() {
        let at = |value: f64| position(&mut [bucket_number(value, 0.0, 24.0, bits(1))], bits(1));
        assert!((0..24).all(|value| at(f64::from(value)) < at(f64::from(value + 1))));
    }

    #[test]
    fn buckets_truncate() {
        assert_eq!(bucket_number(100.0, 0.0, 100.0, 31), (1 << 31) - 1);
        assert_eq!(bucket_number(100.0, 0.0, 100.0, 63), (1 << 63) - 1);
        assert_eq!(bucket_number(f64::NAN, 0.0, 100.0, 31), 0);
        assert_eq!(bucket_string(u64::from(b'a') << 56, 8), u64::from(b'a'));
        assert_eq!(bits(2), 31);
    }
}
