//! Machines by name. Each says where its figures come from; what is assumed is called so.

use super::{Cpu, GpuGeneration, HostCosts, NetworkKind, NodeSpec, PathClass};

/// Names of the presets.
pub const PRESETS: [&str; 16] = [
    "dgx-1v",
    "dgx-a100",
    "dgx-h100",
    "hgx-h100",
    "hgx-h100-roce",
    "dgx-b200",
    "gb200-nvl72",
    "aws-p3dn",
    "aws-p4d",
    "aws-p4de",
    "aws-p5",
    "azure-ndv4",
    "azure-ndv5",
    "gcp-a3-mega",
    "oci-bm-gpu4-8",
    "oci-bm-h100-8",
];

/// NIC i is near GPU i.
fn one_to_one(nics: u32) -> Vec<Vec<u32>> {
    (0..nics).map(|nic| vec![nic]).collect()
}

/// PCIe switches with two GPUs and `nics / 4` NICs each; four switches.
fn pairs(nics: u32) -> Vec<Vec<u32>> {
    let each = nics / 4;
    (0..nics).map(|nic| vec![2 * (nic / each), 2 * (nic / each) + 1]).collect()
}

/// Eight V100 in a hybrid cube mesh: 6 NVLink links each (120 GB/s), PCIe Gen3, Intel. Four switches of two GPUs and a
/// 100 Gb/s NIC. Source: NVIDIA DGX-1 With Tesla V100 System Architecture (WP-08437).
fn dgx_1v() -> NodeSpec {
    NodeSpec {
        name: "dgx-1v".into(),
        gpus: 8,
        generation: GpuGeneration::Volta,
        nvlink_gbytes_per_s: 120.0,
        nvswitch: false,
        pcie_generation: 3,
        nics: 4,
        nic_rate_gbps: 100,
        affinity: pairs(4),
        nic_path: PathClass::Pix,
        cpu: Cpu::Intel,
        gpudirect: true,
        network: NetworkKind::Infiniband,
        host: HostCosts::of(GpuGeneration::Volta, Cpu::Intel),
    }
}

/// Eight A100 on NVSwitch (12 links, 240 GB/s), PCIe Gen4, AMD EPYC 7742, eight 200 Gb/s HDR NICs, two GPUs and two
/// NICs a switch. Source: NVIDIA DGX A100 System Architecture (WP-10083).
fn dgx_a100() -> NodeSpec {
    NodeSpec {
        name: "dgx-a100".into(),
        generation: GpuGeneration::Ampere,
        nvlink_gbytes_per_s: 240.0,
        nvswitch: true,
        pcie_generation: 4,
        nics: 8,
        nic_rate_gbps: 200,
        affinity: pairs(8),
        cpu: Cpu::Amd,
        host: HostCosts::of(GpuGeneration::Ampere, Cpu::Amd),
        ..dgx_1v()
    }
}

/// Eight H100 on NVSwitch (18 links, 370.8 GB/s), PCIe Gen5, Intel Xeon 8480C, eight 400 Gb/s NDR NICs, one GPU and one
/// NIC a switch. Source: NVIDIA DGX H100 user guide.
fn dgx_h100() -> NodeSpec {
    NodeSpec {
        name: "dgx-h100".into(),
        generation: GpuGeneration::Hopper,
        nvlink_gbytes_per_s: 370.8,
        nvswitch: true,
        pcie_generation: 5,
        nics: 8,
        nic_rate_gbps: 400,
        affinity: one_to_one(8),
        host: HostCosts::of(GpuGeneration::Hopper, Cpu::Intel),
        ..dgx_1v()
    }
}

/// Eight B200 on NVSwitch (18 links, 721.8 GB/s), PCIe Gen5, Intel Xeon 8570, eight 400 Gb/s NDR NICs. Source: NVIDIA
/// DGX B200 data sheet.
fn dgx_b200() -> NodeSpec {
    NodeSpec {
        name: "dgx-b200".into(),
        generation: GpuGeneration::Blackwell,
        nvlink_gbytes_per_s: 721.8,
        host: HostCosts::of(GpuGeneration::Blackwell, Cpu::Intel),
        ..dgx_h100()
    }
}

/// The NVLink domain of a GB200 NVL72 rack: 18 trays of four GPUs, a 400 Gb/s ConnectX-7 for each GPU, behind the Grace
/// CPU of the tray. Source: NVIDIA GB200 NVL72 data sheet; NIC path and rate: assumed.
fn gb200_nvl72() -> NodeSpec {
    NodeSpec {
        name: "gb200-nvl72".into(),
        gpus: 72,
        nics: 72,
        affinity: one_to_one(72),
        nic_path: PathClass::P2c,
        cpu: Cpu::Arm,
        host: HostCosts::of(GpuGeneration::Blackwell, Cpu::Arm),
        ..dgx_b200()
    }
}

/// p3dn.24xlarge: eight V100 with NVLink, one 100 Gb/s EFA behind the host bridge, no GPUDirect. Source: AWS EC2
/// instance types; the path: assumed.
fn aws_p3dn() -> NodeSpec {
    NodeSpec {
        name: "aws-p3dn".into(),
        nics: 1,
        affinity: vec![(0..8).collect()],
        nic_path: PathClass::Phb,
        gpudirect: false,
        network: NetworkKind::Efa,
        ..dgx_1v()
    }
}

/// p4d.24xlarge: eight A100 40 GB, four 100 Gb/s EFA, two GPUs and a NIC a switch, Intel Xeon 8275CL. Source: AWS EC2
/// instance types; aws-ofi-nccl's topology file.
fn aws_p4d() -> NodeSpec {
    NodeSpec {
        name: "aws-p4d".into(),
        nics: 4,
        nic_rate_gbps: 100,
        affinity: pairs(4),
        cpu: Cpu::Intel,
        network: NetworkKind::Efa,
        host: HostCosts::of(GpuGeneration::Ampere, Cpu::Intel),
        ..dgx_a100()
    }
}

/// p5.48xlarge: eight H100, 32 EFA of 100 Gb/s, four to a GPU, which the plugin joins to one of 400 Gb/s; AMD EPYC
/// 7R13. Source: AWS EC2 instance types; aws-ofi-nccl's topology file.
fn aws_p5() -> NodeSpec {
    NodeSpec {
        name: "aws-p5".into(),
        cpu: Cpu::Amd,
        network: NetworkKind::Efa,
        host: HostCosts::of(GpuGeneration::Hopper, Cpu::Amd),
        ..dgx_h100()
    }
}

/// a3-megagpu-8g: eight H100, eight 200 Gb/s NICs with GPUDirect-TCPXO, Intel Xeon 8481C. Source: Google Cloud
/// documentation, GPU machine types.
fn gcp_a3_mega() -> NodeSpec {
    NodeSpec { name: "gcp-a3-mega".into(), nic_rate_gbps: 200, network: NetworkKind::TcpLike, ..dgx_h100() }
}

/// BM.GPU4.8: eight A100 40 GB, eight dual-port ConnectX-5 of 2 × 100 Gb/s over RoCE, AMD EPYC 7542. Source: Oracle
/// Cloud compute shapes; that NCCL merges the ports is its default.
fn oci_bm_gpu4_8() -> NodeSpec {
    NodeSpec { name: "oci-bm-gpu4-8".into(), network: NetworkKind::Roce, ..dgx_a100() }
}

/// BM.GPU.H100.8: eight H100, eight dual-port ConnectX-7 of 2 × 200 Gb/s over RoCE, Intel Xeon 8480+. Source: Oracle
/// Cloud compute shapes; that NCCL merges the ports is its default.
fn oci_bm_h100_8() -> NodeSpec {
    NodeSpec { name: "oci-bm-h100-8".into(), network: NetworkKind::Roce, ..dgx_h100() }
}

/// The preset of that name.
pub(super) fn preset(name: &str) -> Option<NodeSpec> {
    let renamed = |spec: NodeSpec| NodeSpec { name: name.into(), ..spec };
    Some(match name {
        "dgx-1v" => dgx_1v(),
        "dgx-a100" => dgx_a100(),
        "dgx-h100" => dgx_h100(),
        // HGX H100: the same board and NIC layout in other vendors' machines.
        "hgx-h100" => renamed(dgx_h100()),
        "hgx-h100-roce" => NodeSpec { network: NetworkKind::Roce, ..renamed(dgx_h100()) },
        "dgx-b200" => dgx_b200(),
        "gb200-nvl72" => gb200_nvl72(),
        "aws-p3dn" => aws_p3dn(),
        "aws-p4d" => aws_p4d(),
        // p4de.24xlarge: p4d with A100 80 GB. Source: AWS EC2 instance types.
        "aws-p4de" => renamed(aws_p4d()),
        "aws-p5" => aws_p5(),
        // ND A100 v4: eight A100, eight 200 Gb/s HDR NICs, AMD EPYC 7V12. Source: Azure VM sizes; topology file of
        // Azure's HPC images.
        "azure-ndv4" => renamed(dgx_a100()),
        // ND H100 v5: eight H100, eight 400 Gb/s NDR NICs, Intel Xeon 8480C. Source: Azure VM sizes.
        "azure-ndv5" => renamed(dgx_h100()),
        "gcp-a3-mega" => gcp_a3_mega(),
        "oci-bm-gpu4-8" => oci_bm_gpu4_8(),
        "oci-bm-h100-8" => oci_bm_h100_8(),
        _ => return None,
    })
}
