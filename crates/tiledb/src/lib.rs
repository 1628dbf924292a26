//! tiledb
