//! What a pointer leads to.

use std::ffi::{c_int, c_uint, c_void};

use cudarc::driver::sys::CUpointer_attribute_enum as A;
use cudarc::driver::sys::CUresult::*;

use crate::answer::Answer;
use crate::call::{Out, api};
use crate::driver::Session;
use crate::memory::Kind;

/// Kinds of memory, as the API numbers them.
const HOST: c_uint = 1;
const DEVICE: c_uint = 2;

impl Session {
    /// Writes an attribute of what lies at an address. False, if the driver knows nothing of it.
    fn pointer_attribute(
        &self,
        place: *mut c_void,
        attribute: c_uint,
        address: u64,
    ) -> Answer<bool> {
        let Some((start, holding)) = self.memory.around(address) else { return Ok(false) };
        let is = |name: A| attribute == name as c_uint;
        let is_managed = holding.kind == Kind::Managed;
        let on_host = holding.host.is_some();
        if is(A::CU_POINTER_ATTRIBUTE_CONTEXT) {
            Out::new(place).set(holding.context)?;
        } else if is(A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
            Out::new(place).set(if on_host && !is_managed { HOST } else { DEVICE })?;
        } else if is(A::CU_POINTER_ATTRIBUTE_DEVICE_POINTER)
            || is(A::CU_POINTER_ATTRIBUTE_HOST_POINTER) && on_host
        {
            Out::new(place).set(address)?;
        } else if is(A::CU_POINTER_ATTRIBUTE_IS_MANAGED) {
            Out::new(place).set(c_uint::from(is_managed))?;
        } else if is(A::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
            Out::new(place).set(holding.gpu as c_int)?;
        } else if is(A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) {
            Out::new(place).set(start)?;
        } else if is(A::CU_POINTER_ATTRIBUTE_RANGE_SIZE) {
            Out::new(place).set(holding.bytes as usize)?;
        } else if is(A::CU_POINTER_ATTRIBUTE_MAPPED) {
            Out::new(place).set(1 as c_uint)?;
        } else {
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
        Ok(true)
    }
}

api! {
    fn cuPointerGetAttribute(session, place: *mut c_void, attribute: c_uint, address: u64) {
        session.context()?;
        if !session.pointer_attribute(place, attribute, address)? {
            session.explained.set(true); // how programs find out that memory is their own
            return Err(CUDA_ERROR_INVALID_VALUE);
        }
    }
}
