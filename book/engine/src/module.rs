//! What the WebAssembly module exports: `room` for a request's bytes, `reply` to have it
//! answered, and in `memory` what that points to. One request at a time.

use std::cell::RefCell;

use crate::{Reply, answer};

thread_local! {
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(vec![]) };
    static REPLY: RefCell<(Reply, Vec<u32>)> = const {
        RefCell::new((Reply { text: String::new(), arrays: vec![] }, vec![]))
    };
}

/// Makes room for a request of so many bytes, and tells where.
#[unsafe(no_mangle)]
extern "C" fn room(bytes: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        *request = vec![0; bytes];
        request.as_mut_ptr()
    })
}

/// Answers the request that was written there. Tells where its parts are: how many there are,
/// and each one's address and bytes; the first is the text.
#[unsafe(no_mangle)]
extern "C" fn reply() -> *const u32 {
    let request = REQUEST.take();
    REPLY.with_borrow_mut(|(reply, parts)| {
        *reply = answer(&String::from_utf8_lossy(&request));
        let text = std::iter::once(reply.text.as_bytes());
        let all = text.chain(reply.arrays.iter().map(Vec::as_slice));
        *parts = vec![1 + reply.arrays.len() as u32];
        parts.extend(all.flat_map(|part| [part.as_ptr() as u32, part.len() as u32]));
        parts.as_ptr()
    })
}
