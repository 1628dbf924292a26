//! The driver under load, errors, panics and impatient consumers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use bytes::Bytes;

use super::*;
use crate::predicate::{Comparison, Predicate};
use crate::scan::Scan;
use crate::storage::{MemoryStorage, Storage};
use crate::task::{ByteRange, Cost, Plan, Step, Task};
use crate::testing::{CountingStorage, FaultyStorage, MemoryTable};

fn driver(threads: usize, memory: u64) -> Driver {
    Driver::try_new(&DriverOptions { threads: Some(threads), memory: Some(memory) }).unwrap()
}

fn batch(value: i32) -> RecordBatch {
    RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from(vec![value])) as ArrayRef)]).unwrap()
}

fn value(batch: &RecordBatch) -> i32 {
    batch.column(0).as_any().downcast_ref::<Int32Array>().unwrap().value(0)
}

/// A task that emits batches, and then runs its ending.
struct Numbers {
    first: i32,
    left: i32,
    memory: u64,
    end: fn() -> Result<Step>,
    watch: Arc<Watch>,
}

/// Observations of the tests.
#[derive(Default)]
struct Watch {
    steps: AtomicUsize,
    alive: AtomicUsize,
    most_alive: Mutex<usize>,
}

impl Numbers {
    fn new(first: i32, count: i32, memory: u64, watch: &Arc<Watch>) -> Self {
        Self { first, left: count, memory, end: || Ok(Step::Done), watch: Arc::clone(watch) }
    }

    fn ending(self, end: fn() -> Result<Step>) -> Self {
        Self { end, ..self }
    }
}

impl Task for Numbers {
    fn cost(&self) -> Cost {
        Cost { pieces: 1, memory: self.memory, ..Cost::default() }
    }

    fn step(&mut self, _fetched: Vec<Bytes>) -> Result<Step> {
        let alive = &self.watch.alive;
        self.watch.steps.fetch_add(1, Ordering::SeqCst);
        let now = alive.fetch_add(1, Ordering::SeqCst) + 1;
        let mut most = self.watch.most_alive.lock().unwrap();
        *most = now.max(*most);
        drop(most);
        std::thread::yield_now();
        alive.fetch_sub(1, Ordering::SeqCst);
        if self.left == 0 {
            return (self.end)();
        }
        self.left -= 1;
        self.first += 1;
        Ok(Step::Batch(batch(self.first - 1)))
    }
}

fn plan(tasks: Vec<Numbers>) -> Plan {
    let pieces = tasks.len() as u64;
    Plan { tasks: tasks.into_iter().map(|task| Box::new(task) as Box<dyn Task>).collect(), pieces, pruned: 0 }
}

fn numbers(tasks: i32, each: i32, watch: &Arc<Watch>) -> Plan {
    plan((0..tasks).map(|i| Numbers::new(i * each, each, 10, watch)).collect())
}

fn storage() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::new())
}

#[test]
fn batches_come_in_plan_order_or_all_the_same() {
    for threads in 1..4 {
        let driver = driver(threads, 1000);
        let run = |order| {
            let batches = driver.batches(storage(), numbers(20, 7, &Arc::default()), order);
            batches.map(|batch| value(&batch.unwrap())).collect::<Vec<_>>()
        };
        assert!(run(Order::Plan).into_iter().eq(0..140));
        let mut any = run(Order::Any);
        any.sort_unstable();
        assert!(any.into_iter().eq(0..140));
        assert_eq!(driver.budget().used(), 0);
    }
}

#[test]
fn gathered_batches_are_in_plan_order() {
    for (threads, memory) in [(1, 10), (2, 1000), (3, 25), (4, 1000)] {
        let driver = driver(threads, memory);
        let gather = |plan| driver.batches(storage(), plan, Order::Plan).gather(|batch| Ok(Some(batch)));
        let all = gather(numbers(20, 50, &Arc::default())).unwrap();
        assert!(all.iter().map(value).eq(0..1000));
        assert!(gather(Plan::empty()).unwrap().is_empty());
        let even = driver
            .batches(storage(), numbers(9, 5, &Arc::default()), Order::Plan)
            .gather(|batch| Ok((value(&batch) % 2 == 0).then_some(batch)));
        assert!(even.unwrap().iter().map(value).eq((0..45).step_by(2)));
        assert_eq!(driver.budget().used(), 0);
    }
}

#[test]
fn gathering_fails_with_the_first_failure_of_the_plan() {
    for threads in 1..4 {
        let driver = driver(threads, 1000);
        let task = |i: i32| {
            // Later tasks fail at once, earlier ones after many batches.
            let task = Numbers::new(i * 100, if i < 3 { 100 } else { 0 }, 10, &Arc::default());
            match i {
                2 => task.ending(|| Err(Error::corrupt("the first"))),
                3.. => task.ending(|| Err(Error::corrupt("a later one"))),
                _ => task,
            }
        };
        let run = || driver.batches(storage(), plan((0..8).map(task).collect()), Order::Plan);
        let error = run().gather(|batch| Ok(Some(batch))).unwrap_err();
        assert!(error.to_string().contains("the first"), "{error}");
        let error = run().gather(|batch| match value(&batch) {
            150 => Err(Error::invalid("refused")),
            _ => Ok(Some(batch)),
        });
        assert!(error.unwrap_err().to_string().contains("refused"));
        let canceled = run();
        driver.cancel();
        assert!(canceled.gather(|batch| Ok(Some(batch))).is_err());
    }
}

#[test]
fn an_empty_plan_ends_at_once() {
    let driver = driver(2, 10);
    for order in [Order::Plan, Order::Any] {
        assert!(driver.batches(storage(), Plan::empty(), order).next().is_none());
    }
}

#[test]
fn a_dropped_run_stops_its_tasks_and_no_others() {
    let driver = driver(2, 1000);
    let watch = Arc::new(Watch::default());
    let mut first = driver.batches(storage(), numbers(1000, 1000, &watch), Order::Plan);
    let mut second = driver.batches(storage(), numbers(3, 5, &Arc::default()), Order::Plan);
    assert_eq!(value(&first.next().unwrap().unwrap()), 0);
    assert_eq!(value(&second.next().unwrap().unwrap()), 0);
    drop(first);
    assert_eq!(second.map(|batch| value(&batch.unwrap())).collect::<Vec<_>>(), (1..15).collect::<Vec<_>>());
    assert!(watch.steps.load(Ordering::SeqCst) < 1000, "tasks run ahead without end");
    driver.check_canceled().unwrap();
    // A task that was on a thread when its run was dropped returns its memory when it notices.
    while driver.budget().used() > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn open_runs_do_not_hold_up_each_other() {
    // Both have more batches than may be pending; one thread, and memory for one task.
    let driver = driver(1, 10);
    let watch = Arc::default();
    let mut paused = driver.batches(storage(), numbers(4, 50, &watch), Order::Plan);
    paused.next().unwrap().unwrap();
    let other = driver.batches(storage(), numbers(4, 50, &watch), Order::Any);
    assert_eq!(other.count(), 200);
    assert_eq!(driver.install(|| 7), 7);
    assert_eq!(paused.count(), 199);
    assert_eq!(driver.budget().used(), 0);
}

#[test]
fn a_thread_of_the_pool_may_consume() {
    let driver = driver(1, 100);
    let count = driver
        .install(|| driver.batches(storage(), numbers(5, 9, &Arc::default()), Order::Plan).flatten().count());
    assert_eq!(count, 45);
}

#[test]
fn the_memory_budget_bounds_the_tasks_under_way() {
    let driver = driver(4, 100);
    for (memory, most) in [(50, 2), (100, 1), (1000, 1)] {
        let watch = Arc::new(Watch::default());
        let tasks = (0..20).map(|i| Numbers::new(i, 3, memory, &watch)).collect();
        let mut rows = 0;
        for batch in driver.batches(storage(), plan(tasks), Order::Any) {
            batch.unwrap();
            rows += 1;
            assert!(driver.budget().used() <= 100);
        }
        assert_eq!(rows, 60, "a task that is larger than the budget runs alone");
        assert!(*watch.most_alive.lock().unwrap() <= most, "memory {memory}");
        assert_eq!(driver.budget().used(), 0);
    }
}

#[test]
fn a_piece_over_the_limit_is_refused_before_it_is_decoded() {
    struct Large(u64);
    impl Task for Large {
        fn cost(&self) -> Cost {
            Cost { pieces: 1, bytes_in: 1, memory: self.0, rows: 0 }
        }
        fn largest_piece(&self) -> u64 {
            self.0
        }
        fn step(&mut self, _fetched: Vec<Bytes>) -> Result<Step> {
            assert!(self.0 <= 32 << 20, "it is decoded");
            Ok(Step::Done)
        }
    }
    let plan = |bytes| Plan { tasks: vec![Box::new(Large(bytes))], pieces: 1, pruned: 0 };
    let limited = driver(1, 32 << 20);
    assert!(limited.batches(storage(), plan(32 << 20), Order::Plan).next().is_none());
    for order in [Order::Plan, Order::Any] {
        let mut batches = limited.batches(storage(), plan((48 << 20) - 7), order);
        let error = batches.next().unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        assert!(error.to_string().contains("allow at least 48 MiB"), "{error}");
        assert!(batches.next().is_none());
    }
    let mut large = Large(48 << 20);
    let mut cost = large.cost();
    let error = limited.next_batch(&MemoryStorage::new(), &mut large, &mut cost).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    // A larger allowed size permits more; without a limit there is none.
    limited.with_largest_piece(64 << 20).check_piece(48 << 20).unwrap();
    Driver::try_new(&DriverOptions { threads: Some(1), memory: None }).unwrap().check_piece(1 << 40).unwrap();
}

#[test]
fn an_error_ends_the_run_after_earlier_batches() {
    for order in [Order::Plan, Order::Any] {
        let driver = driver(2, 1000);
        let watch = Arc::default();
        let bad = Numbers::new(3, 1, 1, &watch).ending(|| Err(Error::corrupt("page is damaged").offset(7)));
        let tasks = vec![Numbers::new(0, 3, 1, &watch), bad, Numbers::new(10, 3, 1, &watch)];
        let mut batches = driver.batches(storage(), plan(tasks), order);
        let mut good = Vec::new();
        let error = loop {
            match batches.next().unwrap() {
                Ok(batch) => good.push(value(&batch)),
                Err(error) => break error,
            }
        };
        assert_eq!((error.kind(), error.byte_offset()), (ErrorKind::Corrupt, Some(7)));
        if order == Order::Plan {
            assert_eq!(good, [0, 1, 2, 3]);
        }
        assert!(batches.next().is_none(), "after an error there is nothing");
        driver.check_canceled().unwrap();
    }
}

#[test]
fn a_panic_is_an_error_of_the_run() {
    let driver = driver(1, 1000);
    let watch = Arc::default();
    let bad = Numbers::new(0, 1, 1, &watch).ending(|| panic!("index out of bounds"));
    let mut batches = driver.batches(storage(), plan(vec![bad]), Order::Plan);
    assert!(batches.next().unwrap().is_ok());
    let error = batches.next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert!(error.to_string().contains("index out of bounds"));
    assert!(batches.next().is_none());
    drop(batches);
    assert_eq!(driver.budget().used(), 0);
    // The pool lives on.
    assert_eq!(driver.batches(storage(), numbers(2, 2, &watch), Order::Any).count(), 4);
}

#[test]
fn a_canceled_run_returns_an_error() {
    let driver = driver(2, 1000).for_run();
    let mut batches = driver.batches(storage(), numbers(50, 50, &Arc::default()), Order::Plan);
    batches.next().unwrap().unwrap();
    driver.cancel();
    let error = batches.find_map(Result::err).expect("the end is an error");
    assert_eq!(error.kind(), ErrorKind::Canceled);
}

#[test]
fn canceling_a_driver_cancels_the_runs_made_from_it() {
    let driver = driver(2, 1000);
    let (first, second) = (driver.for_run(), driver.for_run());
    first.cancel();
    assert!(first.check_canceled().is_err());
    second.check_canceled().unwrap();
    let mut under_way = second.batches(storage(), numbers(50, 50, &Arc::default()), Order::Plan);
    under_way.next().unwrap().unwrap();
    let mut scanned = scan(&table(500), &Scan::all(), &driver, Order::Plan).unwrap();
    scanned.next().unwrap().unwrap();
    driver.cancel();
    assert_eq!(under_way.find_map(Result::err).unwrap().kind(), ErrorKind::Canceled);
    assert_eq!(scanned.into_batches().find_map(Result::err).unwrap().kind(), ErrorKind::Canceled);
    assert!(driver.for_run().check_canceled().is_err(), "nothing starts under a canceled driver");
    assert_eq!(driver.try_map(0..3, Ok).unwrap_err().kind(), ErrorKind::Canceled);
}

#[test]
fn canceling_wakes_a_consumer_whose_task_does_not_check() {
    /// Blocks inside a step, as a read of a pipe does.
    struct Stuck(std::sync::mpsc::Receiver<()>);
    impl Task for Stuck {
        fn cost(&self) -> Cost {
            Cost::default()
        }
        fn step(&mut self, _fetched: Vec<Bytes>) -> Result<Step> {
            let _ = self.0.recv();
            Ok(Step::Done)
        }
    }
    for order in [Order::Plan, Order::Any] {
        let driver = driver(1, 1000);
        let (release, stuck) = std::sync::mpsc::channel();
        let plan = Plan { tasks: vec![Box::new(Stuck(stuck))], pieces: 1, pruned: 0 };
        let mut batches = driver.batches(storage(), plan, order);
        let token = driver.cancel_token().clone();
        let canceler = std::thread::spawn(move || token.cancel());
        assert_eq!(batches.next().unwrap().unwrap_err().kind(), ErrorKind::Canceled);
        assert!(batches.next().is_none());
        canceler.join().unwrap();
        drop(release);
    }
}

#[test]
fn a_driver_under_a_token_ends_with_it() {
    let token = CancelToken::new();
    let driver = driver(1, 10).under(&token);
    assert!(token.is_used());
    driver.check_canceled().unwrap();
    token.cancel();
    assert!(driver.check_canceled().is_err());
    drop(driver);
    assert!(!token.is_used());
}

fn table(pieces: i32) -> MemoryTable {
    let pieces: Vec<RecordBatch> = (0..pieces).map(batch).collect();
    MemoryTable::new(pieces[0].schema(), pieces)
}

#[test]
fn reading_all_applies_the_rest_of_the_request() {
    let (table, driver) = (table(10), driver(3, 1 << 20));
    let read = |wanted: &Scan| {
        let all = scan(&table, wanted, &driver, Order::Plan).unwrap().read_all().unwrap();
        all.iter().map(value).collect::<Vec<_>>()
    };
    let all = read(&Scan::all());
    assert!(!all.is_empty() && all.is_sorted());
    for limit in [0, 1, all.len() / 2] {
        assert_eq!(read(&Scan::all().limit(limit as u64)), all[..limit]);
    }
    let wanted = Scan::all().filter(format!("n > {}", all[all.len() / 2]).parse().unwrap());
    assert_eq!(read(&wanted), all[all.len() / 2 + 1..]);
}

#[test]
fn a_limit_leaves_the_rest_unread() {
    let driver = driver(2, 1 << 20);
    let counting = Mutex::new(None);
    let table = table(500).on(|inner| {
        let storage = CountingStorage::new(inner);
        *counting.lock().unwrap() = Some(storage.clone());
        Arc::new(storage)
    });
    for (limit, filter) in [(3, None), (3, Some(Predicate::compare("n", Comparison::Ge, 10)))] {
        let mut request = Scan::all().limit(limit);
        request.predicate = filter.clone();
        let rows = scan(&table, &request, &driver, Order::Plan).unwrap();
        let got: Vec<i32> = rows.map(|batch| value(&batch.unwrap())).collect();
        let first = if filter.is_some() { 10 } else { 0 };
        assert!(got.into_iter().eq(first..first + 3));
    }
    let requests = counting.lock().unwrap().as_ref().unwrap().counts().requests;
    assert!(requests < 200, "{requests} of 1000 pieces were read for six rows");
    driver.check_canceled().unwrap();
}

#[test]
fn a_storage_that_fails_fails_the_run() {
    let driver = driver(2, 1 << 20);
    let table = table(10).on(|inner| Arc::new(FaultyStorage::failing(inner, 4)));
    let rows = scan(&table, &Scan::all(), &driver, Order::Plan).unwrap();
    let results: Vec<Result<RecordBatch>> = rows.into_batches().collect();
    assert_eq!(results.iter().filter(|result| result.is_err()).count(), 1);
    assert_eq!(results.last().unwrap().as_ref().unwrap_err().kind(), ErrorKind::Io);
}

#[test]
fn counters_report_the_cost_of_a_run() {
    struct Wants(bool);
    impl Task for Wants {
        fn cost(&self) -> Cost {
            Cost { pieces: 2, bytes_in: 30, memory: 30, rows: 0 }
        }
        fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
            if !std::mem::replace(&mut self.0, true) {
                return Ok(Step::Need(vec![ByteRange::new("f", 0..10), ByteRange::new("f", 10..30)]));
            }
            assert!(fetched.is_empty() || fetched.iter().map(Bytes::len).eq([10, 20]));
            Ok(if fetched.is_empty() { Step::Done } else { Step::Batch(batch(1)) })
        }
    }
    let memory = MemoryStorage::new();
    memory.put("f", vec![0; 30]);
    let driver = driver(1, 100).for_run();
    let plan = Plan { tasks: vec![Box::new(Wants(false))], pieces: 5, pruned: 3 };
    assert_eq!(driver.batches(Arc::new(memory), plan, Order::Plan).count(), 1);
    let stats = driver.counters().snapshot();
    assert_eq!((stats.pieces, stats.pruned, stats.read), (5, 3, 2));
    assert_eq!((stats.requests, stats.bytes_fetched, stats.rows), (1, 30, 1));
}

#[test]
fn shared_work_is_done_once_and_fails_with_the_first_error() {
    let driver = Driver::try_new(&DriverOptions::default().with_threads(3)).unwrap();
    let done = Mutex::new(Vec::new());
    let work = || {
        driver.share(
            (0..1000).collect(),
            || (),
            |(), n: u32| {
                done.lock().unwrap().push(n);
                Ok(())
            },
        )
    };
    work().unwrap();
    driver.install(work).unwrap();
    let mut done = done.into_inner().unwrap();
    done.sort_unstable();
    assert!(done.into_iter().eq((0..1000).flat_map(|n| [n, n])));
    for _ in 0..50 {
        let fails = |(): &mut (), n: u32| match n % 100 {
            57 => Err(Error::invalid(n.to_string())),
            _ => Ok(()),
        };
        assert_eq!(driver.share((0..1000).collect(), || (), fails).unwrap_err().message(), "57");
    }
}
