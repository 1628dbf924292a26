//! AES-256 in Galois/counter mode: the ciphertext is as long as the plaintext, the tag is stored separately.

#[cfg(test)]
mod tests;

use aes_gcm::aead::{AeadInOut, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce, Tag};

use crate::{Error, Result};

const WHAT: &str = "AES-256-GCM data";

/// Bytes of a key.
pub const KEY_LEN: usize = 32;
/// Bytes of an initialization vector.
pub const IV_LEN: usize = 12;
/// Bytes of a tag.
pub const TAG_LEN: usize = 16;

/// A key. Its value never appears in messages.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; KEY_LEN]);

impl Key {
    /// A key of raw bytes.
    pub fn new(bytes: [u8; KEY_LEN]) -> Self {
        Self(bytes)
    }

    /// The raw bytes.
    pub fn expose(&self) -> &[u8; KEY_LEN] {
        &self.0
    }

    fn cipher(&self) -> Aes256Gcm {
        Aes256Gcm::new(&self.0.into())
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// Encrypts `buffer` in place and returns the tag. Never use the same `iv` twice with one key.
pub fn encrypt(key: &Key, iv: [u8; IV_LEN], buffer: &mut [u8]) -> Result<[u8; TAG_LEN]> {
    key.cipher()
        .encrypt_inout_detached(&Nonce::from(iv), &[], buffer.into())
        .map(Into::into)
        .map_err(|_| Error::unencodable(WHAT, "the data is too long"))
}

/// Decrypts `buffer` in place and checks it against the tag.
pub fn decrypt(key: &Key, iv: [u8; IV_LEN], tag: [u8; TAG_LEN], buffer: &mut [u8]) -> Result<()> {
    key.cipher()
        .decrypt_inout_detached(&Nonce::from(iv), &[], buffer.into(), &Tag::from(tag))
        .map_err(|_| Error::corrupt(WHAT, "the tag does not match; the key is wrong or the data was changed"))
}
