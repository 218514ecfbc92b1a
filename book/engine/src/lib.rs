//! What a page of the book runs in the browser: explorers, whose knobs change what a kernel does on
//! the emulated GPU and whose pictures show it. `cargo workbook engine` makes WebAssembly of it; the
//! book's build calls the same functions for the pictures that stand where there is no JavaScript.
//!
//! | module | what is in it |
//! |---|---|
//! | [`explorer`] | what an explorer is, and all of them |
//! | `explorer::expression` | an index that a reader types becomes PTX |
//! | `explorer::measured` | what machines measured of a case, drawn behind it |
//! | `explorer::picture` | SVG in the house style |
//! | `launch` | the kernels that explorers run: on what, and what they did |
//! | `module` | what the WebAssembly module exports |
//!
//! A request is JSON, and so is the reply:
//!
//! ```
//! use engine::answer;
//!
//! let reply = answer(r#"{ "name": "coalescing", "state": { "index": "t+1" } }"#);
//! assert!(reply.contains("5 sectors"), "{reply}");
//!
//! let reply = answer(r#"{ "name": "coalescing", "state": { "index": "t+" } }"#);
//! assert!(reply.starts_with("{\"error\":"), "{reply}");
//! ```
#![warn(missing_docs)]

pub mod explorer;
mod launch;
#[cfg(target_arch = "wasm32")]
mod module;

use serde_json::json;

/// Answers an [`explorer::Request`] with what is shown, or `error` with a sentence. It ends: what
/// kernels do is bounded.
pub fn answer(request: &str) -> String {
    let request = serde_json::from_str(request).map_err(|error| format!("not a request: {error}"));
    let told = request
        .and_then(|request| explorer::show(&request))
        .and_then(|shown| serde_json::to_string(&shown).map_err(|error| error.to_string()));
    told.unwrap_or_else(|error| json!({ "error": error }).to_string())
}
