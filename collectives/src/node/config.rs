//! A node as a scenario writes it: a preset's name, or a preset with changes.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::nearest::nearest;
use super::{Cpu, GpuGeneration, HostCosts, NetworkKind, NodeSpec, PRESETS, PathClass};

/// A preset that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("node preset \"{name}\" does not exist; did you mean \"{nearest}\"? There are: {all}", all = PRESETS.join(", "))]
pub struct UnknownPreset {
    /// What was asked for.
    pub name: String,
    /// The preset whose name is nearest.
    pub nearest: &'static str,
}

impl UnknownPreset {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.into(), nearest: nearest(name, &PRESETS) }
    }
}

/// Why a node cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NodeError {
    /// The preset does not exist.
    #[error(transparent)]
    UnknownPreset(#[from] UnknownPreset),
    /// A number is out of its range.
    #[error("node {node}: {field} is {value}, outside of {range}; set {field} within it")]
    OutOfRange {
        /// The node.
        node: String,
        /// The field.
        field: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        range: &'static str,
    },
    /// The affinity map has another length than there are NICs.
    #[error(
        "node {node}: affinity lists {listed} NICs, but nics is {nics}; give one list of GPUs for each NIC"
    )]
    AffinityLength {
        /// The node.
        node: String,
        /// Entries of the map.
        listed: usize,
        /// NICs.
        nics: u32,
    },
    /// The affinity map names no GPU, or one that the node does not have.
    #[error("node {node}: affinity of NIC {nic} is {listed:?}; name at least one GPU, each of 0 to {last}")]
    AffinityGpu {
        /// The node.
        node: String,
        /// The NIC.
        nic: usize,
        /// What is listed for it.
        listed: Vec<u32>,
        /// The last GPU.
        last: u32,
    },
}

/// A node: the name of a preset, or an object with `preset` and the fields that differ.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NodeConfig(NodeOverrides);

/// A preset with changes; a field not given is the preset's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NodeOverrides {
    /// Name of the preset: dgx-1v, dgx-a100, dgx-h100, hgx-h100, hgx-h100-roce, dgx-b200, gb200-nvl72, aws-p3dn, aws-p4d,
    /// aws-p4de, aws-p5, azure-ndv4, azure-ndv5, gcp-a3-mega, oci-bm-gpu4-8 or oci-bm-h100-8. Default: `dgx-h100`.
    pub preset: Option<String>,
    /// GPUs. NICs are spread over them as `affinity` says; where that is not given and GPUs or NICs are, evenly.
    pub gpus: Option<u32>,
    /// Generation of the GPUs.
    pub generation: Option<GpuGeneration>,
    /// NVLink GB/s of a GPU in each direction; 0: none.
    pub nvlink_gbytes_per_s: Option<f64>,
    /// Whether NVSwitches join the GPUs.
    pub nvswitch: Option<bool>,
    /// PCIe generation. Range: 3–6.
    pub pcie_generation: Option<u32>,
    /// NICs.
    pub nics: Option<u32>,
    /// Rate of a NIC in Gb/s, of all its ports together.
    pub nic_rate_gbps: Option<u32>,
    /// For each NIC, the GPUs nearest to it.
    pub affinity: Option<Vec<Vec<u32>>>,
    /// Path between a NIC and the GPUs nearest to it.
    pub nic_path: Option<PathClass>,
    /// Maker of the CPU.
    pub cpu: Option<Cpu>,
    /// Whether NICs read and write GPU memory.
    pub gpudirect: Option<bool>,
    /// Kind of the network.
    pub network: Option<NetworkKind>,
    /// Costs of thread blocks and host threads. Default: those of the generation and CPU.
    pub host: Option<HostCosts>,
}

impl NodeConfig {
    /// A preset without changes.
    pub fn preset(name: &str) -> Self {
        Self(NodeOverrides { preset: Some(name.into()), ..NodeOverrides::default() })
    }

    /// A preset with changes.
    pub const fn new(overrides: NodeOverrides) -> Self {
        Self(overrides)
    }

    /// What was written.
    pub const fn overrides(&self) -> &NodeOverrides {
        &self.0
    }

    /// The node it stands for.
    pub fn resolve(&self) -> Result<NodeSpec, NodeError> {
        let o = self.0.clone();
        let base = NodeSpec::preset(o.preset.as_deref().unwrap_or("dgx-h100"))?;
        let generation = o.generation.unwrap_or(base.generation);
        let cpu = o.cpu.unwrap_or(base.cpu);
        let kept = generation == base.generation && cpu == base.cpu;
        let gpus = o.gpus.unwrap_or(base.gpus);
        let nics = o.nics.unwrap_or(base.nics);
        let affinity = match o.affinity {
            Some(affinity) => affinity,
            None if gpus == base.gpus && nics == base.nics => base.affinity,
            None => spread(gpus, nics),
        };
        let spec = NodeSpec {
            name: base.name,
            gpus,
            generation,
            nvlink_gbytes_per_s: o.nvlink_gbytes_per_s.unwrap_or(base.nvlink_gbytes_per_s),
            nvswitch: o.nvswitch.unwrap_or(base.nvswitch),
            pcie_generation: o.pcie_generation.unwrap_or(base.pcie_generation),
            nics,
            nic_rate_gbps: o.nic_rate_gbps.unwrap_or(base.nic_rate_gbps),
            affinity,
            nic_path: o.nic_path.unwrap_or(base.nic_path),
            cpu,
            gpudirect: o.gpudirect.unwrap_or(base.gpudirect),
            network: o.network.unwrap_or(base.network),
            host: o.host.unwrap_or(if kept { base.host } else { HostCosts::of(generation, cpu) }),
        };
        validate(&spec)?;
        Ok(spec)
    }
}

/// NICs spread evenly over GPUs, in order: a NIC is near the GPUs of its share.
fn spread(gpus: u32, nics: u32) -> Vec<Vec<u32>> {
    const LIMIT: u32 = 1024;
    let (gpus, nics) = (gpus.clamp(1, LIMIT), nics.min(LIMIT));
    (0..nics)
        .map(|nic| {
            let first = nic * gpus / nics;
            let end = ((nic + 1) * gpus / nics).max(first + 1);
            (first..end).collect()
        })
        .collect()
}

/// What is wrong with a node, if anything.
pub(super) fn validate(spec: &NodeSpec) -> Result<(), NodeError> {
    let numbers = [
        ("gpus", spec.gpus, 1..=1024, "1–1024"),
        ("nics", spec.nics, 1..=1024, "1–1024"),
        ("nic_rate_gbps", spec.nic_rate_gbps, 1..=100_000, "1–100000"),
        ("pcie_generation", spec.pcie_generation, 3..=6, "3–6"),
    ];
    let out_of_range = |field, value: String, range| {
        Err(NodeError::OutOfRange { node: spec.name.clone(), field, value, range })
    };
    for (field, value, allowed, range) in numbers {
        if !allowed.contains(&value) {
            return out_of_range(field, value.to_string(), range);
        }
    }
    let rates = [
        ("host.copy_simple_gbytes_per_s", spec.host.copy_simple_gbytes_per_s),
        ("host.copy_ll128_gbytes_per_s", spec.host.copy_ll128_gbytes_per_s),
        ("host.copy_ll_gbytes_per_s", spec.host.copy_ll_gbytes_per_s),
    ];
    for (field, value) in rates {
        if !(value > 0.0 && value <= 1e6) {
            return out_of_range(field, value.to_string(), "above 0, at most 1e6");
        }
    }
    for (field, value) in
        [("nvlink_gbytes_per_s", spec.nvlink_gbytes_per_s), ("host.post_us", spec.host.post_us)]
    {
        if !(0.0..=1e6).contains(&value) {
            return out_of_range(field, value.to_string(), "0–1e6");
        }
    }
    if spec.affinity.len() != spec.nics as usize {
        let (node, listed) = (spec.name.clone(), spec.affinity.len());
        return Err(NodeError::AffinityLength { node, listed, nics: spec.nics });
    }
    for (nic, gpus) in spec.affinity.iter().enumerate() {
        if gpus.is_empty() || gpus.iter().any(|&gpu| gpu >= spec.gpus) {
            let (node, listed) = (spec.name.clone(), gpus.clone());
            return Err(NodeError::AffinityGpu { node, nic, listed, last: spec.gpus - 1 });
        }
    }
    Ok(())
}

impl<'de> Deserialize<'de> for NodeConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameOrObject;
        impl<'de> Visitor<'de> for NameOrObject {
            type Value = NodeConfig;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("the name of a node preset, or an object with \"preset\" and what differs")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<NodeConfig, E> {
                Ok(NodeConfig::preset(name))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<NodeConfig, A::Error> {
                NodeOverrides::deserialize(MapAccessDeserializer::new(map)).map(NodeConfig)
            }
        }
        deserializer.deserialize_any(NameOrObject)
    }
}

impl JsonSchema for NodeConfig {
    fn schema_name() -> Cow<'static, str> {
        "NodeConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let object = generator.subschema_for::<NodeOverrides>();
        json_schema!({
            "description": "A node: the name of a preset, or an object with `preset` and the fields that differ.",
            "anyOf": [{ "type": "string", "enum": PRESETS }, object]
        })
    }
}
