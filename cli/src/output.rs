//! What goes to stdout and stderr, and failures.

use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Write};

use scenarios::language::LanguageError;
use scenarios::run::RunError;

/// Why a command could not do its work, in words for the user.
#[derive(Debug)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<LanguageError> for Failure {
    fn from(error: LanguageError) -> Self {
        Self(error.to_string())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self(error.to_string())
    }
}

/// Writes results to stdout. A reader that has seen enough (`fabsim list | head -1`) is no failure.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure(format!("cannot write results: {error}")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Whether stderr takes colour: it is a terminal and NO_COLOR is not set.
fn colour() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Says on stderr why a command failed.
pub fn error(failure: &Failure) {
    let (start, end) = if colour() { ("\x1b[1;31m", "\x1b[0m") } else { ("", "") };
    // Nobody is left to tell when stderr is closed.
    let _ = writeln!(io::stderr(), "{start}error:{end} {failure}");
}

/// Says something on stderr that is no failure.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "note: {text}");
}
