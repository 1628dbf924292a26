//! tet: datasets of different types, shapes, chunks and codecs in one file, with footers of every kind.

use std::path::Path;

use proptest::prelude::*;
use tesselle::tet::{
    Alignment, AxisLabels, Codec, DatasetMetadata, DatasetSpec, FooterSpec, HistoryRow, MemoryBudget,
    Metadata, Writer, WriterOptions,
};
use tesselle::{DType, Location};

use super::draw::Draw;
use super::{CASES, check};
use crate::support::driver;

fn dataset(name: String, draw: &mut Draw) -> DatasetSpec {
    let dtypes: Vec<DType> = DType::ALL.into_iter().filter(|dtype| *dtype != DType::I8).collect();
    let rank = 1 + draw.below(4);
    let shape: Vec<u64> = (0..rank).map(|_| 1 + draw.below(7)).collect();
    DatasetSpec {
        name,
        dtype: draw.pick(&dtypes),
        chunk_shape: shape.iter().map(|extent| 1 + draw.below(extent + 2)).collect(),
        shape,
        codec: draw.pick(&[Codec::Raw, Codec::Zstd]),
        level: None,
        budget: MemoryBudget::default(),
    }
}

fn about(spec: &DatasetSpec, draw: &mut Draw) -> DatasetMetadata {
    let axes: Vec<String> = (0..spec.shape.len()).map(|axis| format!("axis{axis}")).collect();
    let labels = (0..spec.shape[0]).map(|i| format!("label{i}")).collect();
    let coords = [("axis0".to_owned(), AxisLabels { labels })].into();
    DatasetMetadata {
        attrs: [("units".to_owned(), draw.pick(&["m", "K"]).to_owned())].into(),
        dim_names: Some(axes),
        coords: draw.chance(50).then_some(coords),
    }
}

fn footer(specs: &[DatasetSpec], draw: &mut Draw) -> Option<FooterSpec> {
    if draw.chance(25) {
        return None;
    }
    let history = (0..draw.below(3)).map(|i| HistoryRow::new("write", "somewhere", i.to_string())).collect();
    let datasets = specs.iter().map(|spec| (spec.name.clone(), about(spec, draw))).collect();
    let metadata = draw.chance(70).then_some(Metadata { file: None, datasets });
    Some(FooterSpec {
        history,
        metadata,
        indexes: draw.chance(50),
        version: draw.pick(&[None, Some(1), Some(2)]),
    })
}

fn write(target: &Path, draw: &mut Draw) {
    let specs: Vec<DatasetSpec> = (0..=draw.below(4)).map(|id| dataset(format!("d{id}"), draw)).collect();
    let alignment = draw.pick(&[Alignment::Packed, Alignment::Gaps, Alignment::Sorted]);
    let options = WriterOptions::default()
        .with_alignment(alignment)
        .with_footer(footer(&specs, draw))
        .with_checksum(draw.chance(50));
    let mut writer = Writer::create(&Location::local(target).unwrap(), &specs, options, &driver()).unwrap();
    for (id, spec) in specs.iter().enumerate() {
        let cells: u64 = spec.shape.iter().product();
        let spread = draw.pick(&[2, 50]);
        let small = |draw: &mut Draw| draw.below(spread);
        let cells = (0..cells).flat_map(|_| match spec.dtype {
            DType::F64 => (small(draw) as f64).to_le_bytes().to_vec(),
            DType::F32 => (small(draw) as f32).to_le_bytes().to_vec(),
            dtype => small(draw).to_le_bytes()[..dtype.size()].to_vec(),
        });
        writer.push_rows(id, &cells.collect::<Vec<u8>>()).unwrap();
    }
    writer.finish().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn tet_files_stay_what_they_are(seed in any::<u64>()) {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("a.tet");
        write(&source, &mut Draw::new(seed));
        check(&source);
    }
}
