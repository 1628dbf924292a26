//! tsfile
