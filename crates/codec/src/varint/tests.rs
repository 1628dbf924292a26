use proptest::prelude::*;

use super::*;

#[test]
fn boundaries() {
    for (value, bytes) in [
        (0u64, vec![0u8]),
        (127, vec![0x7f]),
        (128, vec![0x80, 1]),
        (300, vec![0xac, 2]),
        (u64::MAX, vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
    ] {
        let mut out = Vec::new();
        write(value, &mut out);
        assert_eq!(out, bytes);
        assert_eq!(len(value), bytes.len());
        assert_eq!(read(&bytes), Ok((value, bytes.len())));
    }
}

#[test]
fn long_forms_are_read_and_overflow_is_refused() {
    assert_eq!(read(&[0x81, 0x00]), Ok((1, 2)));
    assert!(matches!(read(&[0xff; 10]), Err(Error::Corrupt { .. })));
    assert!(matches!(
        read(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2]),
        Err(Error::Corrupt { .. })
    ));
    assert!(matches!(read(&[0x80; 9]), Err(Error::Truncated { .. })));
    assert!(matches!(read(&[]), Err(Error::Truncated { .. })));
}

proptest! {
    #[test]
    fn every_value_round_trips(value: u64, signed: i64) {
        let mut out = Vec::new();
        write(value, &mut out);
        prop_assert_eq!(out.len(), len(value));
        let mut pos = 0;
        prop_assert_eq!(take(&out, &mut pos), Ok(value));
        prop_assert_eq!(pos, out.len());
        prop_assert_eq!(unzigzag(zigzag(signed)), signed);
    }
}
