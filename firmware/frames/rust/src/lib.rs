//! The encoder of `crates/frames` behind the functions of `encoder.h`.
#![no_std]

use core::convert::Infallible;
use core::panic::PanicInfo;
use core::ptr::addr_of_mut;
use core::slice;

use tfhe_sbc_frames::{
    BoardKey, Column, Counter, CounterStore, DeviceId, Encoder, Form, Format,
};

/// A store in memory. A real one is in flash.
struct Ram(u32);

impl CounterStore for Ram {
    type Error = Infallible;

    fn read(&mut self) -> Result<Option<u32>, Infallible> {
        Ok(Some(self.0))
    }

    fn write(&mut self, limit: u32) -> Result<(), Infallible> {
        self.0 = limit;
        Ok(())
    }
}

static mut ENCODER: Option<Encoder<Ram>> = None;

/// The board of `docs/frames.md`, whose key is known to everybody.
fn open() -> Option<Encoder<Ram>> {
    let id = DeviceId([0x70, 0xb3, 0xd5, 0x7e, 0xd0, 0x00, 0x12, 0x34]);
    let column = Column::new(12, 1).ok()?;
    let format = Format::new(id, Form::Bare, &[column], 24, 1000).ok()?;
    let key = BoardKey::from_bytes(core::array::from_fn(|i| (i as u8).wrapping_mul(7) ^ 1));
    let counter = Counter::open(Ram(365), 16, &format).ok()?;
    Some(Encoder::new(format, key, counter))
}

/// Opens the encoder. 0 is success.
#[unsafe(no_mangle)]
pub extern "C" fn encoder_open() -> i32 {
    let encoder = open();
    let status = i32::from(encoder.is_none());
    // SAFETY: the program has one thread, and no reference to the encoder lives between calls.
    unsafe { *addr_of_mut!(ENCODER) = encoder };
    status
}

/// Makes a frame and returns its length, or -1.
///
/// # Safety
/// `codes` has 24 codes, and `out` has room for 51 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn encoder_encode(codes: *const u16, out: *mut u8) -> i32 {
    // SAFETY: the caller's promise.
    let (codes, out) = unsafe {
        (
            slice::from_raw_parts(codes, 24),
            slice::from_raw_parts_mut(out, 51),
        )
    };
    // SAFETY: the program has one thread, and no reference to the encoder lives between calls.
    let Some(encoder) = (unsafe { &mut *addr_of_mut!(ENCODER) }) else {
        return -1;
    };
    encoder
        .encode(codes, out)
        .map_or(-1, |frame| frame.len() as i32)
}

/// The memory that the encoder keeps between frames.
#[unsafe(no_mangle)]
pub extern "C" fn encoder_state_bytes() -> u32 {
    size_of::<Option<Encoder<Ram>>>() as u32
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}
