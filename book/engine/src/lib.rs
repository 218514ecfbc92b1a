//! What a page of the book runs in the browser: kernels on the emulated GPU, and explorers,
//! whose knobs change what a kernel does and whose pictures show it. `cargo workbook engine`
//! makes WebAssembly of it; the book's build calls the same functions for the pictures that
//! stand where there is no JavaScript.
//!
//! | module | what is in it |
//! |---|---|
//! | [`launch`] | any kernel, from PTX: what to run, and what it did |
//! | [`explorer`] | what an explorer is, and all of them |
//! | `explorer::expression` | an index that a reader types becomes PTX |
//! | `explorer::measured` | what machines measured of a case, drawn behind it |
//! | `explorer::picture` | SVG in the house style |
//! | `module` | what the WebAssembly module exports |
//!
//! A request is JSON. The reply is JSON and arrays, whose names and types the JSON lists:
//!
//! ```
//! use engine::answer;
//!
//! let request = r#"{ "explore": { "name": "coalescing", "state": { "index": "t+1" } } }"#;
//! let reply = answer(request);
//! assert!(reply.text.contains("5 sectors"), "{}", reply.text);
//!
//! let reply = answer(r#"{ "explore": { "name": "coalescing", "state": { "index": "t+" } } }"#);
//! assert!(reply.text.starts_with("{\"error\":"), "{}", reply.text);
//! ```
#![warn(missing_docs)]

pub mod explorer;
pub mod launch;
#[cfg(target_arch = "wasm32")]
mod module;

use serde::{Deserialize, Serialize};

/// What a page asks for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request {
    /// The picture of an explorer in a state.
    Explore(explorer::Request),
    /// A launch of a kernel.
    Launch(launch::Request),
}

/// What a page gets.
#[derive(Debug, Default)]
pub struct Reply {
    /// JSON: what was asked for, or `error` with a sentence.
    pub text: String,
    /// The bytes of the arrays that the text lists under `arrays`, little end first.
    pub arrays: Vec<Vec<u8>>,
}

/// Answers a request. It ends: a launch is bounded in its instructions, its memory and its
/// blocks.
pub fn answer(request: &str) -> Reply {
    match serde_json::from_str(request) {
        Ok(Request::Explore(request)) => match explorer::show(&request) {
            Ok(shown) => Reply::of(&shown, vec![]),
            Err(error) => Reply::error(&error),
        },
        Ok(Request::Launch(request)) => match launch::run(&request) {
            Ok(ran) => {
                let (told, arrays) = ran.tell();
                Reply::of(&told, arrays)
            }
            Err(stopped) => Reply::of(&stopped, vec![]),
        },
        Err(error) => Reply::error(&format!("not a request: {error}")),
    }
}

impl Reply {
    fn of(told: &impl Serialize, arrays: Vec<Vec<u8>>) -> Self {
        match serde_json::to_string(told) {
            Ok(text) => Self { text, arrays },
            Err(error) => Self::error(&error.to_string()),
        }
    }

    fn error(what: &str) -> Self {
        let text = serde_json::json!({ "error": what }).to_string();
        Self { text, arrays: vec![] }
    }
}
