//! What a page of the book asks when a reader has written a kernel: what clang in the page is to be
//! told, PTX from its LLVM IR, and whether the kernel does what it has to. `cargo workbook engine`
//! makes WebAssembly of it, `book/src/workshop.js`, which a page loads at the first *Run*.
//!
//! | module | what is in it |
//! |---|---|
//! | [`request`] | what a page may ask |
//! | `told` | what it is told, as JSON |
//! | `module` | what the WebAssembly module exports: that of the crate `engine` |
//!
//! A request is JSON with one key, and the reply is JSON:
//!
//! ```
//! let reply = workshop::answer(r#"{ "options": { "file": "my.cu", "source": "" } }"#);
//! assert!(reply.contains("-emit-llvm"), "{reply}");
//!
//! let reply = workshop::answer(r#"{ "translate": { "ir": "define" } }"#);
//! assert!(reply.starts_with("{\"error\":"), "{reply}");
//! ```
#![warn(missing_docs)]

#[cfg(target_arch = "wasm32")]
#[path = "../../engine/src/module.rs"]
mod module;
pub mod request;
mod told;

use referee::subject::Unsupported;
use request::Request;
use serde_json::{Value, json};

/// Bytes of a reader's source at most.
pub const MOST_SOURCE_BYTES: usize = 100_000;
/// Bytes of a request at most, which also has what compilers have made.
pub const MOST_BYTES: usize = 64 << 20;

/// Characters of an error at most.
const MOST_ERROR: usize = 500;

/// Answers a request with what was asked for, or `error` with a sentence. It ends: launches are
/// bounded in their instructions, threads and memory, and in what they print.
pub fn answer(request: &str) -> String {
    let told = match request.len() {
        ..=MOST_BYTES => serde_json::from_str::<Request>(request)
            .map_err(|error| anyhow::anyhow!("not a request: {error}"))
            .and_then(Request::answer),
        bytes => Err(anyhow::anyhow!("a request of {bytes} bytes, of {MOST_BYTES} at most")),
    };
    let mut told: Value = told.unwrap_or_else(|error| {
        let line = error.downcast_ref::<Unsupported>().and_then(|unsupported| unsupported.line);
        json!({ "error": format!("{error:#}"), "line": line })
    });
    if let Some(Value::String(error)) = told.get_mut("error")
        && let Some((end, _)) = error.char_indices().nth(MOST_ERROR)
    {
        error.replace_range(end.., "…"); // it may quote what was sent
    }
    told.to_string()
}
