//! Encrypts 2048 values for Microsoft SEAL on a Cortex-M4, under every memory plan and with both
//! kinds of keys, and prints what that took. See the README beside it.
#![no_std]
#![no_main]

#[path = "../../count/src/ckks.rs"]
#[cfg_attr(not(feature = "report"), expect(dead_code, reason = "counts, reports"))]
mod ckks;
#[path = "../../count/src/marker.rs"]
mod marker;
#[cfg(feature = "report")]
#[path = "../../cortex-m4/src/ram.rs"]
mod ram;

use core::hint::black_box;
use core::panic::PanicInfo;

use cortex_m::singleton;
use cortex_m_rt::{ExceptionFrame, entry, exception};
use cortex_m_semihosting::debug::{self, EXIT_FAILURE, EXIT_SUCCESS};
use tfhe_sbc_ckks::{CkksError, MemoryPlan, Workspace};

#[entry]
fn main() -> ! {
    let workspace = singleton!(: Workspace<{ ckks::WORKSPACE_BYTES }> = Workspace::new());
    exit(workspace.is_some_and(|workspace| run(workspace.as_mut_slice()).is_ok()))
}

/// Runs every session, and reports what it took.
#[cfg(feature = "report")]
fn run(workspace: &mut [u8]) -> Result<(), CkksError> {
    use cortex_m_semihosting::hprintln;

    for (key, session) in [("secret", secret as Session), ("public", public)] {
        ram::paint();
        session(workspace)?;
        let ram::Usage { stack, .. } = ram::usage();
        hprintln!("bytes ckks_{}_stack {}", key, stack);
    }
    ckks::run(workspace, &mut |line| hprintln!("{}", line))
}

/// Runs one session, as a product would.
#[cfg(not(feature = "report"))]
fn run(workspace: &mut [u8]) -> Result<(), CkksError> {
    #[cfg(feature = "secret")]
    secret(workspace)?;
    #[cfg(feature = "public")]
    public(workspace)?;
    Ok(())
}

#[cfg(feature = "report")]
type Session = fn(&mut [u8]) -> Result<(), CkksError>;

#[cfg(any(feature = "report", feature = "secret"))]
#[inline(never)]
fn secret(workspace: &mut [u8]) -> Result<(), CkksError> {
    ckks::secret(any_plan(), workspace)?(&mut discard).map(drop)
}

#[cfg(any(feature = "report", feature = "public"))]
#[inline(never)]
fn public(workspace: &mut [u8]) -> Result<(), CkksError> {
    ckks::public(any_plan(), workspace)?(&mut discard).map(drop)
}

/// Hides a plan from the compiler, so that the program contains the code of all plans.
fn any_plan() -> MemoryPlan {
    black_box(MemoryPlan::Small)
}

/// Takes a piece of the ciphertext; a board would pass it to its radio or UART here.
fn discard(piece: &[u8]) -> Result<(), tfhe_sbc_ckks::SinkError> {
    black_box(piece);
    Ok(())
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
