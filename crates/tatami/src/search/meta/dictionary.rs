//! Both kinds of term dictionary; header flag bit 5 of the file selects one, never the bytes.

use tesselle_core::Result;

use super::run::RunSource;
use super::{BlockTree, FlatDictionary, TermEntry};

/// The layout of a term dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DictionaryKind {
    /// A sorted list; readable by every release.
    Flat,
    /// Compressed blocks with an index; since release 0.3.0.
    BlockTree,
}

/// An open term dictionary.
#[derive(Debug)]
pub(crate) enum Dictionary {
    Flat(FlatDictionary),
    BlockTree(BlockTree),
}

impl Dictionary {
    pub(crate) fn parse(kind: DictionaryKind, run: RunSource) -> Result<Self> {
        match kind {
            DictionaryKind::Flat => FlatDictionary::parse(run).map(Self::Flat),
            DictionaryKind::BlockTree => BlockTree::parse(run).map(Self::BlockTree),
        }
    }

    /// Terms in the dictionary.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Flat(flat) => flat.len() as u64,
            Self::BlockTree(tree) => tree.len(),
        }
    }

    /// The entry of a term, and its number in ascending order.
    pub(crate) fn lookup(&self, term: &[u8]) -> Result<Option<(u64, TermEntry)>> {
        match self {
            Self::Flat(flat) => flat.lookup(term),
            Self::BlockTree(tree) => tree.lookup(term),
        }
    }

    /// Calls `visit` with the terms that begin with `prefix`, in ascending order.
    pub(crate) fn for_each_from(&self, prefix: &[u8], mut visit: impl FnMut(&[u8])) -> Result<()> {
        match self {
            Self::Flat(flat) => {
                for i in flat.position(prefix)?..flat.len() {
                    match flat.get(i)? {
                        Some((term, _)) if term.starts_with(prefix) => visit(term),
                        _ => break,
                    }
                }
            }
            Self::BlockTree(tree) => {
                let mut over = false;
                for number in tree.block_of(prefix)..tree.blocks() {
                    tree.scan(number, |term, _| {
                        if term.starts_with(prefix) {
                            visit(term);
                        } else {
                            over = term > prefix;
                        }
                        !over
                    })?;
                    if over {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Calls `visit` with every term in ascending order.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&[u8], TermEntry)) -> Result<()> {
        match self {
            Self::Flat(flat) => {
                for i in 0..flat.len() {
                    if let Some((term, entry)) = flat.get(i)? {
                        visit(term, entry);
                    }
                }
            }
            Self::BlockTree(tree) => {
                for number in 0..tree.blocks() {
                    tree.scan(number, |term, entry| {
                        visit(term, entry);
                        true
                    })?;
                }
            }
        }
        Ok(())
    }
}
