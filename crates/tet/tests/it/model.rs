//! Random tensors, chunks, codecs, selections and conditions, compared with a flat list of cells.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use proptest::prelude::*;
use tesselle_core::array::{contiguous, read_region};
use tesselle_core::driver::{Order, scan};
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Container, DType, Depth, Location, Predicate, Region, Report, Scan, Selection};
use tesselle_tet::{Alignment, Codec, DatasetSpec, File, FooterSpec, Writer, WriterOptions};

use crate::golden::{bytes_of, driver, open_bytes, select};

/// One dataset with its cells.
#[derive(Debug, Clone)]
struct Model {
    spec: DatasetSpec,
    cells: Vec<u8>,
    by_chunk: bool,
}

fn dtype() -> impl Strategy<Value = DType> {
    prop::sample::select(DType::ALL.into_iter().filter(|dtype| *dtype != DType::I8).collect::<Vec<_>>())
}

fn axes() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((1_u64..7, 1_u64..9), 1..5)
}

fn model() -> impl Strategy<Value = Model> {
    (dtype(), axes(), any::<bool>(), any::<bool>(), any::<u64>(), 1_u64..200).prop_map(
        |(dtype, axes, zstd, by_chunk, seed, spread)| {
            let (shape, chunk): (Vec<u64>, Vec<u64>) = axes.into_iter().unzip();
            let count: u64 = shape.iter().product();
            let codec = if zstd { Codec::Zstd } else { Codec::Raw };
            let spec = DatasetSpec::new("a", dtype, shape).chunk_shape(chunk).codec(codec);
            let cells = (0..count).flat_map(|i| cell(dtype, seed.wrapping_mul(i + 1) % spread)).collect();
            Model { spec, cells, by_chunk }
        },
    )
}

/// Small numbers, and sometimes special values.
fn cell(dtype: DType, n: u64) -> Vec<u8> {
    let float = match n {
        13 => f64::NAN,
        17 => f64::NEG_INFINITY,
        19 => -0.0,
        n => n as f64 - 5.0,
    };
    match dtype {
        DType::F64 => float.to_le_bytes().to_vec(),
        DType::F32 => (float as f32).to_le_bytes().to_vec(),
        DType::F16 => half::f16::from_f64(float).to_le_bytes().to_vec(),
        _ => n.to_le_bytes()[..dtype.size()].to_vec(),
    }
}

/// Bounds of one axis, as fractions of its extent.
type AxisPick = (f64, f64, u64);

fn selection(shape: &[u64], picks: &[AxisPick]) -> Selection {
    let parts = shape.iter().zip(picks).map(|(extent, (a, b, step))| {
        let at = |share: f64| (share * (*extent as f64 + 1.0)) as u64;
        let (lo, hi) = (at(a.min(*b)), at(a.max(*b)).min(*extent));
        format!("{}:{hi}:{step}", lo.min(hi))
    });
    parts.collect::<Vec<_>>().join(",").parse().unwrap()
}

fn write(models: &[Model], alignment: Alignment, footer: Option<FooterSpec>) -> File {
    let storage = MemoryStorage::new();
    let location = Location::new(Arc::new(storage.clone()), "data.tet");
    let specs: Vec<DatasetSpec> = models
        .iter()
        .enumerate()
        .map(|(id, model)| DatasetSpec { name: format!("d{id}"), ..model.spec.clone() })
        .collect();
    let options = WriterOptions::default().with_alignment(alignment).with_footer(footer);
    let mut writer = Writer::create(&location, &specs, options, &driver()).unwrap();
    for (id, model) in models.iter().enumerate() {
        if !model.by_chunk {
            model.cells.chunks(29).for_each(|part| writer.push_rows(id, part).unwrap());
            continue;
        }
        // Chunks last to first, so that payloads are in that order.
        let (shape, edges) = (&model.spec.shape, &model.spec.chunk_shape);
        let counts: Vec<u64> = shape.iter().zip(edges).map(|(n, c)| n.div_ceil(*c)).collect();
        for linear in (0..counts.iter().product::<u64>()).rev() {
            let mut rest = linear;
            let mut chunk = vec![0; counts.len()];
            for axis in (0..counts.len()).rev() {
                chunk[axis] = rest % counts[axis];
                rest /= counts[axis];
            }
            let spans = chunk.iter().zip(shape.iter().zip(edges)).map(|(t, (n, c))| tesselle_core::Span {
                start: t * c,
                stop: n.min(&((t + 1) * c)).to_owned(),
                step: 1,
            });
            let region = Region { spans: spans.collect() };
            let bytes = select(&model.cells, shape, &region, model.spec.dtype.size());
            writer.put_chunk(id, &chunk, &bytes).unwrap();
        }
    }
    writer.finish().unwrap();
    open_bytes(storage.get("data.tet").unwrap()).unwrap()
}

fn rows(file: &File, id: usize, request: &Scan) -> RecordBatch {
    let table = file.table_at(id).unwrap();
    let rows = scan(&*table, request, &driver(), Order::Plan).unwrap();
    let schema = rows.schema();
    let batches: Vec<RecordBatch> = rows.map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn written_data_reads_back(
        models in prop::collection::vec(model(), 1..4),
        picks in prop::collection::vec((0.0..1.0, 0.0..1.0, 1_u64..4), 4),
        alignment in prop::sample::select(vec![Alignment::Packed, Alignment::Gaps, Alignment::Sorted]),
        indexes in any::<bool>(),
        batch_rows in 1_usize..50,
    ) {
        let footer = indexes.then(|| FooterSpec { indexes, ..FooterSpec::default() });
        let file = write(&models, alignment, footer);
        let mut report = Report::new(Depth::Deep);
        file.verify(Depth::Deep, &driver(), &mut report).unwrap();
        prop_assert!(report.ok(), "{:?}", report.findings());
        for (id, model) in models.iter().enumerate() {
            let (shape, size) = (&model.spec.shape, model.spec.dtype.size());
            let array = file.array(id).unwrap();
            if let Some(whole) = contiguous(&*array).unwrap() {
                prop_assert_eq!(&whole[..], &model.cells[..]);
            }
            let selection = selection(shape, &picks);
            let region = selection.resolve(&vec![0; shape.len()], shape).unwrap();
            let want = select(&model.cells, shape, &region, size);
            let mut got = vec![0; want.len()];
            read_region(&*array, &region, &mut got, &driver()).unwrap();
            prop_assert_eq!(&got, &want);
            let request = Scan::all().with_selection(selection).with_batch_rows(batch_rows);
            let batch = rows(&file, id, &request);
            prop_assert_eq!(bytes_of(batch.column(shape.len())), want);
        }
    }

    #[test]
    fn conditions_answer_as_a_filter_over_all_rows(
        model in model(),
        condition in conditions(),
        indexes in any::<bool>(),
        picks in prop::collection::vec((0.0..0.5, 0.5..1.0, 1_u64..3), 4),
        limit in prop::option::of(0_u64..20),
    ) {
        let footer = indexes.then(|| FooterSpec { indexes, ..FooterSpec::default() });
        let file = write(std::slice::from_ref(&model), Alignment::Gaps, footer);
        let predicate: Predicate = condition.parse().unwrap();
        let rank = model.spec.shape.len();
        if predicate.columns().iter().any(|name| name.strip_prefix('i').is_some_and(|n| n.parse::<usize>().unwrap() >= rank)) {
            return Ok(());
        }
        let selection = Some(selection(&model.spec.shape, &picks));
        let all = rows(&file, 0, &Scan::all().with_selection(selection.clone()));
        let want = predicate.filter(&all).unwrap();
        let want = want.slice(0, want.num_rows().min(limit.unwrap_or(u64::MAX) as usize));
        let request = Scan::all().with_selection(selection).with_predicate(predicate.clone()).with_limit(limit);
        let got = rows(&file, 0, &request);
        // NaNs compare by their bits.
        prop_assert_eq!(got.num_rows(), want.num_rows(), "{}", &condition);
        for (got, want) in got.columns().iter().zip(want.columns()) {
            prop_assert_eq!(bytes_of(got), bytes_of(want), "{}", &condition);
        }
        let last = rows(&file, 0, &request.clone().columns(["value"]));
        prop_assert_eq!(bytes_of(last.column(0)), bytes_of(want.column(rank)));
        let count = rows(&file, 0, &request.columns(Vec::<String>::new()));
        prop_assert_eq!(count.num_rows(), want.num_rows());
    }
}

fn conditions() -> impl Strategy<Value = String> {
    let compare = (
        prop::sample::select(vec!["value", "i0", "i1", "i2"]),
        prop::sample::select(vec!["=", "<>", "<", "<=", ">", ">="]),
        prop::sample::select(vec!["-5", "0", "1", "2.5", "3", "7", "50", "1e30"]),
    )
        .prop_map(|(column, op, value)| format!("{column} {op} {value}"));
    compare.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) AND ({b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) OR ({b})")),
            inner.prop_map(|a| format!("NOT ({a})")),
            Just("i0 IN (1, 3)".to_owned()),
            Just("value IS NULL".to_owned()),
        ]
    })
}
