//! Runs the built program.

use std::process::{Command, Output};

/// The program with `args`, and what it said.
pub fn fabsim(args: &[&str]) -> Answer {
    let output = Command::new(env!("CARGO_BIN_EXE_fabsim")).args(args).output().expect("the program starts");
    Answer(output)
}

/// What the program said and its exit code.
pub struct Answer(Output);

impl Answer {
    pub fn code(&self) -> i32 {
        self.0.status.code().expect("it exits by itself")
    }

    pub fn stdout(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).expect("stdout is text")
    }

    pub fn stderr(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).expect("stderr is text")
    }
}
