//! `cargo xtask arm`: runs the code of boards under QEMU.
//!
//! 1. Without `--record`, the tests of `core`, `ckks`, `device` and `device-c` run as AArch64 and ARMv7
//!    programs, except long statistics. Then the messages of the C library are compared with those of Rust.
//! 2. `firmware/count` runs on every Linux target, `firmware/bootstrap` on AArch64, and `firmware/cortex-m4` and
//!    `cortex-m4-ckks` on their machines. `firmware/frames` makes a frame on a Cortex-M0 and a Cortex-M4. Messages must be the same bytes
//!    everywhere, and the plugin
//!    `firmware/qemu/count.c` counts their instructions. Instructions are not cycles, but they repeat
//!    exactly, and a change that costs time nearly always shows in them.
//! 3. The counts are compared with `firmware/instructions.json`, and so is the table of `docs/boards.md`.

mod c;
mod count;
pub(crate) mod cross;
mod frames;
mod places;
mod record;
mod target;
mod tools;

use std::time::Instant;

use crate::failure::{Failure, succeed};
use crate::workspace::step;
use count::Measured;
use places::{PACKAGES, Places};
use record::{Extent, Record};
use target::{AARCH64, ARMV7, Build};

/// Parts of the names of tests that take minutes under QEMU and do not depend on the target: statistics of
/// values that other tests compare bit by bit.
const STATISTICS: [&str; 25] = [
    "a_variate_is_accurate",
    "bytes_bits_and_words_are_uniform",
    "centred_binomial_frequencies",
    "compact_codes_have_the_noise_of_their_rounding",
    "every_gaussian_has_the_moments",
    "good_sources_are_hardly_ever_refused",
    "masks_say_nothing_of_the_noise",
    "messages_share_no_words",
    "moments_tails_and_shape",
    "neighbours_are_independent",
    "no_eight_bytes_occur_twice",
    "no_words_occur_twice",
    "noise_is_that_of_theory",
    "rounding_and_noise_of_equal_size_add_up",
    "sets_have_the_predicted_noise",
    "sets_look_uniform",
    "streams_of_other_seeds_and_numbers_are_uncorrelated",
    "the_checks_notice_a_broken_generator",
    "the_independence_check_notices",
    "the_samplers_to_compare_with_are_normal",
    "the_uniformity_check_notices",
    "tuniform_frequencies_and_moments",
    "tuniform_noise_has_its_variance",
    "whole_bodies_show_sigma",
    "without_the_key_compact_columns_look_uniform",
];

/// The device library among them.
const DEVICE: std::ops::Range<usize> = 4..8;

/// The use of the counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The tests run, and the counts are compared with the recorded ones.
    Check,
    /// The counts are compared, except those of bootstraps, and of the tests only those of the device library run, on
    /// ARMv7. The messages that are counted are compared byte by byte on every target.
    Short,
    /// The counts become the recorded ones.
    Record,
}

pub(crate) fn run(mode: Mode) -> Result<(), Failure> {
    let start = Instant::now();
    let places = Places::new();
    tools::check()?;
    std::fs::create_dir_all(&places.target)
        .map_err(|error| Failure(format!("{}: {error}", places.target.display())))?;
    let builds = [Build::new(&AARCH64)?, Build::new(&ARMV7)?];

    match mode {
        Mode::Check => {
            for build in &builds {
                test(&places, build, &PACKAGES)?;
            }
            step("the C library", || c::same_bytes(&places, &builds))?;
        }
        Mode::Short => {
            let [_, armv7] = &builds;
            test(&places, armv7, &PACKAGES[DEVICE])?;
        }
        Mode::Record => {}
    }
    step("instruction counts and message bytes", || {
        counts(&places, &builds, mode)
    })?;
    eprintln!("\n=== all passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn counts(places: &Places, builds: &[Build; 2], mode: Mode) -> Result<(), Failure> {
    let plugin = count::build_plugin(places)?;
    let mut measured = vec![count::on_host(places)?];
    for build in builds {
        measured.push(count::on_linux(places, build, &plugin)?);
    }
    if count::has_cortex_m4(places) {
        measured.push(count::on_cortex_m4(places, &plugin)?);
        measured.push(count::ckks_on_cortex_m4(places, &plugin)?);
        measured.extend(frames::measure(places, &plugin)?);
    }
    count::same_bytes(&measured)?;
    if mode != Mode::Short {
        let [aarch64, _] = builds;
        measured.push(count::bootstraps(places, aarch64, &plugin)?);
    }

    let record = Record::new(
        builds[0].rustc_version()?,
        tools::qemu_version()?,
        // The host's figures are of another build.
        measured.iter().skip(1).flat_map(Measured::rows),
    );
    match mode {
        Mode::Check => record.check(&places.root, Extent::All),
        Mode::Short => record.check(&places.root, Extent::Boards),
        Mode::Record => record.write(&places.root),
    }
}

/// The C library alone.
pub(crate) fn c_library() -> Result<(), Failure> {
    tools::check()?;
    c::same_bytes(
        &Places::new(),
        &[Build::new(&AARCH64)?, Build::new(&ARMV7)?],
    )
}

fn test(places: &Places, build: &Build, packages: &[&str]) -> Result<(), Failure> {
    let name = format!("tests on {}", build.target.name);
    // Optimised in part, and without link-time optimisation of every test binary.
    let mut cargo = build.cargo(places, "test");
    cargo
        .current_dir(&places.root)
        .args(packages)
        .args(["--lib", "--tests", "--", "--quiet"]);
    for test in STATISTICS {
        cargo.args(["--skip", test]);
    }
    step(&name, || succeed(&name, &mut cargo))
}
