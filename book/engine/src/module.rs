//! What the WebAssembly module exports: `room` for a request's bytes, `reply` to have it
//! answered, and in `memory` what that points to. One request at a time.

use std::cell::RefCell;

use crate::answer;

thread_local! {
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(vec![]) };
    static REPLY: RefCell<(String, [u32; 2])> = const { RefCell::new((String::new(), [0; 2])) };
}

/// Makes room for a request of so many bytes, and tells where.
#[unsafe(no_mangle)]
extern "C" fn room(bytes: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        *request = vec![0; bytes];
        request.as_mut_ptr()
    })
}

/// Answers the request that was written there. Tells where the reply's address and its bytes are.
#[unsafe(no_mangle)]
extern "C" fn reply() -> *const u32 {
    let request = REQUEST.take();
    REPLY.with_borrow_mut(|(reply, place)| {
        *reply = answer(&String::from_utf8_lossy(&request));
        *place = [reply.as_ptr() as u32, reply.len() as u32];
        place.as_ptr()
    })
}
