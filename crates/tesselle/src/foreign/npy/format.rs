//! The npy format.

use std::sync::Arc;

use arrow_schema::DataType;
use tesselle_core::array::{GridColumn, GridTable};
use tesselle_core::fit::{Fit, check_types, fit_cells};
use tesselle_core::{
    Action, ArrayRequest, Capabilities, Container, Context, Created, DType, Driver, Error, Fitted, Format,
    FormatFacts, Location, OpenOptions, Region, Result, WriteRequest, Written,
};

use super::view::NpyArray;
use super::{column_sink, write_array};
use crate::foreign::container::FileContainer;

/// The setting by which the cells of an array, bytes, are truth values.
const BOOL: &str = "bool";

/// The format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Npy;

static FACTS: FormatFacts = FormatFacts {
    name: "npy",
    title: "NumPy",
    summary: "NumPy array files",
    extensions: &["npy"],
    magic: &[b"\x93NUMPY"],
    capabilities: {
        let mut capabilities = Capabilities::STREAM;
        capabilities.arrays_in = true;
        capabilities
    },
};

impl Format for Npy {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn open(&self, location: &Location, _options: &OpenOptions) -> Result<Arc<dyn Container>> {
        let array = NpyArray::open(location).in_file(location.path())?;
        let (header, version, is_bool) = (array.data_offset(), array.version(), array.is_bool());
        let column = GridColumn { name: "value".into(), array: Arc::new(array), is_bool };
        let table = GridTable::try_new("", vec![column], Arc::clone(location.storage()))?;
        let container = FileContainer::new(self.name(), version, location, Arc::new(table));
        Ok(Arc::new(container.with_header(header)))
    }

    fn start(&self, request: WriteRequest, _driver: &Driver) -> Result<Created> {
        let WriteRequest { target, schema, facts, options, .. } = request;
        options.settings.expect_only(&[])?;
        let [field] = schema.fields().iter().as_slice() else {
            return Err(Error::invalid(
                "an npy file stores one array of numbers, but there are several columns",
            )
            .suggest("select one numeric column with {}, or write another format", [Action::Columns]));
        };
        let fit = match field.data_type() {
            DataType::Boolean => Fit::As(DataType::Boolean),
            other => fit_cells(other),
        };
        let types = check_types(self.name(), [(field.as_ref(), fit)])?;
        let sink = column_sink(target.stage(options.overwrite)?, field)?;
        Ok(Created { sink, fitted: Fitted::losing(&facts).with_types(types) })
    }

    fn write_array(&self, request: ArrayRequest<'_>, driver: &Driver) -> Result<Written> {
        let mut fitted = Fitted::losing(&request.facts);
        fitted.lost.extend(request.lost_origin());
        let ArrayRequest { target, array, region, options, .. } = request;
        options.settings.expect_only(&[BOOL])?;
        let is_bool = options.settings.parse(BOOL, "true or false")?.unwrap_or(false);
        if is_bool && array.dtype() != DType::U8 {
            return Err(Error::invalid("truth values are cells of the type u8"));
        }
        let region = region.unwrap_or_else(|| Region::whole(array.shape()));
        let summary = write_array(array, is_bool, &region, target.stage(options.overwrite)?, driver)?;
        Ok(Written { summary, fitted })
    }
}
