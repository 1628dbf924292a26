//! Tasks into partitions.

use std::ops::Range;

use tesselle::Task;

/// Splits the tasks into runs of about equal cost, preserving row order inside each: at most `partitions`, and no more
/// than may be in progress at once within `memory`.
pub(super) fn split(tasks: &[Box<dyn Task>], partitions: usize, memory: u64) -> Vec<Range<usize>> {
    let largest = tasks.iter().map(|task| task.cost().memory).max().unwrap_or(0).max(1);
    let affordable = usize::try_from(memory / largest).unwrap_or(usize::MAX);
    let weights: Vec<u64> = tasks.iter().map(|task| task.cost().bytes_in.max(1)).collect();
    cut(&weights, partitions.min(affordable).max(1))
}

fn cut(weights: &[u64], partitions: usize) -> Vec<Range<usize>> {
    let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let mut groups = Vec::new();
    let (mut start, mut sum) = (0, 0_u128);
    for (i, weight) in weights.iter().enumerate() {
        sum += u128::from(*weight);
        let goal = total * (groups.len() as u128 + 1) / partitions as u128;
        if sum >= goal {
            groups.push(start..i + 1);
            start = i + 1;
        }
    }
    if start < weights.len() || groups.is_empty() {
        groups.push(start..weights.len());
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn runs_cover_all_tasks_and_weigh_about_the_same() {
        assert_eq!(cut(&[], 4), vec![0..0; 1]);
        assert_eq!(cut(&[1, 1, 1, 1], 2), [0..2, 2..4]);
        assert_eq!(cut(&[9, 1, 1, 1], 2), [0..1, 1..4]);
        assert_eq!(cut(&[1, 1], 8), [0..1, 1..2]);
        assert_eq!(cut(&[1, 1, 100], 3), vec![0..3; 1]);
        for partitions in 1..9 {
            let weights: Vec<u64> = (0..37).map(|i| i * 7 % 11 + 1).collect();
            let groups = cut(&weights, partitions);
            assert!(groups.len() <= partitions, "{groups:?}");
            let flat: Vec<usize> = groups.into_iter().flatten().collect();
            assert_eq!(flat, (0..37).collect::<Vec<_>>());
        }
    }
}
