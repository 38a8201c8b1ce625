//! larder's command line. Everything it does is in the library; the binary adds the allocator that a cell can choose.

use std::process::ExitCode;

use larder::measure::alloc::Dispatch;

#[global_allocator]
static GLOBAL: Dispatch = Dispatch;

fn main() -> ExitCode {
    larder::cli::main()
}
