//! What all blocks share: they are TOML.

use serde::de::DeserializeOwned;

/// Reads TOML; the error is one line that says on which line of `toml` it is, unless it is
/// of the whole.
pub fn parse<T: DeserializeOwned>(toml: &str) -> Result<T, String> {
    toml::from_str(toml).map_err(|e| {
        let message = e.message().replace('\n', "; ");
        match e.span() {
            Some(span) if span != (0..0) => {
                let line = toml[..span.start].matches('\n').count() + 1;
                format!("line {line}: {message}")
            }
            _ => message,
        }
    })
}
