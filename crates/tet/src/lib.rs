//! tet
