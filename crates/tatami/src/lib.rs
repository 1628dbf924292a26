//! tatami
