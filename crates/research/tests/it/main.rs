//! The integration tests of the research crate, as one program.

mod published_sets;
mod reproduce;
mod reproduce_command;
mod samplers;
