use proptest::prelude::*;

use super::*;
use crate::word::low_mask;

#[test]
fn reading_past_the_end_yields_zeros_and_is_reported() {
    let mut reader = BitReader::new(&[0xff]);
    assert_eq!(reader.read(4), 0xf);
    assert!(!reader.overrun());
    assert_eq!(reader.read(8), 0xf0);
    assert!(reader.overrun());
    assert!(reader.check("stream").is_err());
    assert_eq!(reader.remaining(), 0);
}

#[test]
fn a_spare_byte_is_written_only_on_a_boundary() {
    let mut dst = Vec::new();
    BitWriter::new(&mut dst).finish();
    assert!(dst.is_empty());
    let mut writer = BitWriter::new(&mut dst);
    writer.write(0xab, 8);
    writer.finish_with_spare_byte();
    assert_eq!(dst, [0xab, 0]);
    let mut writer = BitWriter::new(&mut dst);
    writer.write(1, 1);
    writer.finish_with_spare_byte();
    assert_eq!(dst, [0xab, 0, 0x80]);
}

proptest! {
    #[test]
    fn fields_of_any_width_round_trip(fields in prop::collection::vec((any::<u64>(), 0u32..=64), 0..200)) {
        let mut dst = Vec::new();
        let mut writer = BitWriter::new(&mut dst);
        for &(value, width) in &fields {
            writer.write(value, width);
        }
        writer.finish();
        let total: usize = fields.iter().map(|f| f.1 as usize).sum();
        prop_assert_eq!(dst.len(), total.div_ceil(8));
        let mut reader = BitReader::new(&dst);
        for &(value, width) in &fields {
            prop_assert_eq!(reader.read(width), value & low_mask(width));
        }
        prop_assert_eq!(reader.position(), total);
        prop_assert!(reader.check("stream").is_ok());
    }

    #[test]
    fn windows_agree_with_the_reader(values in prop::collection::vec(any::<u64>(), 1..140), width in 1u32..=64) {
        let mut dst = Vec::new();
        let masked: Vec<u64> = values.iter().map(|v| v & low_mask(width)).collect();
        pack(&masked, width, &mut dst);
        let mut out = Vec::new();
        unpack(&dst, width, values.len(), &mut out).unwrap();
        prop_assert_eq!(&out, &masked);
        prop_assert!(unpack(&dst[..dst.len() - 1], width, values.len(), &mut out).is_err());
        // On its own, and followed by other bytes.
        for _ in 0..2 {
            let mut mapped = Vec::new();
            extend_unpacked(&dst, width, values.len(), &mut mapped, |v| v);
            prop_assert_eq!(&mapped, &masked);
            dst.extend_from_slice(&[0x5a; 8]);
        }
    }
}
