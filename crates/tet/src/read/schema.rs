//! The column names of a dataset as a table.

use std::collections::HashMap;

use crate::meta::directory::Dataset;
use crate::meta::geometry::Grid;
use crate::meta::metadata::DatasetMetadata;

/// The column of the elements.
pub(crate) const VALUE: &str = "value";
/// The source type of an axis column.
pub(crate) const AXIS_TYPE: &str = "axis";
/// Schema metadata: the extents, so that a copy of the rows need not count them.
pub(crate) const SHAPE_KEY: &str = "tesselle:shape";
/// Schema metadata: the nominal chunk.
pub(crate) const CHUNK_KEY: &str = "tesselle:chunk";

/// The name of each axis: the declared names if they cover every axis, and `i0`, `i1`, … otherwise or if a name is
/// already taken.
pub(crate) fn names(dataset: &Dataset, metadata: Option<&DatasetMetadata>) -> Vec<String> {
    let declared = metadata
        .and_then(|metadata| metadata.dim_names.as_deref())
        .filter(|names| names.len() == dataset.rank())
        .unwrap_or_default();
    let mut taken: Vec<String> = vec![VALUE.to_owned()];
    for axis in 0..dataset.rank() {
        let free = |name: &String| !name.is_empty() && !taken.contains(name);
        let name = declared.get(axis).filter(|name| free(name)).cloned().unwrap_or_else(|| {
            let mut name = format!("i{axis}");
            while taken.contains(&name) || declared.contains(&name) {
                name.push('_');
            }
            name
        });
        taken.push(name);
    }
    taken.split_off(1)
}

/// The metadata of the schema.
pub(crate) fn schema_metadata(grid: &Grid) -> HashMap<String, String> {
    let shape = (SHAPE_KEY.to_owned(), join(&grid.shape));
    HashMap::from([shape, (CHUNK_KEY.to_owned(), join(&grid.chunk_shape))])
}

fn join(numbers: &[u64]) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_names_win_unless_they_clash() {
        let dataset = Dataset { name: "a".into(), tag: 1, shape: vec![1; 4], chunk_shape: vec![1; 4] };
        let with = |names: &[&str]| {
            let dim_names = Some(names.iter().map(ToString::to_string).collect());
            super::names(&dataset, Some(&DatasetMetadata { dim_names, ..DatasetMetadata::default() }))
        };
        assert_eq!(with(&["t", "z", "y", "x"]), ["t", "z", "y", "x"]);
        assert_eq!(with(&["t", "t", "value", ""]), ["t", "i1", "i2", "i3"]);
        assert_eq!(with(&["i2", "i1", "i1", "q"]), ["i2", "i1", "i2_", "q"]);
        assert_eq!(with(&["only", "two"]), ["i0", "i1", "i2", "i3"]);
        assert_eq!(names(&dataset, None), ["i0", "i1", "i2", "i3"]);
    }
}
