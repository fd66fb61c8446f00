//! `fabsim`: the command line of the simulator.
//!
//! stdout carries results, stderr progress and logs. Exit 0: done; 1: done, and something named in `--fail-on` was
//! found; 2: the input is wrong or the run could not finish.

mod commands;
mod input;
mod library;
mod memory;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    memory::prefer_large_pages();
    let cli = commands::Cli::parse();
    match commands::run(cli.command) {
        Ok(code) => code,
        Err(failure) => {
            output::error(&failure);
            ExitCode::from(2)
        }
    }
}
