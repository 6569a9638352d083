//! The invariants of a program, and the proof that they hold.
//!
//! Emitters take a [`Verified`] program only, so broken IR cannot be printed. A violation is a bug of a pass, never the user's mistake.
//!
//! Checked, for the facets that exist:
//! - every region that has a kernel has exactly one launch, of that kernel; kernel names are unique;
//! - entries whose bits contain `TARGET_PARAM` are as many as the kernel's parameters;
//! - a member entry's parent stands before it;
//! - replacements of a body lie inside its range, in order, without overlap;
//! - every kernel has exactly one entry; a unit with `main` and entries registers, and the place is inside `main`;
//! - teardown is decided and is never inserted.

use la_arena::Idx;
use rex_syntax::TextRange;
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use crate::abi::MapFlags;
use crate::entry::EntryKind;
use crate::facet::Facet;
use crate::kernel::{BodyText, KernelId, Piece};
use crate::lifecycle::FiniPolicy;
use crate::map::MapOwner;
use crate::program::Program;

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{facet}: {message}")]
pub struct VerifyError {
    /// The facet it concerns.
    pub facet: &'static str,
    /// What is wrong.
    pub message: String,
}

/// Every violated invariant that was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct VerifyErrors(pub Vec<VerifyError>);

/// A program all of whose invariants hold.
#[derive(Clone, Copy, Debug)]
pub struct Verified<'p>(&'p Program);

impl<'p> Verified<'p> {
    /// The program.
    pub fn program(self) -> &'p Program {
        self.0
    }
}

/// Checks a finished program.
///
/// # Errors
/// All violated invariants.
pub fn verify(program: &Program) -> Result<Verified<'_>, VerifyErrors> {
    verify_facets(program, Facet::all())?;
    Ok(Verified(program))
}

/// Checks the invariants of the facets that exist so far.
///
/// # Errors
/// All violated invariants.
pub fn verify_facets(program: &Program, facets: Facet) -> Result<(), VerifyErrors> {
    let mut checker = Checker { errors: Vec::new() };
    if facets.contains(Facet::KERNELS) {
        checker.kernels(program);
    }
    if facets.contains(Facet::DEVICE_CODE) {
        checker.functions(program);
    }
    if facets.contains(Facet::LAUNCHES) {
        checker.launches(program);
    }
    if facets.contains(Facet::MAP_ARRAYS) {
        checker.map_arrays(program, facets);
    }
    if facets.contains(Facet::ENTRY_TABLE) {
        checker.entries(program);
    }
    if facets.contains(Facet::INIT) {
        checker.init(program);
    }
    if facets.contains(Facet::FINI) && program.lifecycle.fini == FiniPolicy::Undecided {
        checker.fail("fini", "no pass decided about teardown".into());
    }
    if checker.errors.is_empty() {
        Ok(())
    } else {
        Err(VerifyErrors(checker.errors))
    }
}

/// How often each kernel occurs.
fn counts(kernels: impl Iterator<Item = KernelId>) -> FxHashMap<KernelId, usize> {
    let mut counts = FxHashMap::default();
    for kernel in kernels {
        *counts.entry(kernel).or_default() += 1;
    }
    counts
}

struct Checker {
    errors: Vec<VerifyError>,
}

impl Checker {
    fn fail(&mut self, facet: &'static str, message: String) {
        self.errors.push(VerifyError { facet, message });
    }

    fn kernels(&mut self, program: &Program) {
        let kernels = program.kernels.iter();
        let mut names: Vec<SmolStr> = kernels.map(|(_, kernel)| kernel.names.kernel()).collect();
        names.sort_unstable();
        for pair in names.windows(2) {
            if pair[0] == pair[1] {
                self.fail("kernels", format!("two kernels are named {}", pair[0]));
            }
        }
        for (_, kernel) in program.kernels.iter() {
            let name = kernel.names.kernel();
            let mut see = |piece: Piece<'_>| self.piece("kernels", piece, &name);
            kernel.body.visit(&mut see);
        }
    }

    fn functions(&mut self, program: &Program) {
        for device in &program.device_code.functions {
            let name = &program.functions[device.function].name;
            let mut see = |piece: Piece<'_>| self.piece("device-code", piece, name);
            device.body.visit(&mut see);
            if let Some(team) = &device.team {
                team.body.visit(&mut see);
            }
        }
        for lambda in &program.instances.closures {
            let mut see = |piece: Piece<'_>| self.piece("device-code", piece, "lambda");
            lambda.body.visit(&mut see);
        }
    }

    fn launches(&mut self, program: &Program) {
        let n_launches = counts(program.launches.values().map(|launch| launch.kernel));
        for (id, kernel) in program.kernels.iter() {
            let launches = n_launches.get(&id).copied().unwrap_or(0);
            if launches != 1 {
                self.fail(
                    "launches",
                    format!("{} is launched at {launches} places", kernel.names.kernel()),
                );
            }
        }
    }

    fn map_arrays(&mut self, program: &Program, facets: Facet) {
        for (id, arrays) in program.map_arrays.iter() {
            for (idx, entry) in arrays.entries.iter().enumerate() {
                if entry.member_of.is_some_and(|parent| parent >= idx) {
                    self.fail(
                        "map-arrays",
                        format!("{}: entry {idx} stands before its parent", show(id)),
                    );
                }
            }
            let MapOwner::Launch(region) = arrays.owner else {
                continue;
            };
            if !facets.contains(Facet::KERNELS) {
                continue;
            }
            let Some((_, kernel)) = program.kernel_of(region) else {
                continue;
            };
            let parameters = arrays
                .entries
                .iter()
                .filter(|entry| entry.flags.contains(MapFlags::TARGET_PARAM))
                .count();
            if parameters != kernel.parameters.len() {
                self.fail(
                    "map-arrays",
                    format!(
                        "{} has {} parameters, its launch passes {parameters}",
                        kernel.names.kernel(),
                        kernel.parameters.len()
                    ),
                );
            }
        }
    }

    fn entries(&mut self, program: &Program) {
        let n_entries = counts(program.entries.iter().filter_map(|entry| match entry.kind {
            EntryKind::Kernel(kernel) => Some(kernel),
            _ => None,
        }));
        for (id, kernel) in program.kernels.iter() {
            let entries = n_entries.get(&id).copied().unwrap_or(0);
            if entries != 1 {
                self.fail(
                    "entry-table",
                    format!("{} has {entries} entries", kernel.names.kernel()),
                );
            }
        }
    }

    fn init(&mut self, program: &Program) {
        let main = program
            .functions
            .iter()
            .find(|(_, function)| function.is_main)
            .map(|(_, function)| function);
        match (main, program.lifecycle.init) {
            (Some(main), Some(init)) if !main.body.contains_inclusive(init.at) => {
                self.fail("init", "registration stands outside `main`".into());
            }
            (Some(_), None) if program.has_device_constructs() => {
                self.fail("init", "`main` does not register the image".into());
            }
            (None, Some(_)) => self.fail("init", "registration without `main`".into()),
            _ => {}
        }
    }

    fn body(&mut self, facet: &'static str, body: &BodyText, function: &str) {
        let mut end = body.range.start();
        for (range, _) in &body.replacements {
            if range.start() < end || !body.range.contains_range(*range) {
                self.fail(
                    facet,
                    format!(
                        "{function}: replacement {range:?} is out of place in {:?}",
                        body.range
                    ),
                );
            }
            end = range.end().max(end);
        }
    }

    fn piece(&mut self, facet: &'static str, piece: Piece<'_>, function: &str) {
        if let Piece::Text(text) = piece {
            self.body(facet, text, function);
        }
    }
}

fn show<T>(id: Idx<T>) -> String {
    format!("#map{}", id.into_raw().into_u32())
}

/// Whether two ranges share a byte.
pub fn overlap(a: TextRange, b: TextRange) -> bool {
    a.intersect(b).is_some_and(|both| !both.is_empty())
}
