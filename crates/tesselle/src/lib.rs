//! tesselle
