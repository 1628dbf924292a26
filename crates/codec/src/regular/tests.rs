use proptest::prelude::*;

use super::*;

fn encoded<T: Int>(values: &[T]) -> Vec<u8> {
    let mut dst = Vec::new();
    encode(values, &mut dst).unwrap();
    dst
}

#[test]
fn bytes_match_the_documented_layout() {
    assert_eq!(encoded(&[10, 12, 14]), [0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 10]);
    assert_eq!(encoded(&[10, 12, 16, 18]), [1, 0, 0, 0, 1, 0x1b, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 10]);
    let mut one = vec![0, 0, 0, 0, 1, 0x7f];
    one.extend([0xff; 7]);
    one.extend([0, 0, 0, 0, 0, 0, 0, 9]);
    assert_eq!(encoded(&[9i64]), one);
}

#[test]
fn irregular_values_are_refused() {
    let mut dst = Vec::new();
    for values in [[1, 1, 2], [1, 3, 2], [0, 2, 5], [0, 1, 1 << 30]] {
        assert!(matches!(encode(&values, &mut dst), Err(Error::Unencodable { .. })), "{values:?}");
    }
}

#[test]
fn lengths_past_the_end_are_refused() {
    let mut out = Vec::<i32>::new();
    assert!(decode(&[1, 0x7f, 0xff, 0xff, 0xff, 0], 1, &mut out).is_err());
    assert!(decode(&[0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0], 1, &mut out).is_err());
    assert!(
        decode(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1, &mut out).is_err(),
        "an empty block makes no progress"
    );
    // Bits past the last position do not count.
    let odd = [1, 0, 0, 0, 1, 0xff, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0];
    assert_eq!(count::<i32>(&odd, 100), Ok(2));
    assert!(decode(&odd, 3, &mut out).is_err());
}

proptest! {
    #[test]
    fn progressions_with_gaps_round_trip(first in -1000i64..1000, step in 1i64..50, gaps in prop::collection::vec(1i64..20, 0..400)) {
        let mut values = vec![first];
        for gap in gaps {
            values.push(values[values.len() - 1] + gap * step);
        }
        // A block without the smallest step, or with coprime steps, is refused instead of written wrongly.
        let mut dst = Vec::new();
        if encode(&values, &mut dst).is_ok() {
            let mut out = Vec::<i64>::new();
            decode(&dst, values.len(), &mut out).unwrap();
            prop_assert_eq!(&out, &values);
            prop_assert_eq!(count::<i64>(&dst, 10_000), Ok(values.len()));
        }
    }

    #[test]
    fn plain_progressions_always_round_trip(first: i32, step: i32, n in 0usize..400) {
        let values: Vec<i32> = (0..n as i32).map(|i| first.wrapping_add(i.wrapping_mul(step))).collect();
        let mut out = Vec::<i32>::new();
        decode(&encoded(&values), n, &mut out).unwrap();
        prop_assert_eq!(out, values);
    }

    #[test]
    fn hostile_bytes_never_panic(mut src: Vec<u8>, n in 0usize..400) {
        for at in [1, 2, 3] {
            if let Some(byte) = src.get_mut(at) { *byte = 0; }
        }
        let _ = decode::<i32>(&src, n, &mut Vec::new());
        let _ = decode::<i64>(&src, n, &mut Vec::new());
    }
}
