//! The program from the command line, as a user runs it.

mod bad_actors;
mod common;
mod experiments;
mod hybrid;
