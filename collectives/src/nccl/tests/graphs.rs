//! What the topology search finds on known nodes.

use super::*;
use crate::node::PathClass::{self, Pix, Pxn};
use crate::plan::TreePattern::{self, Balanced, Single};

/// Channels × GB/s within / between.
fn of(graph: &Graph) -> (u32, f64, f64) {
    (graph.count(), graph.bw_intra, graph.bw_inter)
}

struct Row {
    node: NodeSpec,
    ring: (u32, f64, PathClass, u32),
    tree: (TreePattern, u32, f64, f64),
    nvls: Option<(u32, f64, f64)>,
    channels: u32,
}

fn pairs(nics: u32) -> Vec<Vec<u32>> {
    let each = nics / 4;
    (0..nics).map(|nic| vec![2 * (nic / each), 2 * (nic / each) + 1]).collect()
}

fn two_each() -> Vec<Vec<u32>> {
    (0..16).map(|nic| vec![nic / 2]).collect()
}

#[test]
fn searches_on_eight_gpus_find_what_nccl_finds() {
    let b300 = NodeConfig::new(NodeOverrides {
        preset: Some("dgx-b200".into()),
        pcie_generation: Some(6),
        nic_rate_gbps: Some(800),
        ..NodeOverrides::default()
    });
    let row = |node, ring, tree, nvls, channels| Row { node, ring, tree, nvls, channels };
    let rows = [
        row(node("dgx-h100"), (8, 48.0, Pix, 2), (Single, 8, 48.0, 48.0), Some((8, 40.0, 48.0)), 16),
        row(
            with_nics("dgx-h100", 16, 200, two_each()),
            (16, 24.0, Pix, 2),
            (Single, 16, 24.0, 24.0),
            Some((8, 24.0, 24.0)),
            32,
        ),
        row(
            with_nics("dgx-h100", 4, 400, pairs(4)),
            (8, 24.0, Pix, 0),
            (Balanced, 8, 48.0, 24.0),
            Some((4, 48.0, 48.0)),
            16,
        ),
        row(node("dgx-a100"), (8, 24.0, Pix, 0), (Balanced, 8, 30.0, 24.0), None, 16),
        row(with_nics("dgx-a100", 4, 200, pairs(4)), (4, 24.0, Pix, 0), (Balanced, 4, 48.0, 24.0), None, 8),
        row(
            with_nics("dgx-a100", 16, 100, pairs(16)),
            (16, 12.0, Pix, 0),
            (Balanced, 16, 15.0, 12.0),
            None,
            32,
        ),
        row(node("dgx-1v"), (4, 12.0, Pix, 0), (Balanced, 4, 20.0, 12.0), None, 8),
        row(node("dgx-b200"), (8, 48.0, Pxn, 0), (Single, 8, 96.0, 48.0), Some((8, 48.0, 48.0)), 16),
        row(b300.resolve().unwrap(), (16, 48.0, Pix, 2), (Single, 16, 48.0, 48.0), Some((8, 80.0, 96.0)), 32),
    ];
    for Row { node, ring, tree, nvls, channels } in rows {
        let found = eight(&node, 2);
        let Graphs { ring: r, tree: t, nvls: n, .. } = &found.graphs;
        let what = format!("{} with {} × {} Gb/s", node.name, node.nics, node.nic_rate_gbps);
        assert_eq!((r.count(), r.bw_inter, r.nic_path, r.cross_nic), ring, "ring of {what}");
        assert_eq!(r.bw_intra, r.bw_inter, "ring of {what}");
        assert_eq!((t.pattern, t.count(), t.bw_intra, t.bw_inter), tree, "tree of {what}");
        assert_eq!(n.as_ref().map(of), nvls, "heads of {what}");
        assert_eq!(found.counts.collective, channels, "channels of {what}");
    }
}

#[test]
fn searches_in_one_node_find_what_nccl_finds() {
    for (name, ring, channels, nvls) in [
        ("dgx-h100", (12, 30.0, 30.0), 24, Some(40.0)),
        ("dgx-a100", (12, 20.0, 20.0), 24, None),
        ("dgx-b200", (16, 45.0, 45.0), 32, Some(80.0)),
        ("dgx-1v", (6, 20.0, 20.0), 12, None),
    ] {
        let found = eight(&node(name), 1);
        assert_eq!(of(&found.graphs.ring), ring, "{name}");
        assert_eq!(found.counts.collective, channels, "{name}");
        assert_eq!(found.graphs.nvls.as_ref().map(|g| g.bw_intra), nvls, "{name}");
    }
}

#[test]
fn cross_nic_decides_how_rings_leave() {
    let node = node("dgx-h100");
    let with = |cross_nic| {
        let config = NcclConfig { cross_nic, ..NcclConfig::default() };
        Communicator::new(&node, 2, 8, &config).unwrap().graphs.ring
    };
    let same = with(0);
    assert_eq!((same.count(), same.bw_inter, same.nic_path), (8, 45.0, Pxn));
    assert!(same.channels.iter().all(|c| c.enter == c.leave && c.relay == Some(c.gpus[0])));
    let free = with(1);
    assert_eq!((free.count(), free.bw_inter, free.nic_path), (8, 48.0, Pix));
    for (c, channel) in free.channels.iter().enumerate() {
        assert_eq!((channel.enter, channel.leave), (c as u32, (c as u32 + 1) % 8));
        assert_eq!((channel.gpus[0], channel.gpus[7]), (channel.enter, channel.leave));
    }
    let no_pxn = NcclConfig { cross_nic: 0, pxn: false, ..NcclConfig::default() };
    let ring = Communicator::new(&node, 2, 8, &no_pxn).unwrap().graphs.ring;
    assert_eq!((ring.nic_path, ring.bw_inter), (PathClass::Phb, 40.0));
}

#[test]
fn orders_are_those_of_nccl() {
    let h100 = eight(&node("dgx-h100"), 2).graphs;
    let ring = |c: usize| {
        (&h100.ring.channels[c].gpus[..], h100.ring.channels[c].enter, h100.ring.channels[c].leave)
    };
    assert_eq!(ring(0), (&[0, 7, 6, 5, 4, 3, 2, 1][..], 0, 1));
    assert_eq!(ring(1), (&[1, 2, 3, 4, 5, 6, 7, 0][..], 1, 0));
    assert_eq!(ring(2), (&[2, 1, 0, 7, 6, 5, 4, 3][..], 2, 3));
    assert_eq!(ring(3), (&[3, 4, 5, 6, 7, 0, 1, 2][..], 3, 2));
    assert_eq!(ring(6), (&[6, 5, 4, 3, 2, 1, 0, 7][..], 6, 7));
    assert_eq!(h100.tree.channels[3].gpus, [3, 4, 5, 6, 7, 0, 1, 2]);
    assert_eq!(h100.tree.channels[3].enter, 3);

    let a100 = eight(&node("dgx-a100"), 2).graphs;
    assert_eq!(a100.ring.channels[2].gpus, [2, 1, 0, 7, 6, 5, 4, 3]);
    assert_eq!(a100.ring.channels[3].gpus, [3, 4, 5, 6, 7, 0, 1, 2]);
    assert!(
        (0..8).all(|c| (a100.ring.channels[c].enter, a100.ring.channels[c].leave) == (c as u32, c as u32))
    );
    assert_eq!(a100.tree.channels[2].gpus, [2, 3, 4, 5, 6, 7, 0, 1]);
    assert_eq!(a100.tree.channels[3].gpus, [3, 2, 1, 0, 7, 6, 5, 4]);

    let four = eight(&with_nics("dgx-a100", 4, 200, pairs(4)), 2).graphs;
    assert_eq!(four.ring.channels[1].gpus, [2, 1, 0, 7, 6, 5, 4, 3]);

    let v100 = eight(&node("dgx-1v"), 2).graphs;
    assert_eq!(v100.ring.channels[0].gpus, [0, 3, 2, 6, 7, 4, 5, 1]);
    assert_eq!(v100.ring.channels[3].gpus, [6, 5, 4, 0, 2, 1, 3, 7]);
}

#[test]
fn nvl72_searches_the_whole_domain() {
    let node = node("gb200-nvl72");
    let found = Communicator::new(&node, 2, 72, &NcclConfig::default()).unwrap();
    assert_eq!(of(&found.graphs.ring), (16, 45.1, 45.1));
    assert_eq!(found.counts.collective, 32);
    assert_eq!(found.graphs.nvls.unwrap().count(), 32);
}
