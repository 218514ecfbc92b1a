//! How a C function of the API becomes Rust.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use cudarc::driver::sys::CUmemLocation;
use cudarc::driver::sys::CUresult::{self, *};

use crate::answer::{Answer, describe, require};
use crate::driver::{self, Session};
use crate::faults;

/// Runs the body of a function that a program has called. Nothing gets out of it but an
/// error code, whatever happens inside.
pub(crate) fn call(name: &'static str, body: impl FnOnce(&mut Session) -> Answer) -> CUresult {
    let answer = catch_unwind(AssertUnwindSafe(|| match Session::open(name) {
        Some(mut session) => {
            session.recorder.call(name);
            let answer = faults::enter(name).and_then(|()| body(&mut session));
            explain(&session, answer);
            answer
        }
        None => {
            driver::explain(name, "a host function must not call the driver");
            Err(CUDA_ERROR_NOT_PERMITTED)
        }
    }));
    match answer {
        Ok(Ok(())) => CUDA_SUCCESS,
        Ok(Err(code)) => code,
        Err(_) => CUDA_ERROR_UNKNOWN,
    }
}

/// Says that an argument is wrong, if nobody has said more about it.
fn explain(session: &Session, answer: Answer) {
    let wrong = matches!(
        answer,
        Err(CUDA_ERROR_INVALID_VALUE | CUDA_ERROR_INVALID_HANDLE | CUDA_ERROR_INVALID_CONTEXT)
    );
    if let Err(code) = answer
        && wrong
        && !session.explained.get()
        && let Some((.., text)) = describe(code as u32)
    {
        driver::explain(session.call, &text.to_string_lossy());
    }
}

/// Declares functions of the API: the name and the arguments of C, and a body that has the
/// driver for itself in `session` and answers with `?`.
macro_rules! api {
    ($(
        $(#[$attribute:meta])*
        fn $name:ident($session:ident $(, $argument:ident: $type:ty)* $(,)?) $body:block
    )*) => {$(
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) -> cudarc::driver::sys::CUresult {
            $crate::call::call(stringify!($name), |$session| {
                let _ = &$session;
                $body
                Ok(())
            })
        }
    )*};
}
pub(crate) use api;

/// A pointer of C's through which a call gives something back.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// A pointer that C hands over without its type.
    pub(crate) fn new(place: *mut c_void) -> Out<T> {
        Out(place.cast())
    }

    /// An error for what cannot be a pointer to a `T`. Programs that check nothing before
    /// they call a function with effects want this first.
    pub(crate) fn check(&self) -> Answer {
        require(!self.0.is_null() && self.0.is_aligned(), CUDA_ERROR_INVALID_VALUE)
    }

    pub(crate) fn set(&self, value: T) -> Answer {
        self.check()?;
        // SAFETY: the API asks for a pointer to a `T` that can be written.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// Sets what a pointer leads to that may be null if nobody wants to know.
    pub(crate) fn set_if_wanted(&self, value: T) -> Answer {
        if self.0.is_null() { Ok(()) } else { self.set(value) }
    }
}

/// A pointer of C's from which a call takes something, or a number of things.
#[repr(transparent)]
pub(crate) struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// A pointer that C hands over without its type.
    pub(crate) fn new(place: *const c_void) -> In<T> {
        In(place.cast())
    }

    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    pub(crate) fn get(&self) -> Answer<T> {
        self.at(0)
    }

    /// Thing `index` of as many as the call says there are.
    pub(crate) fn at(&self, index: usize) -> Answer<T> {
        require(!self.0.is_null() && self.0.is_aligned(), CUDA_ERROR_INVALID_VALUE)?;
        // SAFETY: the API asks for a pointer to so many things that can be read.
        Ok(unsafe { self.0.add(index).read() })
    }
}

/// C's struct of a place for memory, whose enum is a number until somebody has looked.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Location {
    pub(crate) kind: u32,
    pub(crate) id: c_int,
}
const _: () = assert!(size_of::<Location>() == size_of::<CUmemLocation>());

/// A text of C's.
#[repr(transparent)]
pub(crate) struct Text(*const c_char);

impl Text {
    pub(crate) fn get(&self) -> Answer<String> {
        require(!self.0.is_null(), CUDA_ERROR_INVALID_VALUE)?;
        // SAFETY: the API asks for a text that ends with a NUL.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map(str::to_owned).map_err(|_| CUDA_ERROR_INVALID_VALUE)
    }
}

/// Room for a text of C's.
#[repr(transparent)]
pub(crate) struct Room(*mut c_char);

impl Room {
    /// A pointer that C hands over as a number.
    pub(crate) fn new(place: usize) -> Room {
        Room(place as *mut c_char)
    }

    /// Writes as much of `text` as there is room for, and a NUL; returns how much it was.
    pub(crate) fn fill(&self, text: &str, room: usize) -> Answer<usize> {
        require(!self.0.is_null() && room > 0, CUDA_ERROR_INVALID_VALUE)?;
        let length = text.len().min(room - 1);
        // SAFETY: the API asks for so much room.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), self.0.cast(), length);
            self.0.add(length).write(0);
        }
        Ok(length)
    }

    /// Writes all of `text`, and a NUL, if there is room for it; whether there is.
    pub(crate) fn hold(&self, text: &str, room: usize) -> bool {
        text.len() < room && self.fill(text, room).is_ok()
    }
}
