//! Dependencies between transactions, and cycles of them.

use std::collections::VecDeque;

/// Kinds of dependencies, as bits.
pub mod kind {
    /// One wrote over what the other wrote.
    pub const WW: u8 = 1;
    /// One read what the other wrote.
    pub const WR: u8 = 2;
    /// One wrote over what the other read: an anti-dependency.
    pub const RW: u8 = 4;
}
use kind::RW;

/// That `to` comes after `from`, and on which list that is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The transaction that comes first.
    pub from: u32,
    /// The one that comes later.
    pub to: u32,
    /// Of [`kind`].
    pub kind: u8,
    /// Number of the list.
    pub list: u32,
}

/// Transactions and what depends on what.
pub struct Graph {
    edges: Vec<Edge>,
    /// Where the edges of each node begin.
    begins: Vec<u32>,
}

impl Graph {
    /// Of `nodes` transactions; of several edges alike one stays.
    pub fn new(nodes: usize, mut edges: Vec<Edge>) -> Self {
        edges.sort_unstable();
        edges.dedup_by_key(|edge| (edge.from, edge.to, edge.kind));
        let mut begins = vec![0; nodes + 1];
        for edge in &edges {
            begins[edge.from as usize + 1] += 1;
        }
        for at in 0..nodes {
            begins[at + 1] += begins[at];
        }
        Self { edges, begins }
    }

    /// All of them, by the transaction that comes first.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    fn nodes(&self) -> usize {
        self.begins.len() - 1
    }

    fn of(&self, node: u32) -> &[Edge] {
        &self.edges[self.begins[node as usize] as usize..self.begins[node as usize + 1] as usize]
    }

    /// By node: the number of its strongly connected component over edges of the kinds in `mask`.
    pub fn components(&self, mask: u8) -> Vec<u32> {
        components(self.nodes(), |node, at| {
            let (at, edge) = self.of(node).iter().enumerate().skip(at).find(|(_, edge)| edge.kind & mask != 0)?;
            Some((at + 1, edge.to))
        })
    }

    /// By node, twice: components of ways on which no two anti-dependencies follow each other. Node `n` is `2n` where the
    /// way came by something else, and `2n + 1` where it came by an anti-dependency.
    ///
    /// A cycle there is what snapshot isolation forbids: Cerone and Gotsman, "Analysing Snapshot Isolation", JACM 65
    /// (2018), theorem 4.
    pub fn components_apart(&self) -> Vec<u32> {
        components(2 * self.nodes(), |state, at| {
            let (node, came_by_rw) = (state / 2, state % 2 == 1);
            let allowed = |edge: &Edge| edge.kind != RW || !came_by_rw;
            let (at, edge) = self.of(node).iter().enumerate().skip(at).find(|(_, edge)| allowed(edge))?;
            Some((at + 1, 2 * edge.to + u32::from(edge.kind == RW)))
        })
    }

    /// A shortest way over edges that `may` be taken; empty without one. `steps` is what may be looked at, and is
    /// reduced by what was; `None` once it is used up.
    pub fn way(
        &self,
        from: u32,
        to: u32,
        seen: &mut Seen,
        steps: &mut u64,
        may: impl Fn(&Edge) -> bool,
    ) -> Option<Vec<Edge>> {
        seen.begin(self.nodes());
        let mut next = VecDeque::from([from]);
        while let Some(node) = next.pop_front() {
            for (at, edge) in self.of(node).iter().enumerate() {
                *steps = steps.checked_sub(1)?;
                if !may(edge) || !seen.enter(edge.to, self.begins[node as usize] + at as u32) {
                    continue;
                }
                if edge.to == to {
                    return Some(self.traced(from, to, seen));
                }
                next.push_back(edge.to);
            }
        }
        Some(Vec::new())
    }

    /// A shortest way that begins after an anti-dependency and ends before one, and on which no two of them follow each
    /// other; as [`Self::way`].
    pub fn way_apart(&self, from: u32, to: u32, seen: &mut Seen, steps: &mut u64) -> Option<Vec<Edge>> {
        seen.begin(2 * self.nodes());
        let mut next = VecDeque::from([(from, true)]);
        while let Some((node, came_by_rw)) = next.pop_front() {
            for (at, edge) in self.of(node).iter().enumerate() {
                *steps = steps.checked_sub(1)?;
                let by_rw = edge.kind == RW;
                let state = 2 * edge.to + u32::from(by_rw);
                let by = 2 * (self.begins[node as usize] + at as u32) + u32::from(came_by_rw);
                if (by_rw && came_by_rw) || !seen.enter(state, by) {
                    continue;
                }
                if edge.to == to && !by_rw {
                    return Some(self.traced_apart(from, state, seen));
                }
                next.push_back((edge.to, by_rw));
            }
        }
        Some(Vec::new())
    }

    fn traced_apart(&self, from: u32, last: u32, seen: &Seen) -> Vec<Edge> {
        let (mut way, mut state) = (Vec::new(), last);
        while way.is_empty() || state != 2 * from + 1 {
            let by = seen.by[state as usize];
            let edge = self.edges[(by / 2) as usize];
            way.push(edge);
            state = 2 * edge.from + by % 2;
        }
        way.reverse();
        way
    }

    fn traced(&self, from: u32, to: u32, seen: &Seen) -> Vec<Edge> {
        let (mut way, mut node) = (Vec::new(), to);
        loop {
            let edge = self.edges[seen.by[node as usize] as usize];
            way.push(edge);
            node = edge.from;
            if node == from {
                way.reverse();
                return way;
            }
        }
    }
}

/// Nodes that a search has reached, kept between searches.
#[derive(Default)]
pub struct Seen {
    round: u32,
    rounds: Vec<u32>,
    by: Vec<u32>,
}

impl Seen {
    fn begin(&mut self, nodes: usize) {
        self.round += 1;
        self.rounds.resize(nodes, 0);
        self.by.resize(nodes, 0);
    }

    /// Whether it is reached for the first time, over the edge with the number `by`.
    fn enter(&mut self, node: u32, by: u32) -> bool {
        let first = self.rounds[node as usize] != self.round;
        if first {
            self.rounds[node as usize] = self.round;
            self.by[node as usize] = by;
        }
        first
    }
}

/// Tarjan's components ("Depth-First Search and Linear Graph Algorithms", 1972) without recursion. `next(node, at)` is
/// the first neighbour of `node` from its place `at` on, with the place after it. A way leads to components with lower
/// numbers only.
fn components(nodes: usize, next: impl Fn(u32, usize) -> Option<(usize, u32)>) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let (mut order, mut low, mut component) = (vec![NONE; nodes], vec![0; nodes], vec![NONE; nodes]);
    let (mut count, mut found) = (0, 0);
    let (mut open, mut path): (Vec<u32>, Vec<(u32, usize)>) = (Vec::new(), Vec::new());
    for root in 0..nodes as u32 {
        if order[root as usize] != NONE {
            continue;
        }
        path.push((root, 0));
        while let Some((node, at)) = path.pop() {
            let here = node as usize;
            if at == 0 && order[here] == NONE {
                (order[here], low[here]) = (count, count);
                count += 1;
                open.push(node);
            }
            if let Some((at, to)) = next(node, at) {
                path.push((node, at));
                if order[to as usize] == NONE {
                    path.push((to, 0));
                } else if component[to as usize] == NONE {
                    low[here] = low[here].min(order[to as usize]);
                }
                continue;
            }
            if low[here] == order[here] {
                while let Some(member) = open.pop() {
                    component[member as usize] = found;
                    if member == node {
                        break;
                    }
                }
                found += 1;
            }
            if let Some((before, _)) = path.last() {
                low[*before as usize] = low[*before as usize].min(low[here]);
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::kind::*;
    use super::*;

    fn graph(nodes: usize, edges: &[(u32, u32, u8)]) -> Graph {
        Graph::new(
            nodes,
            edges.iter().map(|(from, to, kind)| Edge { from: *from, to: *to, kind: *kind, list: 0 }).collect(),
        )
    }

    fn alike(components: &[u32], nodes: &[u32]) -> bool {
        nodes.iter().all(|node| components[*node as usize] == components[nodes[0] as usize])
    }

    #[test]
    fn components_are_those_of_a_drawing() {
        // Two cycles, 0 1 2 and 3 4, and a way from the first to the second and on to 5.
        let all = [(0, 1, WW), (1, 2, WR), (2, 0, WW), (2, 3, WW), (3, 4, WW), (4, 3, RW), (4, 5, WW)];
        let found = graph(6, &all).components(WW | WR | RW);
        assert!(alike(&found, &[0, 1, 2]) && alike(&found, &[3, 4]), "{found:?}");
        assert!(found[0] > found[3] && found[3] > found[5], "ways lead downwards: {found:?}");
        let without = graph(6, &all).components(WW | WR);
        assert!(alike(&without, &[0, 1, 2]) && !alike(&without, &[3, 4]), "{without:?}");
    }

    #[test]
    fn anti_dependencies_that_follow_each_other_are_no_cycle_of_those_apart() {
        let write_skew = graph(2, &[(0, 1, RW), (1, 0, RW)]);
        let found = write_skew.components_apart();
        assert_ne!(found[1], found[2], "{found:?}");
        let skew = graph(2, &[(0, 1, RW), (1, 0, WR)]).components_apart();
        assert_eq!(skew[0], skew[3], "{skew:?}");
        // Two of them, each followed by something else.
        let apart = graph(4, &[(0, 1, RW), (1, 2, WW), (2, 3, RW), (3, 0, WR)]).components_apart();
        assert_eq!((apart[0], apart[4]), (apart[3], apart[7]), "{apart:?}");
    }

    #[test]
    fn a_way_apart_takes_no_two_anti_dependencies_in_a_row() {
        // From 1 to 0: two of them in a row are shorter than the way around.
        let all = [(0, 1, RW), (1, 2, RW), (1, 3, WW), (3, 2, RW), (2, 4, WR), (4, 0, WR), (2, 0, RW)];
        let (found, mut seen, mut steps) = (graph(5, &all), Seen::default(), 100);
        let way = found.way_apart(1, 0, &mut seen, &mut steps).unwrap();
        assert_eq!(way.iter().map(|edge| edge.to).collect::<Vec<_>>(), [3, 2, 4, 0]);
        assert!(found.way_apart(1, 1, &mut seen, &mut steps).unwrap().is_empty());
    }

    #[test]
    fn a_shortest_way_is_found_and_the_steps_are_counted() {
        let all = [(0, 1, WW), (1, 2, WW), (2, 3, WW), (0, 2, WR), (3, 0, RW)];
        let (found, mut seen) = (graph(4, &all), Seen::default());
        let mut steps = 100;
        let way = found.way(0, 3, &mut seen, &mut steps, |edge| edge.kind != RW).unwrap();
        assert_eq!(way.iter().map(|edge| edge.to).collect::<Vec<_>>(), [2, 3]);
        assert!(steps < 100);
        assert!(found.way(3, 1, &mut seen, &mut steps, |edge| edge.kind != RW).unwrap().is_empty());
        assert_eq!(found.way(0, 3, &mut seen, &mut 1, |_| true), None);
    }
}
