//! Hashes, by which records name what they are of.

/// SHA-256 of text or bytes, in hexadecimal.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hmac_sha256::Hash::hash(bytes.as_ref()).iter().map(|byte| format!("{byte:02x}")).collect()
}
