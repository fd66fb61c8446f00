//! Paths of single flows, as segment-routing policies pin them.

use super::error::RoutingError;
use super::table::list_neighbours;
use crate::topology::{Graph, NodeIndex, PortIndex};
use crate::traffic::Flow;

/// The chosen path of each flow that has candidate paths: the first whose links are all up. A flow without one is
/// routed by destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExplicitRoutes {
    /// Flow f has `hops[first[f]..first[f + 1]]`; empty when no flow has a path.
    first: Vec<u32>,
    /// (switch index, egress port) along each path.
    hops: Vec<(u32, PortIndex)>,
}

impl ExplicitRoutes {
    /// Chooses the path of each of `flows` under the dead links marked in `down` (one entry a link). Parallel links
    /// of a hop are spread over the flows by their index.
    pub fn build(graph: &Graph, flows: &[Flow], down: &[bool]) -> Result<Self, RoutingError> {
        assert_eq!(down.len(), graph.links.len(), "one entry of `down` for each link");
        if flows.iter().all(|f| f.paths.is_empty()) {
            return Ok(Self::default());
        }
        let mut routes = Self { first: Vec::with_capacity(flows.len() + 1), hops: Vec::new() };
        routes.first.push(0);
        for (index, flow) in flows.iter().enumerate() {
            let mut chosen: Option<Vec<(u32, PortIndex)>> = None;
            for (candidate, path) in flow.paths.iter().enumerate() {
                let hops = resolve(graph, flow, path, index, down).map_err(|what| RoutingError::BadPath {
                    flow: index,
                    candidate,
                    src: graph.names[flow.src as usize].clone(),
                    dst: graph.names[flow.dst as usize].clone(),
                    what,
                })?;
                chosen = chosen.or(hops);
            }
            routes.hops.extend(chosen.unwrap_or_default());
            routes.first.push(routes.hops.len() as u32);
        }
        Ok(routes)
    }

    /// The egress port at switch `switch_index` (its node index minus the number of hosts) of a flow whose path
    /// leads through it. O(switches of the path).
    #[inline]
    pub fn lookup(&self, switch_index: u32, flow: u32) -> Option<PortIndex> {
        self.hops(flow).iter().find(|&&(switch, _)| switch == switch_index).map(|&(_, port)| port)
    }

    /// Whether the flow has a path of its own.
    #[inline]
    pub fn is_explicit(&self, flow: u32) -> bool {
        !self.hops(flow).is_empty()
    }

    /// The path of a flow as (switch index, egress port), empty for flows routed by destination.
    #[inline]
    pub fn hops(&self, flow: u32) -> &[(u32, PortIndex)] {
        let Some(&[first, last]) = self.first.get(flow as usize..).and_then(|rest| rest.first_chunk::<2>())
        else {
            return &[];
        };
        &self.hops[first as usize..last as usize]
    }
}

/// The hops of `path`, or `None` when a link of it is dead.
fn resolve(
    graph: &Graph,
    flow: &Flow,
    path: &[NodeIndex],
    index: usize,
    down: &[bool],
) -> Result<Option<Vec<(u32, PortIndex)>>, String> {
    let (Some(&first), Some(&last)) = (path.first(), path.last()) else {
        return Err("it is empty; list the switches from sender to receiver".to_string());
    };
    let name = |node: NodeIndex| graph.names[node as usize].as_str();
    let up = |port: PortIndex| !down[graph.ports[port as usize].link as usize];
    if let Some(&host) = path.iter().find(|&&node| graph.is_host(node)) {
        return Err(format!("{} is a host; list only switches", name(host)));
    }
    if let Some(i) = (1..path.len()).find(|&i| path[..i].contains(&path[i])) {
        return Err(format!("it visits {} twice; a path has each switch once", name(path[i])));
    }
    for (end, switch, which) in [(flow.src, first, "first"), (flow.dst, last, "last")] {
        let home = graph.ports_of(end).next().map(|p| graph.ports[p as usize].peer_node);
        if home != Some(switch) {
            let home = home.map_or("nothing", name);
            let wrong = name(switch);
            return Err(format!("its {which} switch is {wrong}, but {} is attached to {home}", name(end)));
        }
    }
    let mut hops = Vec::with_capacity(path.len());
    let mut alive = graph.ports_of(flow.src).all(up);
    for (i, &switch) in path.iter().enumerate() {
        let next = path.get(i + 1).copied().unwrap_or(flow.dst);
        let links: Vec<PortIndex> =
            graph.ports_of(switch).filter(|&p| graph.ports[p as usize].peer_node == next).collect();
        if links.is_empty() {
            let around: Vec<NodeIndex> =
                graph.ports_of(switch).map(|p| graph.ports[p as usize].peer_node).collect();
            let around = list_neighbours(graph, &dedup(around), name(next));
            return Err(format!(
                "{} has no link to {}; its neighbours are {around}",
                name(switch),
                name(next)
            ));
        }
        let usable: Vec<PortIndex> = links.into_iter().filter(|&p| up(p)).collect();
        match usable.len() {
            0 => alive = false,
            n => hops.push((switch - graph.hosts, usable[index % n])),
        }
    }
    Ok(alive.then_some(hops))
}

fn dedup(mut nodes: Vec<NodeIndex>) -> Vec<NodeIndex> {
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

#[cfg(test)]
mod tests {
    use super::super::test_graphs::{flow, leaf_spine};
    use super::*;

    /// leaf0 = 4, leaf1 = 5, spine0 = 6, spine1 = 7; links: 4 hosts, then leaf0-spine0 (4), leaf0-spine1 (5), …
    fn graph() -> Graph {
        leaf_spine(2, 2, 2, 1)
    }

    fn pinned(paths: &[&[NodeIndex]]) -> Flow {
        Flow { paths: paths.iter().map(|p| p.to_vec()).collect(), ..flow(0, 3) }
    }

    fn down(graph: &Graph, dead: &[usize]) -> Vec<bool> {
        (0..graph.links.len()).map(|l| dead.contains(&l)).collect()
    }

    fn names(graph: &Graph, routes: &ExplicitRoutes, flow: u32) -> Vec<String> {
        routes.hops(flow).iter().map(|&(_, p)| graph.port_name(graph.ports[p as usize].peer)).collect()
    }

    #[test]
    fn the_first_path_with_all_links_up_is_taken() {
        let g = graph();
        let flows = [flow(0, 3), pinned(&[&[4, 7, 5], &[4, 6, 5]]), flow(1, 2)];
        let routes = ExplicitRoutes::build(&g, &flows, &down(&g, &[])).unwrap();
        assert_eq!(names(&g, &routes, 1), ["spine1:0", "leaf1:3", "host3"]);
        assert!(
            routes.is_explicit(1)
                && !routes.is_explicit(0)
                && !routes.is_explicit(2)
                && !routes.is_explicit(9)
        );
        let up = routes.lookup(0, 1).unwrap();
        assert_eq!(g.ports[up as usize].peer_node, 7);
        assert_eq!(routes.lookup(2, 1), None, "spine0 is not on the path");
        assert_eq!(routes.lookup(0, 0), None);

        let routes = ExplicitRoutes::build(&g, &flows, &down(&g, &[5])).unwrap();
        assert_eq!(names(&g, &routes, 1), ["spine0:0", "leaf1:2", "host3"]);
        for dead in [&[4, 5][..], &[0], &[3]] {
            let routes = ExplicitRoutes::build(&g, &flows, &down(&g, dead)).unwrap();
            assert!(!routes.is_explicit(1), "dead {dead:?}");
        }
    }

    #[test]
    fn parallel_links_are_spread_over_flows_and_skipped_when_dead() {
        let g = leaf_spine(2, 1, 1, 2);
        let pinned = Flow { paths: vec![vec![2, 4, 3]], ..flow(0, 1) };
        let flows = [pinned.clone(), pinned];
        let routes = ExplicitRoutes::build(&g, &flows, &down(&g, &[])).unwrap();
        assert_ne!(routes.lookup(0, 0), routes.lookup(0, 1));
        let routes = ExplicitRoutes::build(&g, &flows, &down(&g, &[2])).unwrap();
        assert_eq!(routes.lookup(0, 0), routes.lookup(0, 1));
        assert!(routes.is_explicit(0));
    }

    #[test]
    fn without_paths_nothing_is_held() {
        let g = graph();
        let routes = ExplicitRoutes::build(&g, &[flow(0, 3)], &down(&g, &[])).unwrap();
        assert_eq!(routes, ExplicitRoutes::default());
        assert!(!routes.is_explicit(0));
    }

    #[test]
    fn bad_paths_say_what_would_be_right() {
        let g = graph();
        let error = |path: &[NodeIndex]| {
            ExplicitRoutes::build(&g, &[pinned(&[&[4, 6, 5], path])], &down(&g, &[])).unwrap_err().to_string()
        };
        let prefix = "path 1 of flow 0 (host0 to host3): ";
        assert_eq!(error(&[]), format!("{prefix}it is empty; list the switches from sender to receiver"));
        assert_eq!(error(&[4, 0, 5]), format!("{prefix}host0 is a host; list only switches"));
        assert_eq!(
            error(&[4, 5]),
            format!("{prefix}leaf0 has no link to leaf1; its neighbours are spine0, spine1, host0, host1")
        );
        assert_eq!(
            error(&[4, 6, 4, 7, 5]),
            format!("{prefix}it visits leaf0 twice; a path has each switch once")
        );
        assert_eq!(
            error(&[6, 5]),
            format!("{prefix}its first switch is spine0, but host0 is attached to leaf0")
        );
        assert_eq!(
            error(&[4, 6]),
            format!("{prefix}its last switch is spine0, but host3 is attached to leaf1")
        );
    }
}
