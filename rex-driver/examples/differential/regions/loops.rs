//! Combined target constructs over a nest of loops.

use crate::data::{Array, Storage};
use crate::program::Program;
use crate::statements::Loop;

use super::extras::Extra;
use super::{elements, shortest};

/// A construct that a target loop may be, and what its clauses may be.
pub(super) struct LoopDirective {
    text: &'static str,
    has_teams: bool,
    pub(super) has_parallel: bool,
    has_for: bool,
    pub(super) has_distribute: bool,
    pub(super) has_simd: bool,
    pub(super) is_loop: bool,
}

const LOOP_DIRECTIVES: &[LoopDirective] = &[
    directive("teams distribute parallel for"),
    directive("teams distribute parallel for"),
    directive("teams distribute parallel for simd"),
    directive("teams distribute"),
    directive("teams distribute simd"),
    directive("parallel for"),
    directive("parallel for simd"),
    directive("simd"),
    directive("teams loop"),
    directive("parallel loop"),
];

const fn has(text: &str, word: &str) -> bool {
    let (text, word) = (text.as_bytes(), word.as_bytes());
    let mut start = 0;
    while start + word.len() <= text.len() {
        let mut k = 0;
        while k < word.len() && text[start + k] == word[k] {
            k += 1;
        }
        if k == word.len() {
            return true;
        }
        start += 1;
    }
    false
}

const fn directive(text: &'static str) -> LoopDirective {
    LoopDirective {
        text,
        has_teams: has(text, "teams"),
        has_parallel: has(text, "parallel"),
        has_for: has(text, "for"),
        has_distribute: has(text, "distribute"),
        has_simd: has(text, "simd"),
        is_loop: has(text, "loop"),
    }
}

/// Loops, one around the other.
struct Nest {
    loops: Vec<Loop>,
    /// An expression that has another value in every iteration of the innermost one.
    index: String,
    is_rectangular: bool,
}

impl Program {
    pub(super) fn schedule(&mut self) -> String {
        let chunk = 1 + self.random.below(9);
        match self.random.below(10) {
            0 => format!(" schedule(static, {chunk})"),
            1 => " schedule(static)".into(),
            2 => format!(" schedule(dynamic, {chunk})"),
            3 => " schedule(guided)".into(),
            4 => " schedule(auto)".into(),
            5 => format!(" schedule(monotonic : dynamic, {chunk})"),
            _ => String::new(),
        }
    }

    pub(super) fn count(&mut self, clause: &str, greatest: usize) -> String {
        match self.one_in(3) {
            true => format!(" {clause}({})", 1 + self.random.below(greatest)),
            false => String::new(),
        }
    }

    fn shape_clauses(&mut self, directive: &LoopDirective, is_rectangular: bool) -> String {
        let mut clauses = String::new();
        if directive.has_teams {
            clauses.push_str(&self.count("num_teams", 9));
            clauses.push_str(&self.count("thread_limit", 128));
        }
        if directive.has_parallel {
            clauses.push_str(&self.count("num_threads", 128));
        }
        if directive.has_parallel && self.one_in(8) {
            let k = self.random.below(80);
            clauses.push_str(&format!(" if(parallel : n > {k})"));
        }
        if directive.has_for && is_rectangular {
            clauses.push_str(&self.schedule());
        }
        if directive.has_distribute && is_rectangular && self.one_in(5) {
            let chunk = 1 + self.random.below(9);
            clauses.push_str(&format!(" dist_schedule(static, {chunk})"));
        }
        if directive.has_simd && self.one_in(4) {
            clauses.push_str(" simdlen(4)");
        }
        clauses
    }

    /// Loops of at most so many iterations in all. The last one, if it matters, is known from their numbers.
    fn nest(&mut self, most: usize, needs_all: bool) -> Nest {
        let least = usize::from(needs_all);
        let depth = 1 + self.random.below(3);
        let mut loops: Vec<Loop> = Vec::new();
        let mut room = most;
        let mut index = String::new();
        let mut is_rectangular = true;
        for level in 0..depth {
            let share = if level + 1 == depth {
                room
            } else {
                5.min(room)
            };
            let trips = least.max(self.random.below(share + 1));
            let canonical = match loops.last() {
                Some(outer) if outer.is_plain && !needs_all && self.one_in(3) => {
                    is_rectangular = false;
                    self.triangular_loop(outer, trips)
                }
                _ => self.canonical_loop(trips, false),
            };
            index = match level {
                0 => canonical.index.clone(),
                _ => format!("({index}) * {trips} + {}", canonical.index),
            };
            room /= trips.max(1);
            loops.push(canonical);
        }
        Nest {
            loops,
            index,
            is_rectangular,
        }
    }

    /// One combined construct over a nest of loops.
    pub(super) fn loop_region(&mut self, present: &[Array]) {
        let directive = &LOOP_DIRECTIVES[self.random.below(LOOP_DIRECTIVES.len())];
        let captures = self.captures();
        let extras = self.extras(directive, &captures.changed);
        // They say how the scalars that change are mapped.
        let mut clauses = self.data_clauses(&captures, present, false);
        for extra in &extras {
            clauses.push_str(&extra.clauses());
        }
        let is_on_device =
            |array: &Array| array.storage == Storage::DeclareTarget || self.device_array.is_some();
        let may_stay = present.is_empty()
            && !captures.written.iter().any(is_on_device)
            && !captures.read.iter().any(is_on_device);
        match self.random.below(8) {
            0 => clauses.push_str(" if(target : n > 3)"),
            1 if may_stay => clauses.push_str(" if(target : n > 100)"),
            _ => {}
        }
        let is_deferred = self.one_in(8);
        if is_deferred {
            clauses.push_str(" nowait");
            if !self.is_template && self.one_in(2) {
                clauses.push_str(" depend(out : n)");
            }
        }
        let needs_all = extras.iter().any(Extra::needs_all_iterations);
        let shortest = shortest(&captures.written);
        let Nest {
            loops,
            index,
            is_rectangular,
        } = self.nest(shortest, needs_all);
        clauses.push_str(&self.shape_clauses(directive, is_rectangular));
        for declaration in loops
            .iter()
            .filter_map(|canonical| canonical.declaration.as_ref())
        {
            self.code.line(declaration);
        }
        // The variable of a loop that the construct does not take would be shared.
        let is_taken = |canonical: &Loop| canonical.declaration.is_some();
        let n_taken = match loops.iter().any(is_taken) || needs_all {
            true => loops.len(),
            false => 1 + self.random.below(loops.len()),
        };
        if n_taken > 1 {
            clauses.push_str(&format!(" collapse({n_taken})"));
        }
        self.code
            .directive(&format!("target {}{clauses}", directive.text));
        for canonical in &loops {
            self.code.open(&canonical.head);
        }
        let mut scope = captures.scope();
        scope
            .values
            .extend(loops.iter().map(|canonical| canonical.index.clone()));
        for extra in &extras {
            self.begin_extra(extra, &mut scope);
        }
        if self.one_in(6) && !needs_all {
            let condition = self.value(&scope, 1);
            self.code
                .line(format!("if ({condition} % 7 == 2) continue;"));
        }
        let places = elements(&captures.written, &index);
        self.statements(&scope, &places, 2);
        for extra in &extras {
            self.end_extra(extra, &scope);
        }
        for _ in &loops {
            self.code.close();
        }
        if is_deferred {
            self.code.directive("taskwait");
        }
        for extra in extras {
            self.keep_extra(extra);
        }
    }

    /// A loop whose iterations see what those before them combined.
    pub(super) fn scan_region(&mut self, present: &[Array]) {
        let captures = self.captures();
        let mut clauses = self.data_clauses(&captures, present, true);
        let place = self.outer_variable("z", 4);
        clauses.push_str(&format!(" map(tofrom : {})", place.name));
        self.code.directive(&format!("target{clauses}"));
        self.code.open("");
        let mut directive = self
            .pick(&["parallel for", "parallel for simd", "simd"])
            .to_string();
        if directive != "simd" {
            directive.push_str(&self.count("num_threads", 128));
        }
        let scope = captures.scope();
        self.scan_loop(&directive, &scope, &captures.written, place.clone());
        self.code.close();
        self.keep_extra(Extra::Last(place));
    }
}
