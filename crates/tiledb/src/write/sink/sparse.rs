//! Rows as cells of a sparse array.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use tesselle_core::{Action, Driver, Error, Result, Scalar};

use super::{Cells as Rows, Target, schema_of};
use crate::meta::datatype::{Datatype, Physical};
use crate::meta::layout::Layout;
use crate::meta::schema::ArraySchema;
use crate::meta::value::Bounds;
use crate::write::array::ArrayWriter;
use crate::write::cells::{Cells, TileCells};
use crate::write::fragment::{FinishedFragment, mbr_of};
use crate::write::options::SinkSettings;
use crate::write::schema::{ColumnPlan, DimensionPlan};
use crate::write::sparse::{OnDuplicate, SparseOptions};

/// Sorts as many rows as fit into memory into one fragment after the other.
pub(super) struct SparseCells {
    array: ArrayWriter,
    target: Target,
    dims: Vec<DimensionPlan>,
    /// Dimensions whose domain follows from the data.
    open: Vec<bool>,
    pending: Vec<Vec<Cells>>,
    pending_bytes: usize,
    most_bytes: usize,
    box_of_all: Option<Vec<Bounds>>,
    fragments: Vec<FinishedFragment>,
    on_duplicate: OnDuplicate,
}

impl SparseCells {
    pub(super) fn try_new(
        target: &Target,
        settings: &SinkSettings,
        mut dims: Vec<DimensionPlan>,
        columns: &[ColumnPlan],
        driver: &Driver,
    ) -> Result<Self> {
        let mut open = Vec::new();
        for plan in &mut dims {
            let dimension = &mut plan.dimension;
            let is_open = !dimension.is_var() && dimension.domain.is_none();
            if is_open && settings.cell_order == Layout::Hilbert {
                return Err(Error::invalid(format!(
                    "Hilbert order needs the domain of '{}'",
                    dimension.name
                ))
                .suggest("add {}", [Action::setting(format!("domain.{}", dimension.name), "low:high")]));
            }
            if is_open {
                // Without tiles the order does not depend on the domain, which is known only at the end.
                dimension.domain = Some(whole_range(dimension.datatype));
            }
            open.push(is_open);
        }
        let mut schema = schema_of(settings, &dims, columns)?;
        for attribute in &mut schema.attributes {
            // The enumerations are complete only at the end.
            attribute.enumeration = None;
        }
        let array = ArrayWriter {
            location: target.location.clone(),
            schema: Arc::new(schema),
            schema_name: target.schema_name.clone(),
            enumerations: HashMap::new(),
            key: target.key.clone(),
            driver: Some(driver.clone()),
        };
        let budget = usize::try_from(driver.budget().total() / 4).unwrap_or(usize::MAX);
        Ok(Self {
            array,
            target: target.clone(),
            pending: vec![Vec::new(); columns.len() + dims.len()],
            dims,
            open,
            pending_bytes: 0,
            most_bytes: budget.clamp(16 << 20, 1 << 30),
            box_of_all: None,
            fragments: Vec::new(),
            on_duplicate: OnDuplicate::default(),
        })
    }

    fn flush(&mut self) -> Result<()> {
        let columns: Vec<Cells> =
            self.pending.iter_mut().filter_map(|parts| Cells::concat(std::mem::take(parts))).collect();
        self.pending_bytes = 0;
        let options = SparseOptions { on_duplicate: self.on_duplicate, ..SparseOptions::default() };
        let plan = self.target.plan(&self.array.schema);
        if let Some((fragment, _)) = self.array.write_cells(plan, &columns, &options)? {
            self.fragments.push(fragment);
        }
        Ok(())
    }
}

impl Rows for SparseCells {
    fn write(&mut self, batch: &RecordBatch, attributes: Vec<Cells>) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let coords = self.dims.iter().map(|dim| dim.cells(batch)).collect::<Result<Vec<_>>>()?;
        let mbr = self.dims.iter().zip(&coords).map(|(plan, cells)| {
            let cells =
                TileCells { data: cells.data.to_vec(), offsets: cells.offsets.clone(), validity: None };
            mbr_of(&plan.dimension, &cells)
        });
        let mbr = mbr.collect::<Result<Vec<_>>>()?;
        match &mut self.box_of_all {
            Some(all) => all.iter_mut().zip(&mbr).for_each(|(all, range)| all.extend(range)),
            None => self.box_of_all = Some(mbr),
        }
        let columns = attributes.into_iter().chain(coords);
        for (parts, cells) in self.pending.iter_mut().zip(columns) {
            self.pending_bytes += cells.bytes();
            parts.push(cells);
        }
        if self.pending_bytes >= self.most_bytes { self.flush() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(Vec<FinishedFragment>, ArraySchema)> {
        self.flush()?;
        let mut schema = ArraySchema::clone(&self.array.schema);
        let ranges = self.box_of_all.take().unwrap_or_default();
        for (i, (dimension, open)) in schema.dimensions.iter_mut().zip(&self.open).enumerate() {
            if *open {
                // Without cells, later ones may be anywhere.
                let widest = || widest_domain(dimension.datatype);
                dimension.domain = Some(ranges.get(i).cloned().unwrap_or_else(widest));
            }
        }
        Ok((self.fragments, schema))
    }
}

/// The widest domain that engines accept: for integers one value less than the type, and without not-a-time.
fn widest_domain(datatype: Datatype) -> Bounds {
    match whole_range(datatype) {
        Bounds { low: Scalar::Int(low), high: Scalar::Int(high) } => {
            let low = low + i128::from(datatype.is_time());
            Bounds { low: Scalar::Int(low), high: Scalar::Int(high - 1) }
        }
        range => range,
    }
}

/// All values of a type.
fn whole_range(datatype: Datatype) -> Bounds {
    let (low, high) = match datatype.physical() {
        Physical::I8 => (i8::MIN.into(), i8::MAX.into()),
        Physical::I16 => (i16::MIN.into(), i16::MAX.into()),
        Physical::I32 => (i32::MIN.into(), i32::MAX.into()),
        Physical::I64 => (i64::MIN.into(), i64::MAX.into()),
        Physical::U8 => (u8::MIN.into(), u8::MAX.into()),
        Physical::U16 => (u16::MIN.into(), u16::MAX.into()),
        Physical::U32 => (u32::MIN.into(), u32::MAX.into()),
        Physical::U64 => (u64::MIN.into(), u64::MAX.into()),
        Physical::F32 => (Scalar::from(f32::MIN), Scalar::from(f32::MAX)),
        Physical::F64 => (Scalar::from(f64::MIN), Scalar::from(f64::MAX)),
    };
    Bounds { low, high }
}
