use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn encrypted_data_round_trips(key in any::<[u8; 32]>(), iv in any::<[u8; 12]>(), data in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut buffer = data.clone();
        let tag = encrypt(&Key::new(key), iv, &mut buffer).unwrap();
        decrypt(&Key::new(key), iv, tag, &mut buffer).unwrap();
        prop_assert_eq!(buffer, data);
    }
}

#[test]
fn a_published_test_vector_matches() {
    // Test case 14 of the GCM paper: all-zero key, vector and block.
    let mut block = [0; 16];
    let tag = encrypt(&Key::new([0; 32]), [0; 12], &mut block).unwrap();
    assert_eq!(block[..4], [0xce, 0xa7, 0x40, 0x3d]);
    assert_eq!(tag[..4], [0xd0, 0xd1, 0xc8, 0xa7]);
}

#[test]
fn a_wrong_key_or_a_changed_byte_is_refused() {
    let mut data = *b"sixteen byte msg";
    let tag = encrypt(&Key::new([1; 32]), [2; 12], &mut data).unwrap();
    assert!(decrypt(&Key::new([3; 32]), [2; 12], tag, &mut data.clone()).is_err());
    let mut changed = data;
    changed[0] ^= 1;
    assert!(decrypt(&Key::new([1; 32]), [2; 12], tag, &mut changed).is_err());
    assert_eq!(format!("{:?}", Key::new([1; 32])), "Key(..)");
}
