//! Files written here are read by the original engine, and its files here.

mod case;
mod ours;
mod theirs;

use std::path::PathBuf;
use std::process::ExitCode;

use case::Case;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".into()));
    let checks: [(&str, fn(&Case, &std::path::Path) -> Outcome); 7] = [
        ("we write, it reads", ours::written_here_reads_there),
        ("we extend along an axis, it reads", ours::extended_here_reads_there),
        ("it writes, we read", theirs::written_there_reads_here),
        ("both write the same bytes", theirs::raw_bytes_are_equal),
        ("it embeds the documents we embed", theirs::documents_are_equal),
        ("it appends to ours, we append to its", theirs::appended_in_turn),
        ("its session, our reader", theirs::session_reads_here),
    ];
    let cases = Case::all();
    let mut failed = 0;
    for (name, check) in checks {
        let mut wrong = Vec::new();
        for case in &cases {
            if let Err(error) = check(case, &folder.join("data.tet")) {
                wrong.push(format!("{case}: {error}"));
            }
        }
        println!("{:4} of {} {name}", cases.len() - wrong.len(), cases.len());
        wrong.iter().take(5).for_each(|line| println!("     {line}"));
        failed += wrong.len();
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
