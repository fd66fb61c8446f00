//! The scenario a command works on: a file, or the name of a shipped scenario.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use clap::Args;
use scenarios::language::{self, Loaded, Override};

use crate::library;
use crate::output::Failure;

/// The text of a scenario and what to call it in errors.
pub struct Input {
    /// The text.
    pub text: String,
    /// The file as the user named it, or the shipped file.
    pub name: String,
}

/// A scenario and what to change in it, as commands take them.
#[derive(Args)]
pub struct ScenarioArgs {
    /// Scenario file (.json or .yaml), or the name of a shipped scenario
    pub file: String,
    /// Set a value: params.rate=100Gbps, switch.ecn.kmin=200KB, traffic.0.incast.senders=16
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub set: Vec<Override>,
}

impl ScenarioArgs {
    /// Reads and resolves the scenario.
    pub fn load(&self) -> Result<Loaded, Failure> {
        let input = read(&self.file)?;
        Ok(language::load(&input.text, &input.name, &self.set)?)
    }
}

/// Reads the file called `file`, or else the shipped scenario of that name.
pub fn read(file: &str) -> Result<Input, Failure> {
    if Path::new(file).is_dir() {
        return Err(Failure(format!("{file} is a directory: name a scenario file in it")));
    }
    match fs::read(file) {
        Ok(bytes) => Ok(Input { text: language::decode(&bytes, file)?, name: file.to_string() }),
        Err(error) if error.kind() == ErrorKind::NotFound => match library::find(file) {
            Some(text) => Ok(Input { text: text.to_string(), name: format!("{file}.json (shipped)") }),
            None => Err(missing(file)),
        },
        Err(error) => Err(Failure(format!("{file} cannot be read: {error}"))),
    }
}

fn missing(file: &str) -> Failure {
    let names = library::SHIPPED.iter().map(|(name, _)| *name);
    let stem = file.strip_suffix(".json").unwrap_or(file);
    let advice = match language::nearest(stem, names) {
        Some(name) => format!("did you mean the shipped scenario \"{name}\"?"),
        None => "`fabsim list` names the shipped ones".to_string(),
    };
    Failure(format!("{file}: there is no such file, and no shipped scenario of that name; {advice}"))
}
