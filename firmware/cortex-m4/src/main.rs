//! Encrypts 1024 bits on a Cortex-M4, and prints the time and memory that it took. See the README
//! beside it.
#![no_std]
#![no_main]

#[cfg(feature = "report")]
mod ram;
mod session;

use core::arch::asm;
use core::hint::black_box;
use core::panic::PanicInfo;

use cortex_m::singleton;
use cortex_m_rt::{ExceptionFrame, entry, exception};
use cortex_m_semihosting::debug::{self, EXIT_FAILURE, EXIT_SUCCESS};
#[cfg(feature = "report")]
use cortex_m_semihosting::hprintln;
use session::{PARAMETERS, READINGS, seeds};
use tfhe_sbc_device::{
    DeviceError, Encryptor, ExpanderKind, KeyMode, MemoryPlan, Workspace, workspace_bytes,
};

/// The device key file, in flash.
static DEVICE_KEY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/device.key"));
/// The BLAKE3 hash of the message, computed on the machine that built this program.
#[cfg(feature = "report")]
static EXPECTED: &[u8; 32] = include_bytes!(concat!(env!("OUT_DIR"), "/message.blake3"));

#[cfg(not(feature = "small"))]
const PLAN: MemoryPlan = MemoryPlan::Balanced;
#[cfg(feature = "small")]
const PLAN: MemoryPlan = MemoryPlan::Small;

const WORKSPACE_BYTES: usize = workspace_bytes(&PARAMETERS, PLAN, KeyMode::Symmetric);

/// Runs an expression between two hints, which do nothing except that an emulator's plugin
/// counts the instructions between them.
macro_rules! counted {
    ($region:literal, $run:expr) => {{
        // SAFETY: a debug hint is a no-operation.
        unsafe { asm!(concat!("dbg #", $region)) };
        let result = $run;
        // SAFETY: as above.
        unsafe { asm!("dbg #15") };
        result
    }};
}

#[entry]
fn main() -> ! {
    let Some(workspace) = singleton!(: Workspace<WORKSPACE_BYTES> = Workspace::new()) else {
        exit(false)
    };
    let workspace = workspace.as_mut_slice();
    #[cfg(feature = "report")]
    let done = measure(workspace).and_then(|()| compare(workspace));
    #[cfg(not(feature = "report"))]
    let done = send(workspace).map(|_| true);
    // Printing an error would take 25 KB of flash, most of it to write doubles.
    exit(done.unwrap_or(false))
}

/// Runs a session that discards its message, and returns the message's length.
#[inline(never)]
fn send(workspace: &mut [u8]) -> Result<usize, DeviceError> {
    let mut session = counted!(0, open(workspace)?);
    let sent = counted!(
        1,
        session.encrypt_bits_to(&READINGS, &mut |piece| {
            // A board would pass the piece to its radio or UART here.
            black_box(piece);
            Ok(())
        })?
    );
    Ok(sent)
}

/// Runs a session and reports what it took.
#[cfg(feature = "report")]
fn measure(workspace: &mut [u8]) -> Result<(), DeviceError> {
    ram::paint();
    let sent = send(workspace)?;
    let ram::Usage { statics, stack } = ram::usage();
    hprintln!("plan      {}", PLAN);
    hprintln!("message   {} bytes", sent);
    hprintln!("statics   {} bytes", statics);
    hprintln!("stack     {} bytes", stack);
    hprintln!("RAM       {} bytes", statics + stack);
    Ok(())
}

/// Returns whether the message is the expected one.
#[cfg(feature = "report")]
#[inline(never)]
fn compare(workspace: &mut [u8]) -> Result<bool, DeviceError> {
    let mut hasher = blake3::Hasher::new();
    open(workspace)?.encrypt_bits_to(&READINGS, &mut |piece| {
        hasher.update(piece);
        Ok(())
    })?;
    let hash = hasher.finalize();
    let same = hash.as_bytes() == EXPECTED;
    hprintln!("blake3    {}", hash.to_hex());
    hprintln!(
        "{} message as on the machine that built this",
        if same { "the same" } else { "NOT the same" }
    );
    Ok(same)
}

#[inline(never)]
fn open(workspace: &mut [u8]) -> Result<Encryptor<'_, u32>, DeviceError> {
    Encryptor::new(DEVICE_KEY, PLAN, ExpanderKind::ChaCha20, seeds(), workspace)
}

/// Ends the emulation.
fn exit(success: bool) -> ! {
    loop {
        debug::exit(if success { EXIT_SUCCESS } else { EXIT_FAILURE });
    }
}

#[exception]
unsafe fn HardFault(_: &ExceptionFrame) -> ! {
    exit(false)
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    exit(false)
}
