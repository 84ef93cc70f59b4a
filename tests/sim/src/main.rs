//! `cargo xtask sim`: lives by the hundred thousand.

use std::process::ExitCode;

/// Lives are short and made of small strings.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    sim::run::main()
}
