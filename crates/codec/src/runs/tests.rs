use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn runs_round_trip(cell in 1usize..13, data in prop::collection::vec((0u8..3, 1usize..9), 0..60)) {
        let data: Vec<u8> = data.iter().flat_map(|(v, n)| vec![*v; *n * cell]).collect();
        let mut packed = Vec::new();
        encode(cell, &data, &mut packed).unwrap();
        let mut back = vec![7; data.len()];
        decode(cell, &packed, &mut back).unwrap();
        prop_assert_eq!(back, data);
    }

    #[test]
    fn hostile_runs_are_refused(cell in 0usize..13, src in prop::collection::vec(any::<u8>(), 0..90), n in 0usize..300) {
        let _ = decode(cell, &src, &mut vec![0; n]);
    }
}

#[test]
fn long_runs_are_split() {
    let mut packed = Vec::new();
    encode(1, &vec![5; 70_000], &mut packed).unwrap();
    assert_eq!(packed, [5, 0xFF, 0xFF, 5, 0x11, 0x71]);
    let mut back = vec![0; 70_000];
    decode(1, &packed, &mut back).unwrap();
    assert!(back.iter().all(|b| *b == 5));
}

#[test]
fn broken_cells_cannot_be_written() {
    assert!(encode(4, &[0; 6], &mut Vec::new()).is_err());
    assert!(encode(0, &[], &mut Vec::new()).is_err());
}

#[test]
fn cells_of_absurd_sizes_are_damage() {
    for cell in [0, usize::MAX - 1, usize::MAX] {
        assert!(decode(cell, &[1, 2, 3], &mut [0; 4]).is_err());
    }
}
