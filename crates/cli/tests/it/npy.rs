//! npy files, written without the engine.

/// What comes before the elements of an array of doubles in C order.
pub(crate) fn header(shape: [u64; 2]) -> Vec<u8> {
    let [rows, columns] = shape;
    let mut text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.bytes());
    bytes
}
