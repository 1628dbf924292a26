use proptest::prelude::*;

use super::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().collect();
    digits.chunks(2).map(|d| u8::from_str_radix(std::str::from_utf8(d).unwrap(), 16).unwrap()).collect()
}

fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().map(|n| n.parse().unwrap()).collect()
}

/// Columns of the IoTDB 1.0.0 encoder and the values its decoder returns.
#[test]
fn columns_of_the_original_encoder_decode() {
    let sine = numbers(
        "20.289457434670865 21.324075865379243 22.888141981365777 24.285610254541886 \
         25.022808115469665 25.002394318824543 24.41799247124525 23.491950441664578 \
         22.30114805176961 20.822417256531658 19.11308555642278 17.420115483365237 \
         16.08806799967094 15.33462570597828 15.097266844252474 15.10084221884722",
    );
    let saw = numbers(
        "-0.3765642735028223 998.1577166742204 1996.6336890570897 2997.2694521893723 \
         3996.4602543828937 4994.837810019068 5994.114488994785 -7.1381441756744834 \
         993.0924006138416 1991.3003870094517 2990.6261161659886 3989.194529698758 \
         4987.2293991143615 5986.079498254576 -13.507747288022529 984.9819247150326 \
         1983.1931691160207 2983.6325816272465 3980.3674183727535 4980.806830883979",
    );
    let cases: [(&str, &[f64]); 4] = [
        ("00100006fffd60a760500aa2c2c5bd78e0", &sine),
        (
            "000800080001c231ddc304f1a7f515ca2b996468b2b10000000800070001c2d5f21805cef3c600e178f2dbcc5000000400030002870b050d4b40b000",
            &saw,
        ),
        ("00010001fffe08aa0000", &[42.5]),
        ("00030000fbcd", &[0.0, 0.0, 0.0]),
    ];
    for (bytes, want) in cases {
        let mut out = Vec::new();
        decode(&hex(bytes), want.len(), &mut out).unwrap();
        for (a, b) in out.iter().zip(want) {
            assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} {b}");
        }
    }
}

#[test]
fn impossible_blocks_are_refused() {
    assert!(decode(&hex("000100020000"), 1, &mut Vec::new()).is_err());
    assert!(decode(&hex("000000000000"), 1, &mut Vec::new()).is_err());
    assert!(decode(&hex("ffffffff0000"), 1, &mut Vec::new()).is_err());
    assert!(decode(&hex("0001"), 1, &mut Vec::new()).is_err());
}

proptest! {
    #[test]
    fn hostile_bytes_never_panic(mut src: Vec<u8>, n in 0usize..300) {
        for at in [0, 2] {
            if let Some(byte) = src.get_mut(at) { *byte = 0; }
        }
        let _ = decode(&src, n, &mut Vec::new());
    }
}
