//! Runs the scheduled passes and checks what they did.

use std::time::{Duration, Instant};

use rex_ir::facet::Facet;
use rex_ir::print;
use rex_ir::program::Program;
use rex_ir::verify::{VerifyErrors, verify_facets};
use rex_syntax::diag::Diagnostics;

use crate::pass::{Pass, PassCx, PassInfo};
use crate::schedule::{Schedule, ScheduleError};

/// How much the manager checks after each pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checking {
    /// The invariants of the facets that exist.
    #[default]
    Invariants,
    /// Also that facets a pass does not write stay the same, and that `changed` is true exactly when the dump differs.
    Everything,
}

/// A pass broke the rules: a bug in rex.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PassFailure {
    /// The program is not valid after the pass.
    #[error("after `{pass}`: {errors}")]
    Invalid {
        /// The pass.
        pass: &'static str,
        /// What is wrong.
        errors: VerifyErrors,
    },
    /// The pass wrote a facet it does not declare.
    #[error("`{pass}` wrote {facet} without declaring it")]
    UndeclaredWrite {
        /// The pass.
        pass: &'static str,
        /// The facet.
        facet: &'static str,
    },
    /// The pass said it changed the program and did not, or the reverse.
    #[error("`{pass}` reports changed = {reported}, which is not so")]
    DishonestOutcome {
        /// The pass.
        pass: &'static str,
        /// What it said.
        reported: bool,
    },
}

/// What one pass did and how long it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassReport {
    /// The pass.
    pub pass: &'static str,
    /// Whether it changed the program.
    pub changed: bool,
    /// Wall-clock time.
    pub time: Duration,
}

/// Sees the program after each pass.
pub trait PassObserver {
    /// Called before the first pass.
    fn before_passes(&mut self, program: &Program) {
        let _ = program;
    }

    /// Called after a pass ran and was checked.
    fn after_pass(&mut self, info: &'static PassInfo, program: &Program, report: &PassReport);
}

impl PassObserver for () {
    fn after_pass(&mut self, _: &'static PassInfo, _: &Program, _: &PassReport) {}
}

/// Passes in an order.
pub struct PassManager {
    passes: Vec<Box<dyn Pass>>,
    schedule: Schedule,
    checking: Checking,
}

impl std::fmt::Debug for PassManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PassManager")
            .field("schedule", &self.schedule)
            .field("checking", &self.checking)
            .finish()
    }
}

impl PassManager {
    /// Orders passes given in registration order.
    ///
    /// # Errors
    /// [`ScheduleError`] when their declarations cannot be ordered.
    pub fn new(passes: Vec<Box<dyn Pass>>) -> Result<PassManager, ScheduleError> {
        let infos: Vec<&'static PassInfo> = passes.iter().map(|pass| pass.info()).collect();
        let schedule = Schedule::new(&infos)?;
        Ok(PassManager {
            passes,
            schedule,
            checking: Checking::default(),
        })
    }

    /// Sets how much is checked.
    pub fn with_checking(mut self, checking: Checking) -> PassManager {
        self.checking = checking;
        self
    }

    /// The order of passes.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Runs every pass.
    ///
    /// # Errors
    /// [`PassFailure`]: a bug in a pass. The user's mistakes go to `diagnostics`.
    pub fn run(
        &self,
        program: &mut Program,
        diagnostics: &mut Diagnostics,
        observer: &mut dyn PassObserver,
    ) -> Result<Vec<PassReport>, PassFailure> {
        let mut exists = Facet::BUILT;
        let mut reports = Vec::new();
        observer.before_passes(program);
        for idx in self.schedule.order() {
            let pass = &self.passes[*idx];
            let info = pass.info();
            let before = (self.checking == Checking::Everything).then(|| snapshot(program));
            let start = Instant::now();
            let outcome = pass.run(&mut PassCx {
                program,
                diagnostics,
            });
            let report = PassReport {
                pass: info.name,
                changed: outcome.changed,
                time: start.elapsed(),
            };
            exists |= info.writes;
            verify_facets(program, exists).map_err(|errors| PassFailure::Invalid {
                pass: info.name,
                errors,
            })?;
            if let Some(before) = before {
                check_honesty(info, &before, &snapshot(program), outcome.changed)?;
            }
            observer.after_pass(info, program, &report);
            reports.push(report);
        }
        Ok(reports)
    }
}

fn snapshot(program: &Program) -> Vec<(Facet, String)> {
    Facet::all()
        .iter()
        .map(|facet| (facet, print::dump(program, facet)))
        .collect()
}

fn check_honesty(
    info: &'static PassInfo,
    before: &[(Facet, String)],
    after: &[(Facet, String)],
    reported: bool,
) -> Result<(), PassFailure> {
    let mut changed = false;
    for ((facet, old), (_, new)) in before.iter().zip(after) {
        if old != new {
            changed = true;
            if !info.writes.contains(*facet) {
                return Err(PassFailure::UndeclaredWrite {
                    pass: info.name,
                    facet: facet.name(),
                });
            }
        }
    }
    if changed == reported {
        Ok(())
    } else {
        Err(PassFailure::DishonestOutcome {
            pass: info.name,
            reported,
        })
    }
}
