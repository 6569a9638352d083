//! The order of passes, derived from what they read and write.
//!
//! For each facet: passes that write without reading (producers) come first, then those that do both (refiners), then readers. The order among passes that no edge separates is
//! their registration order: Kahn's algorithm with the smallest index first (`petgraph::algo::toposort` depends on the order in which edges were added).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;
use rex_ir::facet::Facet;

use crate::pass::PassInfo;

/// Why passes cannot be ordered. Always a mistake in their declarations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// Passes that each need another one first.
    #[error("passes need each other first: {}", .0.join(", "))]
    Cycle(Vec<&'static str>),
    /// Two passes write a facet and nothing says which is first.
    #[error("`{first}` and `{second}` both write {facet}; one must name the other in `after`")]
    UnorderedWriters {
        /// The facet.
        facet: &'static str,
        /// The pass registered first.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// `after` names a pass that is not registered.
    #[error("`{pass}` runs after `{after}`, which is not registered")]
    UnknownAfter {
        /// The pass.
        pass: &'static str,
        /// The missing one.
        after: &'static str,
    },
}

/// An order of passes with the graph it came from.
#[derive(Clone, Debug)]
pub struct Schedule {
    graph: DiGraph<&'static PassInfo, Facet>,
    order: Vec<usize>,
}

impl Schedule {
    /// Orders passes given in registration order.
    ///
    /// # Errors
    /// [`ScheduleError`] when the declarations contradict each other or leave two writers unordered.
    pub fn new(passes: &[&'static PassInfo]) -> Result<Schedule, ScheduleError> {
        let mut graph = DiGraph::new();
        let nodes: Vec<NodeIndex> = passes.iter().map(|info| graph.add_node(*info)).collect();
        for (idx, info) in passes.iter().enumerate() {
            for after in info.after {
                let Some(before) = passes.iter().position(|other| other.name == *after) else {
                    return Err(ScheduleError::UnknownAfter {
                        pass: info.name,
                        after,
                    });
                };
                graph.update_edge(nodes[before], nodes[idx], Facet::empty());
            }
        }
        for facet in Facet::all().iter() {
            add_facet_edges(facet, passes, &nodes, &mut graph)?;
        }
        let order = order(&graph)?;
        Ok(Schedule { graph, order })
    }

    /// Indices into the registration order, first to run first.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The passes in the order they run.
    pub fn passes(&self) -> impl Iterator<Item = &'static PassInfo> + '_ {
        self.order
            .iter()
            .map(|idx| self.graph[NodeIndex::new(*idx)])
    }

    /// The graph in the DOT language.
    pub fn to_dot(&self) -> String {
        let mut out = String::from("digraph passes {\n  rankdir=LR;\n");
        for info in self.passes() {
            out.push_str(&format!("  \"{}\";\n", info.name));
        }
        let mut edges: Vec<String> = self
            .graph
            .edge_references()
            .map(|edge| {
                let facets: Vec<&str> = edge.weight().iter().map(Facet::name).collect();
                format!(
                    "  \"{}\" -> \"{}\" [label=\"{}\"];\n",
                    self.graph[edge.source()].name,
                    self.graph[edge.target()].name,
                    facets.join(" ")
                )
            })
            .collect();
        edges.sort();
        out.extend(edges);
        out.push_str("}\n");
        out
    }
}

fn add_facet_edges(
    facet: Facet,
    passes: &[&'static PassInfo],
    nodes: &[NodeIndex],
    graph: &mut DiGraph<&'static PassInfo, Facet>,
) -> Result<(), ScheduleError> {
    let select = |reads: bool, writes: bool| -> Vec<usize> {
        (0..passes.len())
            .filter(|idx| {
                passes[*idx].reads.contains(facet) == reads
                    && passes[*idx].writes.contains(facet) == writes
            })
            .collect()
    };
    let (producers, refiners, consumers) =
        (select(false, true), select(true, true), select(true, false));
    for group in [&producers, &refiners] {
        for (position, first) in group.iter().enumerate() {
            for second in &group[position + 1..] {
                let (a, b) = (passes[*first], passes[*second]);
                if !a.after.contains(&b.name) && !b.after.contains(&a.name) {
                    return Err(ScheduleError::UnorderedWriters {
                        facet: facet.name(),
                        first: a.name,
                        second: b.name,
                    });
                }
            }
        }
    }
    for (earlier, later) in [
        (&producers, &refiners),
        (&producers, &consumers),
        (&refiners, &consumers),
    ] {
        for before in earlier {
            for after in later {
                let (from, to) = (nodes[*before], nodes[*after]);
                let known = graph
                    .find_edge(from, to)
                    .map_or(Facet::empty(), |edge| graph[edge]);
                graph.update_edge(from, to, known | facet);
            }
        }
    }
    Ok(())
}

fn order(graph: &DiGraph<&'static PassInfo, Facet>) -> Result<Vec<usize>, ScheduleError> {
    let mut waiting: Vec<usize> = graph
        .node_indices()
        .map(|node| {
            graph
                .edges_directed(node, petgraph::Direction::Incoming)
                .count()
        })
        .collect();
    let mut ready: BinaryHeap<Reverse<usize>> = (0..waiting.len())
        .filter(|idx| waiting[*idx] == 0)
        .map(Reverse)
        .collect();
    let mut order = Vec::with_capacity(waiting.len());
    while let Some(Reverse(idx)) = ready.pop() {
        order.push(idx);
        for edge in graph.edges(NodeIndex::new(idx)) {
            let target = edge.target().index();
            waiting[target] -= 1;
            if waiting[target] == 0 {
                ready.push(Reverse(target));
            }
        }
    }
    if order.len() == waiting.len() {
        return Ok(order);
    }
    let cycle = tarjan_scc(graph)
        .into_iter()
        .find(|group| group.len() > 1)
        .unwrap_or_default();
    let mut names: Vec<&'static str> = cycle.iter().map(|node| graph[*node].name).collect();
    names.sort_unstable();
    Err(ScheduleError::Cycle(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn info(
        name: &'static str,
        reads: Facet,
        writes: Facet,
        after: &'static [&'static str],
    ) -> PassInfo {
        PassInfo {
            name,
            summary: "",
            reads,
            writes,
            after,
        }
    }

    static PRODUCE: PassInfo = info("produce", Facet::REGIONS, Facet::KERNELS, &[]);
    static REFINE: PassInfo = info("refine", Facet::KERNELS, Facet::KERNELS, &[]);
    static CONSUME: PassInfo = info("consume", Facet::KERNELS, Facet::ENTRY_TABLE, &[]);
    static RIVAL: PassInfo = info("rival", Facet::REGIONS, Facet::KERNELS, &[]);
    static BACK: PassInfo = info("back", Facet::ENTRY_TABLE, Facet::REGIONS, &[]);

    fn names(passes: &[&'static PassInfo]) -> Vec<&'static str> {
        Schedule::new(passes)
            .expect("orderable")
            .passes()
            .map(|info| info.name)
            .collect()
    }

    #[test]
    fn producers_refiners_consumers() {
        assert_eq!(
            names(&[&CONSUME, &REFINE, &PRODUCE]),
            ["produce", "refine", "consume"]
        );
    }

    #[test]
    fn two_producers_need_an_order() {
        assert_eq!(
            Schedule::new(&[&PRODUCE, &RIVAL]).map(|_| ()),
            Err(ScheduleError::UnorderedWriters {
                facet: "kernels",
                first: "produce",
                second: "rival"
            })
        );
    }

    #[test]
    fn cycles_are_named() {
        assert_eq!(
            Schedule::new(&[&PRODUCE, &CONSUME, &BACK]).map(|_| ()),
            Err(ScheduleError::Cycle(vec!["back", "consume", "produce"]))
        );
    }

    #[test]
    fn the_built_in_passes_are_ordered() {
        let infos: Vec<&'static PassInfo> =
            crate::registry().iter().map(|pass| pass.info()).collect();
        assert_eq!(
            names(&infos),
            [
                "device-closure",
                "device-directives",
                "target-outlining",
                "map-arrays",
                "offload-entries",
                "init-insertion",
                "no-auto-fini"
            ]
        );
    }
}
