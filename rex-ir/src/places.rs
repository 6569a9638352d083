//! Queries by place that do not go through all constructs of a program.
//!
//! They rest on the order of arenas: constructs stand in them as in the source, and so do regions, data constructs, kernels and launches, each of which belongs to a construct.

use la_arena::{Arena, Idx, RawIdx};
use rex_syntax::{TextRange, TextSize};

use crate::item::{Function, FunctionId};
use crate::kernel::{Kernel, KernelId};
use crate::launch::Launch;
use crate::program::{DeviceFunction, Program};
use crate::region::{Construct, ConstructId, DataConstruct, Region, RegionId};
use crate::symbol::SymbolId;

/// The nodes of an ordered arena from the first that `is_before` does not hold for.
fn from_first<T>(
    arena: &Arena<T>,
    is_before: impl Fn(&T) -> bool,
) -> impl Iterator<Item = (Idx<T>, &T)> {
    let at = |raw: u32| Idx::from_raw(RawIdx::from_u32(raw));
    let end = u32::try_from(arena.len()).unwrap_or(u32::MAX);
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = low + (high - low) / 2;
        match is_before(&arena[at(middle)]) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    (low..end).map(move |raw| (at(raw), &arena[at(raw)]))
}

/// The nodes of an arena ordered by `place` that begin in a range and are whole in it.
fn inside<'a, T>(
    arena: &'a Arena<T>,
    range: TextRange,
    place: impl Fn(&T) -> TextRange + Copy + 'a,
) -> impl Iterator<Item = (Idx<T>, &'a T)> {
    from_first(arena, move |node| place(node).start() < range.start())
        .take_while(move |(_, node)| place(node).start() <= range.end())
        .filter(move |(_, node)| range.contains_range(place(node)))
}

/// The constructs that are whole in a range, in source order.
pub(crate) fn constructs_in(
    constructs: &Arena<Construct>,
    range: TextRange,
) -> impl Iterator<Item = (ConstructId, &Construct)> {
    inside(constructs, range, |construct| construct.range)
}

/// The constructs whose statements contain a range, innermost first.
pub(crate) fn constructs_around(
    constructs: &Arena<Construct>,
    range: TextRange,
) -> impl Iterator<Item = (ConstructId, &Construct)> {
    let is_before = move |construct: &Construct| construct.range.start() <= range.start();
    let behind = from_first(constructs, is_before).next();
    let behind = behind.map_or(constructs.len(), |(id, _)| raw(id));
    let last = behind
        .checked_sub(1)
        .and_then(|idx| u32::try_from(idx).ok())
        .map(|idx| Idx::from_raw(RawIdx::from_u32(idx)));
    std::iter::successors(last, |id| constructs[*id].parent)
        .map(|id| (id, &constructs[id]))
        .filter(move |(_, construct)| {
            let statement = construct.statement;
            statement.is_some_and(|statement| statement.contains_range(range))
        })
}

/// The regions that are whole in a range, in source order.
pub(crate) fn regions_in<'a>(
    regions: &'a Arena<Region>,
    constructs: &'a Arena<Construct>,
    range: TextRange,
) -> impl Iterator<Item = (RegionId, &'a Region)> {
    inside(regions, range, |region| constructs[region.construct].range)
}

fn raw<T>(id: Idx<T>) -> usize {
    id.into_raw().into_u32() as usize
}

impl Program {
    /// The constructs that are whole in a range, in source order.
    pub fn constructs_in(
        &self,
        range: TextRange,
    ) -> impl Iterator<Item = (ConstructId, &Construct)> {
        constructs_in(&self.constructs, range)
    }

    /// The constructs whose statements contain a range, innermost first.
    pub fn constructs_around(
        &self,
        range: TextRange,
    ) -> impl Iterator<Item = (ConstructId, &Construct)> {
        constructs_around(&self.constructs, range)
    }

    /// The innermost construct whose statement contains a range.
    pub fn construct_at(&self, range: TextRange) -> Option<ConstructId> {
        self.constructs_around(range).next().map(|(id, _)| id)
    }

    /// Whether a place in a range is executed where something is called: it is in a lambda or in a member of a class that the range holds.
    pub fn is_called(&self, place: TextRange, range: TextRange) -> bool {
        let own = self.unit.tree.root().smallest_at(place);
        own.callables_around()
            .any(|callable| range.contains_range(callable.range()) && range != callable.range())
    }

    /// The construct whose first directive this is.
    pub fn construct_of(&self, directive: usize) -> Option<ConstructId> {
        let is_before = |construct: &Construct| {
            let first = construct.directives.first();
            first.is_some_and(|first| *first < directive)
        };
        let (id, construct) = from_first(&self.constructs, is_before).next()?;
        (construct.directives.first() == Some(&directive)).then_some(id)
    }

    /// The symbols whose names are declared in a range, in source order.
    pub fn declared_in(&self, range: TextRange) -> impl Iterator<Item = SymbolId> + '_ {
        self.symbol_index.inside(range)
    }

    /// The symbols of one declaration, in source order.
    pub fn declared_by(&self, declaration: TextRange) -> impl Iterator<Item = SymbolId> + '_ {
        let is_one =
            move |symbol: &SymbolId| self.symbols[*symbol].declaration == Some(declaration);
        self.declared_in(declaration).filter(is_one)
    }

    /// The regions that are whole in a range, in source order.
    pub fn regions_in(&self, range: TextRange) -> impl Iterator<Item = (RegionId, &Region)> {
        regions_in(&self.regions, &self.constructs, range)
    }

    /// The data constructs that are whole in a range, in source order.
    pub fn data_constructs_in(
        &self,
        range: TextRange,
    ) -> impl Iterator<Item = (Idx<DataConstruct>, &DataConstruct)> {
        inside(&self.data_constructs, range, |data| {
            self.constructs[data.construct].range
        })
    }

    /// The kernels of the regions that are whole in a range, in source order.
    pub fn kernels_in(&self, range: TextRange) -> impl Iterator<Item = (KernelId, &Kernel)> {
        inside(&self.kernels, range, |kernel| {
            self.constructs[self.regions[kernel.region].construct].range
        })
    }

    /// The kernel of a region.
    pub fn kernel_of(&self, region: RegionId) -> Option<(KernelId, &Kernel)> {
        let mut found = from_first(&self.kernels, |kernel| raw(kernel.region) < raw(region));
        found.next().filter(|(_, kernel)| kernel.region == region)
    }

    /// The launch of a region's kernel.
    pub fn launch_of(&self, region: RegionId) -> Option<&Launch> {
        let mut found = from_first(&self.launches, |launch| raw(launch.region) < raw(region));
        let (_, launch) = found.next()?;
        (launch.region == region).then_some(launch)
    }

    /// The functions that are whole in a range, in source order.
    pub fn functions_in(&self, range: TextRange) -> impl Iterator<Item = (FunctionId, &Function)> {
        let ids = self.function_index.inside(range);
        ids.map(|id| (id, &self.functions[id]))
    }

    /// The functions of a name.
    pub fn functions_named(&self, name: &str) -> impl Iterator<Item = (FunctionId, &Function)> {
        let ids = self.function_index.named(name).iter();
        ids.map(|id| (*id, &self.functions[*id]))
    }

    /// The function whose text contains a range.
    pub fn function_at(&self, range: TextRange) -> Option<FunctionId> {
        self.function_index.at(range).next()
    }

    /// What device code makes of the functions of a name that it reaches.
    pub fn device_functions_named(&self, name: &str) -> impl Iterator<Item = &DeviceFunction> {
        let ids = self.function_index.named(name).iter();
        ids.filter_map(|id| self.device_function(*id))
    }

    /// Whether device code reaches a function of a name.
    pub fn has_device_function(&self, name: &str) -> bool {
        self.device_functions_named(name).next().is_some()
    }

    /// What device code makes of a function, if it reaches it.
    pub fn device_function(&self, function: FunctionId) -> Option<&DeviceFunction> {
        let start = |id: FunctionId| -> TextSize { self.functions[id].range.start() };
        let devices = &self.device_code.functions;
        let first = devices.partition_point(|device| start(device.function) < start(function));
        devices[first..]
            .iter()
            .take_while(|device| start(device.function) == start(function))
            .find(|device| device.function == function)
    }
}

#[cfg(test)]
mod tests;
