//! What all blocks share: they are TOML, and some have an id.

use serde::de::DeserializeOwned;

/// Reads TOML; the error is one line that says on which line of `toml` it is.
pub fn parse<T: DeserializeOwned>(toml: &str) -> Result<T, String> {
    toml::from_str(toml).map_err(|e| {
        let message = e.message().replace('\n', "; ");
        match e.span() {
            Some(span) => {
                let line = toml[..span.start].matches('\n').count() + 1;
                format!("line {line}: {message}")
            }
            None => message,
        }
    })
}

/// Checks an id, which is also a file's name and part of an address.
pub fn check_id(id: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if id.is_empty() || !id.chars().all(plain) {
        return Err(format!(
            "id `{id}`: take lower-case letters, digits and hyphens"
        ));
    }
    Ok(())
}
