//! Data across the language border: capsules with Arrow data both ways, and writable buffers. Besides the allocator the only place with `unsafe`.
#![expect(unsafe_code, reason = "capsules and buffers hold pointers that their names and flags vouch for")]

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, from_ffi};
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader, StructArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use datafusion_ffi::proto::logical_extension_codec::FFI_LogicalExtensionCodec;
use pyo3::buffer::{PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use tesselle::{Error, Result};

use crate::error::raise;
use crate::incoming::{self, Incoming};
use crate::representation;

/// Batches that any thread can read.
pub(crate) type Reader = Box<dyn RecordBatchReader + Send>;

/// Batches of the engine as a reader.
struct Batches<I> {
    schema: SchemaRef,
    batches: I,
    /// The types are not those of the engine.
    converted: bool,
}

impl<I: Iterator<Item = Result<RecordBatch>>> Iterator for Batches<I> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?.map_err(|error| ArrowError::ExternalError(Box::new(error)));
        Some(match batch {
            Ok(batch) if self.converted => representation::convert(&batch, &self.schema),
            batch => batch,
        })
    }
}

impl<I: Iterator<Item = Result<RecordBatch>>> RecordBatchReader for Batches<I> {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// A stream capsule over batches of the engine, in the types of `answer`.
pub(crate) fn stream<'py>(
    py: Python<'py>,
    own: &SchemaRef,
    answer: SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
) -> PyResult<Bound<'py, PyCapsule>> {
    let converted = answer != *own;
    let stream = FFI_ArrowArrayStream::new(Box::new(Batches { schema: answer, batches, converted }));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// The schema of a stream for a consumer that asks for the types of a schema capsule.
///
/// Fails if the request has other columns.
pub(crate) fn answer(own: &SchemaRef, requested: Option<&Bound<'_, PyAny>>) -> PyResult<SchemaRef> {
    let Some(capsule) = requested else { return Ok(Arc::clone(own)) };
    let schema: NonNull<FFI_ArrowSchema> = pointer(capsule, c"arrow_schema")?.cast();
    // SAFETY: the name of the capsule guarantees that it contains a schema, which stays in it.
    let wanted = Schema::try_from(unsafe { schema.as_ref() });
    let wanted = wanted
        .map_err(|error| raise(&Error::invalid("the requested schema cannot be read").source(error)))?;
    representation::answer(own, &wanted).map_err(|error| raise(&error))
}

/// A schema capsule.
pub(crate) fn schema<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let exported = FFI_ArrowSchema::try_from(schema).map_err(|e| PyValueError::new_err(e.to_string()))?;
    PyCapsule::new_with_value(py, exported, c"arrow_schema")
}

/// The batches of any object that speaks Arrow.
pub(crate) fn import(data: &Bound<'_, PyAny>) -> PyResult<Incoming> {
    let (reader, scans) = incoming::starting(|| reader(data));
    Ok(Incoming::new(reader?, scans))
}

fn reader(data: &Bound<'_, PyAny>) -> PyResult<Reader> {
    let refused = |error: ArrowError| raise(&stream_error(error));
    if data.hasattr("__arrow_c_stream__")? {
        let capsule = data.call_method0("__arrow_c_stream__")?;
        let pointer = pointer(&capsule, c"arrow_array_stream")?;
        // SAFETY: the name of the capsule guarantees that it contains such a stream; `from_raw` moves it out and leaves a
        // released one behind, which the capsule's destructor accepts.
        let reader = unsafe { ArrowArrayStreamReader::from_raw(pointer.cast().as_ptr()) };
        return Ok(Box::new(reader.map_err(refused)?));
    }
    if data.hasattr("__arrow_c_array__")? {
        let pair = data.call_method0("__arrow_c_array__")?;
        let pair = pair.cast::<PyTuple>()?;
        let schema: NonNull<FFI_ArrowSchema> = pointer(&pair.get_item(0)?, c"arrow_schema")?.cast();
        let array: NonNull<FFI_ArrowArray> = pointer(&pair.get_item(1)?, c"arrow_array")?.cast();
        // SAFETY: the names of the capsules determine their contents; `from_raw` moves the array out of its capsule.
        let array = unsafe { from_ffi(FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
        let array = array.map_err(refused)?;
        if !matches!(array.data_type(), arrow_schema::DataType::Struct(_)) {
            return Err(PyTypeError::new_err(
                "a single Arrow array is not a table; wrap it in a record batch",
            ));
        }
        if array.null_count() > 0 {
            let refused =
                Error::invalid("the data has rows that are null as a whole, which a table cannot have");
            return Err(raise(&refused.hint("pass a table whose columns are null there")));
        }
        let batch = RecordBatch::from(StructArray::from(array));
        let schema = batch.schema();
        return Ok(Box::new(RecordBatchIterator::new([Ok(batch)], schema)));
    }
    Err(PyTypeError::new_err(format!(
        "{} has no Arrow data; pass a pyarrow, polars or pandas table, or anything with __arrow_c_stream__",
        data.get_type().name()?
    )))
}

/// The codec that a session of the Python package `datafusion` hands out.
pub(crate) fn codec(session: &Bound<'_, PyAny>) -> PyResult<FFI_LogicalExtensionCodec> {
    let capsule = session.call_method0("__datafusion_logical_extension_codec__")?;
    let pointer =
        pointer(&capsule, c"datafusion_logical_extension_codec")?.cast::<FFI_LogicalExtensionCodec>();
    // SAFETY: the name of the capsule guarantees that it contains such a codec, which stays in it.
    Ok(unsafe { pointer.as_ref() }.clone())
}

fn pointer(capsule: &Bound<'_, PyAny>, name: &std::ffi::CStr) -> PyResult<NonNull<std::ffi::c_void>> {
    capsule.cast::<PyCapsule>()?.pointer_checked(Some(name))
}

/// The error of a stream that came from Python.
pub(crate) fn stream_error(error: ArrowError) -> Error {
    Error::invalid("the data cannot be read").source(error)
}

/// The bytes of a writable buffer, while `work` fills them without the interpreter lock.
pub(crate) fn fill<T>(
    py: Python<'_>,
    out: &PyUntypedBuffer,
    work: impl FnOnce(Python<'_>, &mut [u8]) -> PyResult<T>,
) -> PyResult<T> {
    if out.readonly() || !out.is_c_contiguous() {
        return Err(PyBufferError::new_err("a writable, C-contiguous buffer is needed"));
    }
    if out.len_bytes() == 0 {
        return work(py, &mut []);
    }
    // SAFETY: the buffer is exported as writable and stays exported while `out` is borrowed. As everywhere in Python,
    // a caller who changes it meanwhile gets arbitrary numbers.
    let bytes = unsafe { std::slice::from_raw_parts_mut(out.buf_ptr().cast::<u8>(), out.len_bytes()) };
    work(py, bytes)
}

/// The bytes of a buffer that Python owns, for as long as this lives.
pub(crate) struct Shared(PyBuffer<u8>);

impl Shared {
    /// Refuses buffers whose bytes do not lie in one piece.
    pub(crate) fn try_new(buffer: PyBuffer<u8>) -> PyResult<Self> {
        if !buffer.is_c_contiguous() {
            return Err(PyBufferError::new_err("a C-contiguous buffer is needed"));
        }
        Ok(Self(buffer))
    }
}

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        if self.0.len_bytes() == 0 {
            return &[];
        }
        // SAFETY: the buffer is contiguous and stays exported while `self` lives. As everywhere in Python, a caller who
        // changes it meanwhile gets arbitrary numbers.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast::<u8>(), self.0.len_bytes()) }
    }
}
