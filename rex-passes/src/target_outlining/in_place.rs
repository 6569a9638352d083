//! Target constructs of functions that device code calls: the thread that comes to them is on the device already.

use rex_ir::kernel::{Plan, Prologue};
use rex_ir::region::{Capture, ConstructId, Region, Transport};
use rex_syntax::omp::directive::Leaf;

use super::plan::{Context, Planner};

impl Planner<'_> {
    /// A target construct where it stands: the thread runs a region, and there is no data to move.
    pub(super) fn in_place(&mut self, id: ConstructId, first: Leaf, context: Context) -> Plan {
        let construct = &self.program.constructs[id];
        let Some(statement) = construct.statement else {
            return Plan::Nothing;
        };
        if first != Leaf::Target {
            return self.private_copies(construct, statement, context);
        }
        let body = match construct.nest {
            Some(_) => self.thread_loop(id),
            None => self.private_copies(construct, statement, Context::Thread),
        };
        let mut regions = self.program.regions_in(construct.range);
        let region = regions.find(|(_, region)| region.construct == id);
        let copies = region.map_or_else(Vec::new, |(_, region)| self.implicit_copies(region));
        let body = match copies.is_empty() {
            true => body,
            false => Plan::Sequence(vec![Plan::Declare(copies), body]),
        };
        Plan::Serialized(Box::new(body))
    }

    /// The copies of variables that a region changes and that no clause names.
    fn implicit_copies(&self, region: &Region) -> Vec<Prologue> {
        let changed = region
            .captures
            .iter()
            .filter(|capture| capture.is_implicit && capture.may_be_written);
        changed
            .filter_map(|capture| self.implicit_copy(capture))
            .collect()
    }

    fn implicit_copy(&self, capture: &Capture) -> Option<Prologue> {
        let symbol = capture.object.variable()?;
        let name = self.program.name(symbol).clone();
        match capture.transport {
            Transport::Literal | Transport::Copy | Transport::Pointee => {
                let ty = self.value_type(symbol);
                Some(Prologue::CopyOfOuter { name, ty })
            }
            Transport::ByCategory => Some(Prologue::CapturedOfOuter { name }),
            Transport::CopyByCategory
            | Transport::Storage
            | Transport::DevicePointer
            | Transport::DeviceAddress
            | Transport::Private => None,
        }
    }
}
