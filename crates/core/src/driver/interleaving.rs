//! No run waits forever: any number of runs on one driver, with any plans and budgets, read in any interleaving.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::storage::MemoryStorage;
use crate::task::{Cost, Plan, Step, Task};

/// Far longer than any case takes: reached only by a case that never ends.
const WATCHDOG: Duration = Duration::from_mins(2);

/// One task of a plan.
#[derive(Debug, Clone)]
struct Shape {
    batches: usize,
    rows: usize,
    memory: u64,
    /// Loops on the pool inside of each step.
    parallel: bool,
}

/// One run, and how it is read.
#[derive(Debug, Clone)]
struct Consumer {
    tasks: Vec<Shape>,
    order: Order,
    /// Read by a thread of the pool.
    on_pool: bool,
    /// Stops after this many batches.
    limit: Option<usize>,
}

/// How several runs are read.
#[derive(Debug, Clone)]
enum Reading {
    /// Each on a separate thread.
    Apart,
    /// On one thread, always the run selected by the next number.
    InTurns(Vec<usize>),
    /// The first is started, then the others are read to their end one after the other, as a join reads its build side.
    Nested,
}

struct Toy {
    shape: Shape,
    done: usize,
}

impl Task for Toy {
    fn cost(&self) -> Cost {
        Cost { pieces: 1, bytes_in: 1, memory: self.shape.memory, rows: 0 }
    }

    fn step(&mut self, _fetched: Vec<Bytes>) -> Result<Step> {
        if self.done == self.shape.batches {
            return Ok(Step::Done);
        }
        self.done += 1;
        let rows = 0..self.shape.rows as i64;
        let values =
            if self.shape.parallel { parallel::map(rows, |n| n) } else { rows.collect::<Vec<i64>>() };
        let column: ArrayRef = Arc::new(Int64Array::from(values));
        Ok(Step::Batch(RecordBatch::try_from_iter([("n", column)])?))
    }
}

impl Consumer {
    fn start(&self, driver: &Driver) -> Batches {
        let toy = |shape: &Shape| Box::new(Toy { shape: shape.clone(), done: 0 }) as Box<dyn Task>;
        let tasks: Vec<_> = self.tasks.iter().map(toy).collect();
        let pieces = tasks.len() as u64;
        driver.for_run().batches(
            Arc::new(MemoryStorage::new()),
            Plan { tasks, pieces, pruned: 0 },
            self.order,
        )
    }

    fn expected(&self) -> usize {
        let all = self.tasks.iter().map(|task| task.batches).sum();
        self.limit.map_or(all, |limit| limit.min(all))
    }

    fn read(&self, driver: &Driver) -> usize {
        let all = || self.start(driver).take(self.limit.unwrap_or(usize::MAX)).map(Result::unwrap).count();
        if self.on_pool { driver.install(all) } else { all() }
    }
}

fn read_all(driver: &Driver, consumers: &[Consumer], reading: &Reading) {
    match reading {
        Reading::Apart => std::thread::scope(|scope| {
            for consumer in consumers {
                scope.spawn(move || assert_eq!(consumer.read(driver), consumer.expected()));
            }
        }),
        Reading::InTurns(turns) => {
            let mut runs: Vec<Batches> = consumers.iter().map(|consumer| consumer.start(driver)).collect();
            let mut counts = vec![0; runs.len()];
            let rest = (0..consumers.len()).flat_map(|i| vec![i; consumers[i].expected()]);
            for turn in turns.iter().map(|turn| turn % consumers.len()).chain(rest) {
                if counts[turn] < consumers[turn].expected() {
                    runs[turn].next().unwrap().unwrap();
                    counts[turn] += 1;
                }
            }
            assert!(counts.iter().zip(consumers).all(|(count, consumer)| *count == consumer.expected()));
        }
        Reading::Nested => {
            let Some((outer, inner)) = consumers.split_first() else { return };
            let mut run = outer.start(driver);
            let mut count = usize::from(outer.expected() > 0 && run.next().unwrap().is_ok());
            for consumer in inner {
                assert_eq!(consumer.read(driver), consumer.expected());
            }
            count += run.take(outer.expected() - count).map(Result::unwrap).count();
            assert_eq!(count, outer.expected());
        }
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    (0_usize..60, 0_usize..200, prop_oneof![0_u64..40, 40_u64..5000], any::<bool>())
        .prop_map(|(batches, rows, memory, parallel)| Shape { batches, rows, memory, parallel })
}

fn consumer() -> impl Strategy<Value = Consumer> {
    let order = prop_oneof![Just(Order::Plan), Just(Order::Any)];
    let limit = prop_oneof![3 => Just(None), 1 => (0_usize..50).prop_map(Some)];
    (prop::collection::vec(shape(), 0..8), order, any::<bool>(), limit)
        .prop_map(|(tasks, order, on_pool, limit)| Consumer { tasks, order, on_pool, limit })
}

fn reading() -> impl Strategy<Value = Reading> {
    prop_oneof![
        Just(Reading::Apart),
        prop::collection::vec(0_usize..8, 0..200).prop_map(Reading::InTurns),
        Just(Reading::Nested),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_run_ends_for_any_plans_budgets_threads_and_consumers(
        consumers in prop::collection::vec(consumer(), 1..6),
        reading in reading(),
        threads in 1_usize..5,
        memory in prop_oneof![Just(0_u64), 1_u64..100, 100_u64..10_000],
    ) {
        let driver = Driver::try_new(&DriverOptions { threads: Some(threads), memory: Some(memory) }).unwrap();
        let (done, ended) = channel();
        let (reader, case) = (driver.clone(), (consumers.clone(), reading.clone()));
        let worker = std::thread::spawn(move || {
            read_all(&reader, &case.0, &case.1);
            done.send(()).unwrap();
        });
        let hangs = matches!(ended.recv_timeout(WATCHDOG), Err(RecvTimeoutError::Timeout));
        prop_assert!(!hangs, "no progress");
        prop_assert!(worker.join().is_ok());
        // A task that was on a thread when its run was dropped returns its memory when it notices.
        while driver.budget().used() > 0 {
            std::thread::yield_now();
        }
    }
}
