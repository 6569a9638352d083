//! Regions with sequential code and parallel loops inside.

use crate::code::Reader;
use crate::data::{Array, Shape, Storage};
use crate::program::{Language, Program};
use crate::statements::{Place, Reduction, Scope};

use super::{Captures, elements, shortest};

impl Program {
    /// A worksharing loop over elements of arrays.
    pub(super) fn array_loop(
        &mut self,
        directive: &str,
        scope: &Scope,
        written: &[Array],
        reduced: &[Place],
    ) {
        let may_be_ordered = !directive.contains("simd") && self.one_in(4);
        let ordered = reduced.first().filter(|_| may_be_ordered);
        let reductions: Vec<Reduction> = match ordered {
            Some(_) => Vec::new(),
            None => reduced
                .iter()
                .map(|place| self.reduction(place.clone()))
                .collect(),
        };
        let mut clauses = String::new();
        for Reduction { place, operator } in &reductions {
            clauses.push_str(&format!(" reduction({operator} : {})", place.name));
        }
        if directive.contains("for") {
            clauses.push_str(&self.schedule());
        }
        if ordered.is_some() {
            clauses.push_str(" ordered");
        }
        // Threads that share the loop have a variable each already, and what stays of the last one would be too.
        let begins_here = directive.contains("parallel");
        let values: Vec<String> = scope
            .values
            .iter()
            .filter(|name| is_local(name))
            .cloned()
            .collect();
        if begins_here && !values.is_empty() && self.one_in(4) {
            let value = self.pick(&values);
            clauses.push_str(&format!(" firstprivate({value})"));
        }
        let last = (begins_here && self.one_in(5)).then(|| {
            let place = Place {
                name: self.fresh("t"),
                ty: self.any_type(),
            };
            self.code
                .line(format!("{} {} = 1;", place.ty.name, place.name));
            clauses.push_str(&format!(" lastprivate({})", place.name));
            place
        });
        let shortest = shortest(written);
        let trips = self
            .random
            .below(shortest + 1)
            .max(usize::from(last.is_some()));
        let canonical = self.canonical_loop(trips, false);
        if let Some(declaration) = &canonical.declaration {
            self.code.line(declaration);
        }
        self.code.directive(&format!("{directive}{clauses}"));
        self.code.open(&canonical.head);
        let outer = scope;
        let mut scope = scope.clone();
        scope.values.push(canonical.index.clone());
        let places = elements(written, &canonical.index);
        self.statements(&scope, &places, 1);
        if let Some(place) = &last {
            let value = self.value(&scope, 2);
            self.code.line(place.ty.store(&place.name, &value));
        }
        for reduction in &reductions {
            self.combine(&scope, reduction);
        }
        if let Some(place) = ordered {
            let value = self.value(&scope, 2);
            self.code.directive("ordered");
            let next = format!("(U({}) * 3 + {value})", place.name);
            self.code.line(place.ty.store(&place.name, &next));
        }
        self.code.close();
        if let (Some(place), Some(array)) = (last, written.first()) {
            let mut after = outer.clone();
            after.values.push(place.name);
            let at = self.random.below(array.length).to_string();
            let value = self.value(&after, 2);
            self.code.line(array.ty.store(&array.element(&at), &value));
        }
    }

    /// A loop over elements of arrays whose iterations see what those before them combined.
    pub(super) fn scan_loop(
        &mut self,
        directive: &str,
        scope: &Scope,
        written: &[Array],
        place: Place,
    ) {
        let reduction = self.reduction(place);
        let Reduction { place, operator } = &reduction;
        let clause = format!(" reduction(inscan, {operator} : {})", place.name);
        let shortest = shortest(written);
        let trips = 1 + self.random.below(shortest);
        let canonical = self.canonical_loop(trips, false);
        if let Some(declaration) = &canonical.declaration {
            self.code.line(declaration);
        }
        self.code.directive(&format!("{directive}{clause}"));
        self.code.open(&canonical.head);
        let mut scope = scope.clone();
        scope.values.push(canonical.index.clone());
        let mut seen = scope.clone();
        seen.values.push(place.name.clone());
        let places = elements(written, &canonical.index);
        let is_inclusive = self.one_in(2);
        if is_inclusive {
            self.code.open("");
            self.combine(&scope, &reduction);
            self.code.close();
            self.code
                .directive(&format!("scan inclusive({})", place.name));
        }
        self.code.open("");
        for place in &places {
            let value = self.value(&seen, 2);
            let value = format!("(U({}) + {value})", reduction.place.name);
            self.code.line(place.ty.store(&place.name, &value));
        }
        self.code.close();
        if !is_inclusive {
            self.code
                .directive(&format!("scan exclusive({})", place.name));
            self.code.open("");
            self.combine(&scope, &reduction);
            self.code.close();
        }
        self.code.close();
    }

    /// A call of a function that shares a loop over an array among the threads.
    fn orphaned_loop(&mut self, directive: &str, scope: &Scope, array: &Array) {
        let stem = format!("share{}_", self.id);
        let name = self.fresh(&stem);
        let inside = Array {
            name: "a".into(),
            storage: Storage::Pointer,
            ..array.clone()
        };
        let inner = Scope {
            values: vec!["x".into()],
            arrays: Vec::new(),
        };
        let outside = std::mem::take(&mut self.code);
        self.code.open("");
        self.code.line("int n = 40;");
        self.array_loop(directive, &inner, std::slice::from_ref(&inside), &[]);
        self.code.close();
        let body = std::mem::replace(&mut self.code, outside);
        let parameter = inside.declaration("a", "");
        let argument = self.value(scope, 2);
        let (is_member, is_template) = match self.language {
            Language::Cxx => (self.one_in(4), self.one_in(4)),
            Language::C => (false, false),
        };
        for (reader, suffix) in [(Reader::Offloaded, "o"), (Reader::Sequential, "s")] {
            let text = body.print(reader);
            let (template, ty) = match is_template {
                true => ("template <class T> ", "T"),
                false => ("", "unsigned long long"),
            };
            let function =
                format!("{template}static void {name}{suffix}({parameter}, {ty} x) {text}");
            let (function, class) = match is_member {
                true => (
                    format!("struct {name}{suffix}_t {{\n{function}}};\n"),
                    format!("{name}{suffix}_t::"),
                ),
                false => (function, String::new()),
            };
            self.file_scope.push_str(&function);
            let pointer = match array.shift {
                0 => array.name.clone(),
                shift => format!("{} - {shift} + {shift}", array.name),
            };
            let call = format!("{class}{name}{suffix}({pointer}, {argument});");
            self.code.only(reader, call);
        }
    }

    /// What one step over arrays writes, and what it may read of the others.
    pub(super) fn split(&mut self, written: &[Array], scope: &Scope) -> (Vec<Array>, Scope) {
        let mut scope = scope.clone();
        let target = self.pick(written);
        scope.arrays.extend(
            written
                .iter()
                .filter(|array| array.name != target.name)
                .cloned(),
        );
        (vec![target], scope)
    }

    /// One thread, with parallel loops in between.
    pub(super) fn serial_region(&mut self, present: &[Array]) {
        let captures = self.captures();
        let clauses = self.data_clauses(&captures, present, true);
        self.code.directive(&format!("target{clauses}"));
        self.code.open("");
        let scope = captures.scope();
        let changed: Vec<Place> = captures.changed.iter().map(Place::from).collect();
        let mut written = captures.written.clone();
        if self.one_in(2) {
            let array = self.local_array();
            self.initialize(&array, &scope);
            written.push(array);
        }
        for _ in 0..1 + self.random.below(4) {
            if self.one_in(5) {
                self.tasks(&scope, &written, &changed);
                continue;
            }
            if self.one_in(2) {
                let mut all = scope.clone();
                all.arrays.extend(written.clone());
                let mut places = changed.clone();
                for array in &written {
                    let at = self.random.below(array.length);
                    places.extend(elements(std::slice::from_ref(array), &at.to_string()));
                }
                self.code.open("");
                self.statements(&all, &places, 2);
                self.code.close();
                continue;
            }
            let (targets, inner) = self.split(&written, &scope);
            if self.one_in(8) {
                self.local_scan(&inner, &targets);
                continue;
            }
            let mut directive = "parallel for".to_string();
            directive.push_str(&self.count("num_threads", 64));
            let reduced = self.some_places(&changed);
            self.array_loop(&directive, &inner, &targets, &reduced);
        }
        self.code.close();
    }

    fn some_places(&mut self, places: &[Place]) -> Vec<Place> {
        let mut some = places.to_vec();
        some.retain(|_| self.one_in(2));
        some
    }

    /// Many threads of one team, which share loops and meet at barriers.
    pub(super) fn parallel_region(&mut self, present: &[Array]) {
        let captures = self.captures();
        let threads = self.count("num_threads", 128);
        let clauses = self.data_clauses(&captures, present, true);
        self.code
            .directive(&format!("target parallel{threads}{clauses}"));
        self.code.open("");
        let mut scope = captures.scope();
        let changed: Vec<Place> = captures.changed.iter().map(Place::from).collect();
        if self.one_in(2) {
            self.local_value(&mut scope);
        }
        for _ in 0..1 + self.random.below(4) {
            let mut all = scope.clone();
            all.arrays.extend(captures.written.clone());
            let at = self.random.below(16).to_string();
            let mut places = elements(&captures.written, &at);
            places.extend(changed.clone());
            match self.random.below(9) {
                0 => {
                    self.code.directive("single");
                    self.code.open("");
                    self.statements(&all, &places, 1);
                    self.code.close();
                }
                6 => {
                    self.code.directive("single");
                    self.code.open("");
                    self.tasks(&scope, &captures.written, &changed);
                    self.code.close();
                }
                7 => {
                    self.code.directive("single");
                    self.code.open("");
                    let (targets, inner) = self.split(&captures.written, &scope);
                    self.array_loop("parallel for", &inner, &targets, &[]);
                    self.code.close();
                }
                8 => self.broadcast(&mut scope, &all),
                1 => {
                    // The threads before it may still read.
                    self.code.directive("barrier");
                    let who = self.pick(&["masked", "master"]);
                    self.code.directive(who);
                    self.code.open("");
                    self.statements(&all, &places, 1);
                    self.code.close();
                    self.code.directive("barrier");
                }
                2 => {
                    self.code.directive("sections");
                    self.code.open("");
                    for place in &places {
                        self.code.directive("section");
                        self.code.open("");
                        self.statements(&scope, std::slice::from_ref(place), 1);
                        self.code.close();
                    }
                    self.code.close();
                }
                _ => {
                    let (targets, inner) = self.split(&captures.written, &scope);
                    if self.one_in(4) {
                        self.orphaned_loop("for", &inner, &targets[0]);
                        continue;
                    }
                    let reduced = self.some_places(&changed);
                    self.array_loop("for", &inner, &targets, &reduced);
                }
            }
        }
        self.code.close();
    }

    /// A value that one thread computes for all.
    fn broadcast(&mut self, scope: &mut Scope, all: &Scope) {
        let (ty, name) = (self.any_type(), self.fresh("t"));
        self.code.line(format!("{} {name};", ty.name));
        self.code.directive(&format!("single copyprivate({name})"));
        self.code.open("");
        let value = self.value(all, 2);
        self.code.line(ty.store(&name, &value));
        self.code.close();
        scope.values.push(name);
    }

    /// A scan over a variable of the block.
    fn local_scan(&mut self, scope: &Scope, written: &[Array]) {
        let place = Place {
            name: self.fresh("t"),
            ty: self.any_type(),
        };
        self.code
            .line(format!("{} {} = 2;", place.ty.name, place.name));
        let directive = format!("parallel for{}", self.count("num_threads", 64));
        self.scan_loop(&directive, scope, written, place);
    }

    /// Teams whose iterations are sequential code with parallel regions inside, over memory of the team.
    pub(super) fn team_region(&mut self, present: &[Array]) {
        let captures = self.captures();
        let is_combined = self.one_in(2);
        let clauses = self.data_clauses(&captures, present, true);
        let teams = format!(
            "{}{}",
            self.count("num_teams", 9),
            self.count("thread_limit", 64)
        );
        let distribute = match self.one_in(4) {
            true => format!(
                "distribute dist_schedule(static, {})",
                1 + self.random.below(5)
            ),
            false => "distribute".to_string(),
        };
        let shortest = shortest(&captures.written);
        let trips = self.random.below(shortest.min(24) + 1);
        let canonical = self.canonical_loop(trips, false);
        if let Some(declaration) = &canonical.declaration {
            self.code.line(declaration);
        }
        let mut scope = captures.scope();
        let mut team_arrays = Vec::new();
        if is_combined {
            self.code
                .directive(&format!("target teams {distribute}{teams}{clauses}"));
        } else {
            self.code
                .directive(&format!("target teams{teams}{clauses}"));
            self.code.open("");
            if self.one_in(2) {
                self.local_value(&mut scope);
            }
            if self.language == Language::Cxx && self.one_in(3) {
                self.lambda(&mut scope);
            }
            if self.one_in(2) {
                team_arrays.push(self.local_array());
            }
            self.code.directive(&distribute);
        }
        self.code.open(&canonical.head);
        scope.values.push(canonical.index.clone());
        self.team_iteration(&captures, &scope, &canonical.index, team_arrays);
        self.code.close();
        if !is_combined {
            self.code.close();
        }
    }

    /// An array of a team or a thread, declared.
    fn local_array(&mut self) -> Array {
        let columns = 2 + self.random.below(3);
        let shape = match self.one_in(4) {
            true => Shape::Rows { columns },
            false => Shape::Flat,
        };
        let array = Array {
            name: self.fresh("w"),
            ty: self.any_type(),
            length: columns * (4 + self.random.below(12)),
            storage: Storage::Local,
            shape,
            tag: String::new(),
            shift: 0,
        };
        let outer_length = array.outer_length().to_string();
        let declaration = array.declaration(&array.name, &outer_length);
        self.code.line(format!("{declaration};"));
        array
    }

    fn initialize(&mut self, array: &Array, scope: &Scope) {
        self.code
            .open(&format!("for (int k = 0; k < {}; k++)", array.length));
        let mut inner = scope.clone();
        inner.values.push("k".into());
        let value = self.value(&inner, 1);
        self.code.line(array.ty.store(&array.element("k"), &value));
        self.code.close();
    }

    fn team_iteration(
        &mut self,
        captures: &Captures,
        scope: &Scope,
        index: &str,
        team_arrays: Vec<Array>,
    ) {
        let mut scope = scope.clone();
        // Those of the team are used anew in every iteration.
        let mut locals = team_arrays;
        for _ in 0..1 + self.random.below(2) {
            locals.push(self.local_array());
        }
        for array in &locals {
            self.initialize(array, &scope);
        }
        let sum = Place {
            name: self.fresh("t"),
            ty: self.any_type(),
        };
        self.code.line(format!("{} {} = 3;", sum.ty.name, sum.name));
        scope.values.push(sum.name.clone());
        let steps = 1 + self.random.below(4);
        let is_repeated = self.one_in(4);
        if is_repeated {
            self.code.open("for (int round = 0; round < 3; round++)");
            scope.values.push("round".into());
        }
        for _ in 0..steps {
            let mut quiet = scope.clone();
            quiet.values.retain(|name| *name != sum.name);
            let (targets, inner) = self.split(&locals, &quiet);
            let is_conditional = self.one_in(5);
            if is_conditional {
                let mut all = scope.clone();
                all.arrays.extend(locals.clone());
                let condition = self.value(&all, 1);
                self.code.open(&format!("if ({condition} % 2 == 0)"));
            }
            match self.random.below(9) {
                5 => self.orphaned_loop("parallel for", &inner, &targets[0]),
                6 => self.local_scan(&inner, &targets),
                7 => self.tasks(&quiet, &locals, std::slice::from_ref(&sum)),
                0 => {
                    let mut all = scope.clone();
                    all.arrays.extend(locals.clone());
                    let at = self.random.below(4).to_string();
                    let mut places = elements(&locals, &at);
                    places.push(sum.clone());
                    self.code.open("");
                    self.statements(&all, &places, 2);
                    self.code.close();
                }
                1 => {
                    let threads = self.count("num_threads", 40);
                    self.code.directive(&format!("parallel{threads}"));
                    self.code.open("");
                    for _ in 0..1 + self.random.below(3) {
                        let (targets, inner) = self.split(&locals, &quiet);
                        match self.one_in(4) {
                            true => self.orphaned_loop("for", &inner, &targets[0]),
                            false => self.array_loop("for", &inner, &targets, &[]),
                        }
                    }
                    self.code.close();
                }
                2 => self.array_loop("parallel for simd", &inner, &targets, &[]),
                _ => {
                    let directive = format!("parallel for{}", self.count("num_threads", 40));
                    let reduced = self.some_places(std::slice::from_ref(&sum));
                    self.array_loop(&directive, &inner, &targets, &reduced);
                }
            }
            if is_conditional {
                self.code.close();
            }
        }
        if is_repeated {
            self.code.close();
            scope.values.retain(|name| name != "round");
        }
        scope.arrays.extend(locals);
        self.statements(&scope, &elements(&captures.written, index), 1);
    }
}

/// Whether an expression is a variable that the block declares.
fn is_local(expression: &str) -> bool {
    expression
        .strip_prefix('t')
        .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}
