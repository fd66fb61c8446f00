//! Binary trees over nodes, as NCCL numbers them: tree 0, and its complement tree 1 in which nearly every leaf of tree 0
//! is an interior node.

/// Where a node stands in a binary tree over nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeTree {
    /// Its parent; `None` at the root.
    pub parent: Option<u32>,
    /// Whether it is its parent's second child.
    pub second: bool,
    /// Its first and second child.
    pub children: [Option<u32>; 2],
}

impl NodeTree {
    /// The place of `node` of `nodes` in tree 0 or 1. Tree 1 is the mirror of tree 0 with an even number of nodes, and
    /// tree 0 moved on by one node with an odd number.
    pub fn new(tree: u32, node: u32, nodes: u32) -> Self {
        if tree.is_multiple_of(2) {
            return Self::first(node, nodes);
        }
        let last = nodes - 1;
        let (here, back): (u32, fn(u32, u32) -> u32) = if nodes.is_multiple_of(2) {
            (last - node, |other, last| last - other)
        } else {
            ((node + last) % nodes, |other, last| if other == last { 0 } else { other + 1 })
        };
        let place = Self::first(here, nodes);
        Self {
            parent: place.parent.map(|p| back(p, last)),
            second: place.second,
            children: place.children.map(|child| child.map(|c| back(c, last))),
        }
    }

    /// Tree 0. With b the lowest bit set in a node's number r: its parent is (r xor b) or 2b, or r xor b where that does
    /// not exist; its children are r − b/2 and r + b/2, the second with b halved until it exists.
    fn first(node: u32, nodes: u32) -> Self {
        if node == 0 {
            let child = (nodes > 1).then(|| nodes.next_power_of_two() / 2);
            return Self { parent: None, second: false, children: [None, child] };
        }
        let bit = node & node.wrapping_neg();
        let above = u64::from(node ^ bit) | (u64::from(bit) << 1);
        let parent = if above >= u64::from(nodes) { node ^ bit } else { above as u32 };
        let mut half = bit / 2;
        let left = (half > 0).then(|| node - half);
        while half > 0 && u64::from(node) + u64::from(half) >= u64::from(nodes) {
            half /= 2;
        }
        let right = (half > 0).then(|| node + half);
        Self { parent: Some(parent), second: node > parent, children: [left, right] }
    }

    /// The root of tree 0 or 1 over `nodes`.
    pub const fn root(tree: u32, nodes: u32) -> u32 {
        match (tree % 2, nodes % 2) {
            (0, _) => 0,
            (_, 0) => nodes - 1,
            _ => 1 % nodes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_and_parents_agree_and_all_hang_on_the_root() {
        for nodes in 1..200 {
            for tree in 0..2 {
                let root = NodeTree::root(tree, nodes);
                for node in 0..nodes {
                    let place = NodeTree::new(tree, node, nodes);
                    assert_eq!(place.parent.is_none(), node == root, "node {node} of {nodes}, tree {tree}");
                    for (i, child) in place.children.iter().enumerate() {
                        let Some(child) = *child else { continue };
                        let below = NodeTree::new(tree, child, nodes);
                        assert_eq!((below.parent, below.second), (Some(node), i == 1), "{child} of {nodes}");
                    }
                    if let Some(parent) = place.parent {
                        let above = NodeTree::new(tree, parent, nodes);
                        assert_eq!(
                            above.children[usize::from(place.second)],
                            Some(node),
                            "{node} of {nodes}"
                        );
                    }
                    let mut top = node;
                    let climbed = (0..nodes).find(|_| match NodeTree::new(tree, top, nodes).parent {
                        Some(parent) => {
                            top = parent;
                            false
                        }
                        None => true,
                    });
                    assert!(climbed.is_some() && top == root, "node {node} of {nodes} reaches the root");
                }
            }
        }
    }

    #[test]
    fn an_interior_node_of_one_tree_is_a_leaf_of_the_other() {
        for nodes in (4..100).step_by(2) {
            let interior = |tree, node| NodeTree::new(tree, node, nodes).children[0].is_some();
            assert!((0..nodes).all(|node| !(interior(0, node) && interior(1, node))), "{nodes} nodes");
        }
    }
}
