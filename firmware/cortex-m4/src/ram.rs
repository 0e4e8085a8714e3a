//! The memory that a run needs: the unused part of the stack is painted before the run and inspected
//! after it.

use core::ptr;

use cortex_m::register::msp;

unsafe extern "C" {
    /// The end of the static variables, from the linker script.
    static mut __sheap: u32;
    /// The first address of RAM.
    static _ram_start: u32;
    /// One past the last address of RAM, from where the stack grows down.
    static _stack_start: u32;
}

const PAINT: u32 = 0xdead_beef;
/// The number of bytes below the stack pointer that `paint` itself may use.
const MARGIN: u32 = 128;

/// The memory that a run used, in bytes.
pub struct Usage {
    /// The static variables.
    #[allow(dead_code, reason = "not every firmware reports it")]
    pub statics: u32,
    /// The stack at its deepest.
    pub stack: u32,
}

/// Paints the memory between the static variables and the stack.
#[inline(never)]
pub fn paint() {
    let mut at = &raw mut __sheap;
    let end = (msp::read() - MARGIN) as *mut u32;
    while at < end {
        // SAFETY: the addresses lie between the end of the static variables and the stack
        // pointer, where nothing lives, as this program has no heap; volatile, because the
        // compiler does not know of them.
        unsafe {
            ptr::write_volatile(at, PAINT);
            at = at.add(1);
        }
    }
}

/// Returns the memory that has been used since [`paint`].
#[inline(never)]
pub fn usage() -> Usage {
    let end = (&raw const _stack_start).addr() as u32;
    let mut at = &raw const __sheap;
    let statics = at.addr() as u32 - (&raw const _ram_start).addr() as u32;
    // SAFETY: reads words of RAM between the static variables and the end of the stack;
    // volatile, because the stack is written behind the compiler's back.
    while (at.addr() as u32) < end && unsafe { ptr::read_volatile(at) } == PAINT {
        at = at.wrapping_add(1);
    }
    Usage {
        statics,
        stack: end - at.addr() as u32,
    }
}
