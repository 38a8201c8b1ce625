//! The child process: one [`spec::Spec`] in, rows out. The only room that times work.

pub mod spec;
