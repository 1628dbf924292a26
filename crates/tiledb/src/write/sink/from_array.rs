//! Dense arrays from other arrays, tile by tile.

use std::sync::Arc;

use arrow_buffer::Buffer;
use arrow_schema::Schema;
use tesselle_core::array::read_region;
use tesselle_core::{
    ArrayRequest, ArrayView, DType, Driver, Error, Fitted, Region, Result, Scalar, Span, Summary, Written,
};

use super::Target;
use crate::filter::Filter;
use crate::meta::attribute::Attribute;
use crate::meta::dimension::Dimension;
use crate::meta::schema::ArrayKind;
use crate::order::grid::CellBox;
use crate::write::cells::Cells;
use crate::write::dense::{CellOrder, Tiler};
use crate::write::fragment::{FragmentEnd, FragmentWriter};
use crate::write::options::SinkSettings;
use crate::write::schema_builder::{NewSchema, SchemaBuilder};
use crate::{Datatype, NAME};

/// Larger tiles, in cells, are split to bound memory.
const LARGEST_TILE: u64 = 16 << 20;

/// Writes a whole array as a dense one with a single attribute.
pub(crate) fn write_array(request: ArrayRequest<'_>, driver: &Driver) -> Result<Written> {
    request.expect_whole(NAME)?;
    let ArrayRequest { target, array: source, facts, options, .. } = request;
    let fitted = Fitted::keeping(&facts);
    let name = options.table.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| "value".to_owned());
    let settings = SinkSettings::parse(&options.settings, &Schema::empty(), Vec::new())?;
    if settings.kind == ArrayKind::Sparse {
        return Err(Error::invalid("an array can be written only as a dense array")
            .hint("select columns to read it as rows, and set dims for a sparse array"));
    }
    if source.shape().contains(&0) || source.shape().is_empty() {
        return Err(Error::invalid("an empty array cannot be written as a dense array"));
    }
    let location = target.location(NAME)?;
    let (target, staged) = Target::try_new(location, options.overwrite, &facts.attributes, &settings)?;
    let new = schema_for(source, &name, &settings)?;
    let schema = Arc::new(new.schema.clone());
    let grid = schema.grid()?;
    let domain = grid.domain();
    let mut writer = FragmentWriter::create(target.plan(&schema))?;
    let mut index = vec![0_u64; grid.axes.len()];
    let last = grid.tiles_of(&domain);
    loop {
        driver.check_canceled()?;
        let part = grid.tile_region(&index).intersect(&domain);
        let part = part.ok_or_else(|| Error::internal("a tile lies outside its array"))?;
        let cells = read(source, &part, driver)?;
        let tiler = Tiler { schema: &schema, grid: &grid, region: &part, order: CellOrder::RowMajor };
        driver.install(|| tiler.write(&[cells], &mut writer))?;
        if !crate::write::dense::advance(&mut index, &last, schema.tile_order) {
            break;
        }
    }
    let fragment = writer.finish(&FragmentEnd {
        domain: Some(grid.ranges_of(&domain)),
        last_tile_cells: grid.cells_per_tile()?,
        ..FragmentEnd::default()
    })?;
    let summary = Summary {
        rows: domain.cells().unwrap_or(u64::MAX),
        bytes: fragment.bytes,
        pieces: fragment.tiles,
        ..Summary::default()
    };
    target.complete(&mut [fragment], &new, staged)?;
    Ok(Written { summary, fitted })
}

fn schema_for(source: &dyn ArrayView, name: &str, settings: &SinkSettings) -> Result<NewSchema> {
    let mut builder = SchemaBuilder::dense().tile_order(settings.tile_order).cell_order(settings.cell_order);
    settings.expect_extents(source.shape().len())?;
    let mut room = LARGEST_TILE;
    let axes = source.shape().iter().zip(source.tile_shape()).zip(source.axis_names()).zip(source.origin());
    for (i, (((extent, tile), axis), origin)) in axes.enumerate() {
        let tile = settings.common_extent(i).unwrap_or(*tile).clamp(1, *extent).min(room.max(1));
        room /= tile.max(1);
        let axis = if axis.is_empty() { format!("i{i}") } else { axis.clone() };
        let high = origin + i128::from(*extent) - 1;
        builder = builder.dimension(Dimension::new(
            axis,
            Datatype::Int64,
            Scalar::Int(origin),
            Scalar::Int(high),
            Scalar::from(tile),
        ));
    }
    let datatype = match source.dtype() {
        DType::I8 => Datatype::Int8,
        DType::I16 => Datatype::Int16,
        DType::I32 => Datatype::Int32,
        DType::I64 => Datatype::Int64,
        DType::U8 => Datatype::Uint8,
        DType::U16 => Datatype::Uint16,
        DType::U32 => Datatype::Uint32,
        DType::U64 => Datatype::Uint64,
        DType::F16 | DType::F32 => Datatype::Float32,
        DType::F64 => Datatype::Float64,
    };
    let filters: Vec<Filter> = settings.filters(name, datatype)?;
    for label in settings.labels()? {
        builder = builder.label(&label.dimension, label.name, label.datatype, label.order)?;
    }
    builder.attribute(Attribute::new(name, datatype).with_filters(filters)).build()
}

/// The cells of a box, row-major.
fn read(source: &dyn ArrayView, part: &CellBox, driver: &Driver) -> Result<Cells> {
    let spans = part.low.iter().zip(&part.high);
    let region =
        Region { spans: spans.map(|(low, high)| Span { start: *low, stop: high + 1, step: 1 }).collect() };
    let count = part.cells().and_then(|cells| usize::try_from(cells).ok());
    let count = count.ok_or_else(|| Error::limit("a tile has too many cells"))?;
    let size = source.dtype().size();
    let mut bytes = vec![0; count.saturating_mul(size)];
    read_region(source, &region, &mut bytes, driver)?;
    if source.dtype() != DType::F16 {
        return Ok(Cells { count, size, data: Buffer::from_vec(bytes), offsets: None, validity: None });
    }
    // The format has no half floats; single floats represent them exactly.
    let halves = bytes.as_chunks::<2>().0.iter().map(|half| arrow_half(*half));
    let data = Buffer::from_vec(halves.collect::<Vec<f32>>());
    Ok(Cells { count, size: 4, data, offsets: None, validity: None })
}

/// A half float as a single.
fn arrow_half(bytes: [u8; 2]) -> f32 {
    half::f16::from_le_bytes(bytes).to_f32()
}
