//! Which algorithms and protocols can do a call, and which one NCCL takes. Source: NCCL 2.30 `graph/tuning.cc`,
//! `enqueue.cc`.

use crate::schedule::{Algorithm, Operation, Protocol};

use super::communicator::Communicator;
use super::error::PlanError;
use super::tuning;

/// What was chosen, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// How.
    pub algorithm: Algorithm,
    /// How messages move.
    pub protocol: Protocol,
    /// Microseconds that the cost model predicts.
    pub predicted_us: f64,
    /// The reason, in words: what it was compared with.
    pub why: String,
    /// Everything that could do the call, with its predicted microseconds, best first.
    pub candidates: Vec<(Algorithm, Protocol, f64)>,
    /// Channels that the call uses.
    pub channels: u32,
}

/// Algorithms in NCCL's order, which breaks ties.
const ALGORITHMS: [Algorithm; 8] = [
    Algorithm::DoubleTree,
    Algorithm::Ring,
    Algorithm::CollnetDirect,
    Algorithm::CollnetChain,
    Algorithm::Nvls,
    Algorithm::NvlsTree,
    Algorithm::Pat,
    Algorithm::Pairwise,
];

const PROTOCOLS: [Protocol; 3] = [Protocol::Ll, Protocol::Ll128, Protocol::Simple];

/// NCCL's name of an algorithm.
pub const fn algorithm_name(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Ring => "Ring",
        Algorithm::Tree => "single tree",
        Algorithm::DoubleTree => "Tree",
        Algorithm::Nvls => "NVLS",
        Algorithm::NvlsTree => "NVLSTree",
        Algorithm::CollnetDirect => "CollNetDirect",
        Algorithm::CollnetChain => "CollNetChain",
        Algorithm::Pat => "PAT",
        Algorithm::HalvingDoubling => "halving–doubling",
        Algorithm::Pairwise => "pairwise",
    }
}

/// NCCL's name of a protocol.
pub const fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Ll => "LL",
        Protocol::Ll128 => "LL128",
        Protocol::Simple => "Simple",
    }
}

/// Why an algorithm cannot do an operation, and what to do instead; `None` if it can.
fn obstacle(of: &Communicator, operation: Operation, algorithm: Algorithm) -> Option<(String, &'static str)> {
    use Operation::{AllGather, AllReduce, AllToAll, Broadcast, Reduce, ReduceScatter, SendRecv};
    const OTHER: &str = "leave algorithm at auto, or force another";
    const SHARP: &str = "set collnet to true if the network reduces (SHARP), or force another algorithm";
    let several = of.nodes > 1;
    let done: &[Operation] = match algorithm {
        Algorithm::Ring => &[AllReduce, AllGather, ReduceScatter, Broadcast, Reduce],
        Algorithm::Nvls | Algorithm::HalvingDoubling => &[AllReduce, AllGather, ReduceScatter],
        Algorithm::Pat => &[AllGather, ReduceScatter],
        Algorithm::Pairwise => &[AllToAll, SendRecv],
        // DEVIATES: where SHARP does AllGather and ReduceScatter, so does NCCL's CollnetDirect; no schedule does here.
        Algorithm::Tree
        | Algorithm::DoubleTree
        | Algorithm::NvlsTree
        | Algorithm::CollnetDirect
        | Algorithm::CollnetChain => &[AllReduce],
    };
    if !done.contains(&operation) {
        let names: Vec<String> = done.iter().map(|operation| format!("{operation:?}")).collect();
        return Some((format!("it does {} only", names.join(", ")), OTHER));
    }
    let no = |why: &str, advice| Some((why.to_string(), advice));
    match algorithm {
        Algorithm::Nvls | Algorithm::NvlsTree => {
            if !of.config.nvls {
                return no("nvls is false", "set nvls to true, or force another algorithm");
            }
            if of.graphs.nvls.is_none() {
                return no("it needs NVSwitch, Hopper or later, and two GPUs with a NIC of a node", OTHER);
            }
            if algorithm == Algorithm::NvlsTree && !several {
                return no("it needs two nodes or more", "force nvls, or leave algorithm at auto");
            }
            // DEVIATES: with SHARP of AllGather and ReduceScatter NCCL's NVLS also does these over several nodes.
            if algorithm == Algorithm::Nvls && several && operation != AllReduce {
                return no("it does AllGather and ReduceScatter in one node only", OTHER);
            }
            if algorithm == Algorithm::Nvls && several && !of.config.collnet {
                return no("over several nodes its heads reduce in the network, and collnet is false", SHARP);
            }
            None
        }
        Algorithm::CollnetDirect | Algorithm::CollnetChain => {
            if !of.config.collnet {
                return no("collnet is false", SHARP);
            }
            if !several {
                return no("it needs two nodes or more", OTHER);
            }
            if of.per_node > 8 {
                return no("it has at most 8 ranks a node", OTHER);
            }
            if algorithm == Algorithm::CollnetDirect && of.per_node > 1 && !of.node.nvswitch {
                return no("it needs NVSwitch", "force collnet-chain, or leave algorithm at auto");
            }
            None
        }
        Algorithm::Pat if of.per_node > 1 => no("it needs one rank a node", OTHER),
        Algorithm::Pat
        | Algorithm::Ring
        | Algorithm::Tree
        | Algorithm::DoubleTree
        | Algorithm::Pairwise
        | Algorithm::HalvingDoubling => None,
    }
}

/// Whether a protocol may carry an algorithm that can do the operation.
fn carries(of: &Communicator, algorithm: Algorithm, protocol: Protocol) -> bool {
    let forced = of.config.protocol.forced();
    match algorithm {
        Algorithm::Nvls
        | Algorithm::NvlsTree
        | Algorithm::CollnetDirect
        | Algorithm::CollnetChain
        | Algorithm::Pat => protocol == Protocol::Simple,
        // Sends have no buffers for LL over the network, and none for LL128 at all.
        Algorithm::Pairwise => protocol == Protocol::Simple || protocol == Protocol::Ll && of.nodes == 1,
        Algorithm::HalvingDoubling => protocol == forced.unwrap_or(Protocol::Simple),
        Algorithm::Ring | Algorithm::Tree | Algorithm::DoubleTree => {
            protocol != Protocol::Ll128
                || forced == Some(Protocol::Ll128)
                || of.graph(algorithm).is_some_and(|graph| tuning::ll128_enabled(of, graph))
        }
    }
}

/// Everything that can do the call, best first.
pub(super) fn candidates(
    of: &Communicator,
    operation: Operation,
    bytes: u64,
) -> Result<Vec<(Algorithm, Protocol, f64)>, PlanError> {
    let forced = of.config.algorithm.forced();
    if let Some(algorithm) = forced
        && let Some((why, advice)) = obstacle(of, operation, algorithm)
    {
        return Err(PlanError::Unavailable { algorithm, operation, why, advice });
    }
    let algorithms: Vec<Algorithm> = match forced {
        Some(algorithm) => vec![algorithm],
        None => ALGORITHMS.into_iter().filter(|&a| obstacle(of, operation, a).is_none()).collect(),
    };
    let wanted = of.config.protocol.forced();
    let mut found = vec![];
    for &algorithm in &algorithms {
        for protocol in PROTOCOLS.into_iter().filter(|p| wanted.is_none_or(|wanted| wanted == *p)) {
            if carries(of, algorithm, protocol) && suits(of, operation, algorithm, protocol, bytes) {
                let time = tuning::time_us(of, operation, algorithm, protocol, bytes);
                found.push((algorithm, protocol, time));
            }
        }
    }
    match (found.is_empty(), wanted, forced) {
        (true, Some(protocol), Some(algorithm)) => {
            let why = format!("it does not run with {}", protocol_name(protocol));
            let advice = "leave protocol at auto, or force another algorithm";
            Err(PlanError::Unavailable { algorithm, operation, why, advice })
        }
        (true, protocol, _) => {
            Err(PlanError::NoAlgorithm { operation, protocol: protocol.unwrap_or(Protocol::Simple) })
        }
        _ => {
            found.sort_by(|a, b| a.2.total_cmp(&b.2));
            Ok(found)
        }
    }
}

/// Sends take LL by size, not by the model: up to 16 KiB.
fn suits(
    of: &Communicator,
    operation: Operation,
    algorithm: Algorithm,
    protocol: Protocol,
    bytes: u64,
) -> bool {
    if algorithm != Algorithm::Pairwise || of.config.protocol.forced().is_some() {
        return true;
    }
    let each = if operation == Operation::AllToAll { bytes / u64::from(of.ranks()) } else { bytes };
    let low_latency = of.nodes == 1 && each <= 16 << 10;
    (protocol == Protocol::Ll) == low_latency
}

/// The reason in words.
pub(super) fn why(of: &Communicator, candidates: &[(Algorithm, Protocol, f64)]) -> String {
    let name = |&(algorithm, protocol, us): &(Algorithm, Protocol, f64)| {
        format!("{}/{} {us:.1} us", algorithm_name(algorithm), protocol_name(protocol))
    };
    let best = name(&candidates[0]);
    let rest: Vec<String> = candidates[1..].iter().take(2).map(name).collect();
    let forced = match (of.config.algorithm.forced(), of.config.protocol.forced()) {
        (None, None) => "",
        (Some(_), None) => " (algorithm forced)",
        (None, Some(_)) => " (protocol forced)",
        (Some(_), Some(_)) => " (algorithm and protocol forced)",
    };
    if rest.is_empty() {
        format!("{best} by NCCL's cost model; nothing else can do it{forced}")
    } else {
        format!("least by NCCL's cost model: {best}; then {}{forced}", rest.join(", "))
    }
}
