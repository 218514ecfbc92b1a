//! What rustc makes of ordinary code. Each kernel stores a word for each thread of one block of 64,
//! which the test computes with the same functions.
//!
//! `compilers.sh` makes PTX of it.

/// Iterators, closures and an array of the thread's own.
pub(crate) fn iterators(value: u32) -> u32 {
    let mut digits = [0u8; 10];
    let mut rest = value;
    for digit in digits.iter_mut() {
        *digit = (rest % 10) as u8;
        rest /= 10;
    }
    for place in 1..digits.len() {
        let (before, rest) = digits.split_at_mut(place);
        if let ([.., last], [first, ..]) = (before, rest)
            && *last > *first
        {
            core::mem::swap(last, first);
        }
    }
    let digits = digits.iter().rev().zip(1u32..);
    let parts = digits.map(|(digit, place)| place * u32::from(*digit));
    parts.filter(|part| part % 3 != 1).sum()
}

#[derive(Clone, Copy)]
enum Shape {
    Square(u16),
    Rectangle { width: u8, height: u8 },
    Text([u8; 4]),
    Nothing,
}

#[inline(never)]
fn area(shape: Shape) -> Result<u32, u8> {
    match shape {
        Shape::Square(side) => Ok(u32::from(side) * u32::from(side)),
        Shape::Rectangle { width, height } => Ok(u32::from(width) * u32::from(height)),
        Shape::Text(letters) => Err(letters.into_iter().max().unwrap_or(0)),
        Shape::Nothing => Err(255),
    }
}

/// Enumerations by value, and calls.
pub(crate) fn enumerations(value: u32) -> u32 {
    let bytes = value.to_le_bytes();
    let shape = match value % 5 {
        0 => Shape::Square((value >> 8) as u16),
        1 => Shape::Rectangle { width: bytes[1], height: bytes[2] },
        2 => Shape::Text(bytes),
        _ => Shape::Nothing,
    };
    match area(shape) {
        Ok(area) => area.rotate_left(3),
        Err(code) => u32::from(code) | 1 << 30,
    }
}

/// Wide and checked arithmetic, floats, bits.
pub(crate) fn numbers(value: u32) -> u32 {
    let wide = u128::from(value).wrapping_mul(0x1234_5678_9abc_def0_1357) >> 40;
    let checked = value.checked_mul(3).unwrap_or(7);
    let signed = (value as i32).saturating_sub(1 << 30).rem_euclid(1000) as u32;
    let float = (value as f32 * 0.37 + 2.0).min(1e9) as u32;
    let double = (f64::from(value) / 3.7 - 1e5) as i64 as u32;
    let bits =
        value.reverse_bits().leading_zeros() + value.count_ones() + (value.swap_bytes() >> 3);
    (wide as u32) ^ checked ^ signed.wrapping_mul(31) ^ float ^ double ^ bits
}

/// Indices that are checked: if one is not inside, functions are called through pointers.
pub(crate) fn slices(input: &[u32], thread: usize) -> u32 {
    let place = (input[thread] % 64) as usize;
    input[place].wrapping_add(input[63 - thread])
}

#[cfg(target_arch = "nvptx64")]
mod kernels {
    use core::arch::nvptx::{_thread_idx_x, trap};

    #[panic_handler]
    fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
        unsafe { trap() }
    }

    macro_rules! kernels {
        ($($name:ident)*) => { $(
            #[unsafe(no_mangle)]
            pub unsafe extern "ptx-kernel" fn $name(input: *const u32, output: *mut u32) {
                let thread = unsafe { _thread_idx_x() as usize };
                unsafe { *output.add(thread) = super::$name(*input.add(thread)) }
            }
        )* };
    }
    kernels!(iterators enumerations numbers);

    #[unsafe(no_mangle)]
    pub unsafe extern "ptx-kernel" fn slices(input: *const u32, output: *mut u32) {
        let thread = unsafe { _thread_idx_x() as usize };
        let input = unsafe { core::slice::from_raw_parts(input, 64) };
        unsafe {
            core::slice::from_raw_parts_mut(output, 64)[thread] = super::slices(input, thread)
        }
    }
}
