//! Makes the documents and the questions, once; prints the bytes of all values.

use compare_harness::arguments;
use compare_tatami::{documents, questions};

fn main() {
    let (_, folder) = arguments();
    let made = folder.join("bytes.txt");
    if !made.exists() {
        let all = documents::Documents::new();
        questions::write(&all, &folder);
        let bytes = documents::write(&all, &folder);
        std::fs::write(&made, bytes.to_string()).unwrap();
    }
    println!("{}", std::fs::read_to_string(&made).unwrap());
}
