//! The one place where `fabsim compare` asks the simulator.

use scenarios::language::Loaded;
use validation::measured::{Collective, SimulatedRow};

use crate::output::Failure;

/// Simulates a collective with `ranks` ranks on the scenario's fabric, once for each of `sizes` (bytes, as nccl-tests
/// defines the size of the collective), and returns a row for each. `exact` simulates every packet; otherwise a steady
/// state may be extrapolated, and the row says so.
pub fn simulate(
    scenario: &Loaded,
    collective: Collective,
    ranks: u32,
    sizes: &[u64],
    exact: bool,
) -> Result<Vec<SimulatedRow>, Failure> {
    let _ = exact;
    Err(Failure(format!(
        "scenario \"{}\": this version does not simulate collectives ({collective} on {ranks} ranks, {} sizes); leave out \
         --scenario to read and diagnose the log alone",
        scenario.scenario.name,
        sizes.len()
    )))
}
