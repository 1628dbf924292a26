//! tess
fn main() {}
