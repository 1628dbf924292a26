//! Message digests of stored bytes.

use crate::{Error, Result};

/// A message digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Digest {
    /// 16 bytes. Detects accidental changes, not attacks.
    Md5,
    /// 32 bytes.
    Sha256,
}

impl Digest {
    /// Bytes of the digest.
    pub fn len(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha256 => 32,
        }
    }

    /// Always false: a digest has bytes.
    pub fn is_empty(self) -> bool {
        false
    }

    /// The name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Md5 => "MD5 checksum",
            Self::Sha256 => "SHA-256 checksum",
        }
    }

    /// Appends the digest of `src`.
    pub fn append(self, src: &[u8], dst: &mut Vec<u8>) {
        match self {
            Self::Md5 => dst.extend_from_slice(&<md5::Md5 as md5::Digest>::digest(src)),
            Self::Sha256 => dst.extend_from_slice(&<sha2::Sha256 as sha2::Digest>::digest(src)),
        }
    }

    /// Compares the digest of `src` with a stored one.
    pub fn check(self, src: &[u8], stored: &[u8]) -> Result<()> {
        let mut computed = Vec::with_capacity(self.len());
        self.append(src, &mut computed);
        if computed == stored {
            return Ok(());
        }
        Err(Error::corrupt(self.name(), format!("stored {}, computed {}", start(stored), start(&computed))))
    }
}

/// The first bytes in hex, enough to distinguish two digests in a message.
fn start(bytes: &[u8]) -> String {
    bytes
        .first_chunk()
        .map_or_else(|| "nothing".to_owned(), |four| format!("{:08x}...", u32::from_be_bytes(*four)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        let mut out = Vec::new();
        Digest::Md5.append(b"abc", &mut out);
        assert_eq!(out[..4], [0x90, 0x01, 0x50, 0x98]);
        assert_eq!(out.len(), Digest::Md5.len());
        out.clear();
        Digest::Sha256.append(b"abc", &mut out);
        assert_eq!(out[..4], [0xba, 0x78, 0x16, 0xbf]);
        assert_eq!(out.len(), Digest::Sha256.len());
    }

    #[test]
    fn a_changed_byte_is_found() {
        for digest in [Digest::Md5, Digest::Sha256] {
            let mut stored = Vec::new();
            digest.append(b"tile", &mut stored);
            digest.check(b"tile", &stored).unwrap();
            assert!(digest.check(b"tale", &stored).is_err());
            assert!(digest.check(b"tile", &stored[1..]).is_err());
        }
    }
}
