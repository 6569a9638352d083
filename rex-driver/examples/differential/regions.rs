//! Target regions of generated programs, and the data directives around them.

use crate::code::Reader;
use crate::data::{Array, Scalar, Shape, Storage};
use crate::program::Program;
use crate::statements::{Loop, Place, Reduction, Scope};

/// A construct that a target loop may be, and what its clauses may be.
struct LoopDirective {
    text: &'static str,
    has_teams: bool,
    has_parallel: bool,
    has_for: bool,
    has_distribute: bool,
    has_simd: bool,
    is_loop: bool,
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

/// What a region uses.
struct Captures {
    written: Vec<Array>,
    read: Vec<Array>,
    values: Vec<Scalar>,
    /// Scalars that the region changes.
    changed: Vec<Scalar>,
}

impl Captures {
    fn scope(&self) -> Scope {
        Scope {
            values: self
                .values
                .iter()
                .map(|scalar| scalar.name.clone())
                .collect(),
            arrays: self.read.clone(),
        }
    }
}

impl Program {
    /// Regions, with what the host does between them.
    pub(crate) fn host_statements(&mut self) {
        for _ in 0..1 + self.random.below(2) {
            match self.random.below(4) {
                0 => self.data_region(),
                1 => self.unstructured_data(),
                _ => {
                    self.region(&[]);
                    self.host_changes();
                }
            }
        }
    }

    fn host_changes(&mut self) {
        if self.one_in(2) {
            let scope = Scope {
                values: self
                    .scalars
                    .iter()
                    .map(|scalar| scalar.name.clone())
                    .collect(),
                arrays: self.mapped_arrays(),
            };
            let places: Vec<Place> = self.scalars.iter().map(Place::from).collect();
            self.statements(&scope, &places, 1);
        }
    }

    /// The arrays that are on the device only where they are mapped.
    fn mapped_arrays(&self) -> Vec<Array> {
        let mut arrays = self.arrays.clone();
        arrays.retain(|array| array.storage != Storage::DeclareTarget);
        arrays
    }

    fn arrays_to_map(&mut self) -> Vec<Array> {
        let mut arrays = self.mapped_arrays();
        // A region maps the whole object of a member function, so its arrays alone must not be there.
        let has_object = self.members.is_some();
        arrays.retain(|array| {
            let is_member = has_object && array.storage == Storage::Local;
            !is_member && self.random.below(3) > 0
        });
        arrays
    }

    fn data_region(&mut self) {
        let present = self.arrays_to_map();
        let items = list(&present, |array| array.item(false));
        if !present.is_empty() {
            self.code
                .directive(&format!("target data map(tofrom : {items})"));
        }
        self.code.open("");
        self.regions_between_updates(&present);
        self.code.close();
    }

    fn unstructured_data(&mut self) {
        let present = self.arrays_to_map();
        let items = list(&present, |array| array.item(false));
        if !present.is_empty() {
            self.code
                .directive(&format!("target enter data map(to : {items})"));
        }
        self.regions_between_updates(&present);
        if !present.is_empty() {
            self.code
                .directive(&format!("target exit data map(from : {items})"));
        }
    }

    fn regions_between_updates(&mut self, present: &[Array]) {
        for _ in 0..1 + self.random.below(2) {
            self.region(present);
            if !present.is_empty() && self.one_in(3) {
                let array = self.pick(present);
                let all = array.outer_length();
                let start = self.random.below(all / 2);
                let length = 1 + self.random.below(all - start);
                let section = format!("{}[{start} : {length}]", array.name);
                self.code
                    .directive(&format!("target update from({section})"));
                let width = array.length / all;
                let at = start * width + self.random.below(length * width);
                let place = Place {
                    name: array.element(&at.to_string()),
                    ty: array.ty,
                };
                let scope = Scope {
                    values: vec![place.name.clone(), "n".into()],
                    arrays: Vec::new(),
                };
                let value = self.value(&scope, 2);
                self.code.line(place.ty.store(&place.name, &value));
                self.code.directive(&format!("target update to({section})"));
            }
        }
    }

    /// A target region. The data of `present` is on the device already.
    fn region(&mut self, present: &[Array]) {
        match self.random.below(7) {
            0 => self.serial_region(present),
            1 => self.parallel_region(present),
            2 | 3 => self.team_region(present),
            _ => self.loop_region(present),
        }
    }

    fn captures(&mut self) -> Captures {
        let mut others = self.arrays.clone();
        let mut written = Vec::new();
        for _ in 0..1 + self.random.below(2) {
            if others.len() > 1 || written.is_empty() {
                written.push(others.remove(self.random.below(others.len())));
            }
        }
        others.retain(|_| self.random.below(3) > 0);
        let (mut values, mut locals): (Vec<_>, Vec<_>) = self
            .scalars
            .iter()
            .cloned()
            .partition(|scalar| scalar.is_member);
        let mut changed = Vec::new();
        while locals.len() > 1 && self.one_in(2) {
            changed.push(locals.remove(self.random.below(locals.len())));
        }
        values.extend(locals);
        Captures {
            written,
            read: others,
            values,
            changed,
        }
    }

    /// Map and data-sharing clauses. Scalars that are combined into need no map, others that change do.
    fn data_clauses(
        &mut self,
        captures: &Captures,
        present: &[Array],
        reduced: &[Reduction],
    ) -> String {
        let mut clauses = String::new();
        let sides = [("tofrom", &captures.written), ("to", &captures.read)];
        for (kind, arrays) in sides {
            for array in arrays {
                let is_present = array.storage == Storage::DeclareTarget
                    || present.iter().any(|other| other.name == array.name);
                let is_implicit = match array.storage {
                    // The whole struct is not present.
                    Storage::MemberPointer => false,
                    Storage::MemberArray if is_present => false,
                    Storage::Pointer => is_present && self.one_in(2),
                    _ => self.one_in(2),
                };
                if !is_implicit {
                    let with_length = self.one_in(2);
                    // What is present must not grow.
                    let kind = if is_present && self.one_in(3) {
                        "alloc"
                    } else {
                        kind
                    };
                    clauses.push_str(&format!(" map({kind} : {})", array.item(with_length)));
                }
            }
        }
        for scalar in captures.values.iter().filter(|scalar| !scalar.is_member) {
            match self.random.below(6) {
                0 => clauses.push_str(&format!(" firstprivate({})", scalar.name)),
                1 => clauses.push_str(&format!(" map(to : {})", scalar.name)),
                _ => {}
            }
        }
        for scalar in &captures.changed {
            let is_reduced = reduced
                .iter()
                .any(|reduction| reduction.place.name == scalar.name);
            if !is_reduced {
                clauses.push_str(&format!(" map(tofrom : {})", scalar.name));
            }
        }
        clauses
    }

    /// Which variables the iterations update atomically, and which they combine into.
    fn updates(&mut self, changed: &[Scalar], has_atomic: bool) -> (Vec<Scalar>, Vec<Scalar>) {
        changed
            .iter()
            .cloned()
            .partition(|scalar| has_atomic && scalar.ty.is_wide() && self.one_in(3))
    }

    fn schedule(&mut self) -> String {
        let chunk = 1 + self.random.below(9);
        match self.random.below(9) {
            0 => format!(" schedule(static, {chunk})"),
            1 => " schedule(static)".into(),
            2 => format!(" schedule(dynamic, {chunk})"),
            3 => " schedule(guided)".into(),
            4 => " schedule(auto)".into(),
            _ => String::new(),
        }
    }

    fn count(&mut self, clause: &str, greatest: usize) -> String {
        match self.one_in(3) {
            true => format!(" {clause}({})", 1 + self.random.below(greatest)),
            false => String::new(),
        }
    }

    /// One combined construct over a nest of loops.
    fn loop_region(&mut self, present: &[Array]) {
        let directive = &LOOP_DIRECTIVES[self.random.below(LOOP_DIRECTIVES.len())];
        let captures = self.captures();
        let (counters, combined) = self.updates(&captures.changed, !directive.is_loop);
        let reductions: Vec<Reduction> = combined
            .iter()
            .map(|scalar| self.any_reduction(Place::from(scalar)))
            .collect();
        let mut clauses = self.data_clauses(&captures, present, &reductions);
        for Reduction { place, operator } in &reductions {
            clauses.push_str(&format!(" reduction({operator} : {})", place.name));
        }
        if directive.has_teams {
            clauses.push_str(&self.count("num_teams", 9));
            clauses.push_str(&self.count("thread_limit", 128));
        }
        if directive.has_parallel {
            clauses.push_str(&self.count("num_threads", 128));
        }
        if directive.has_for {
            clauses.push_str(&self.schedule());
        }
        if directive.has_distribute && self.one_in(5) {
            let chunk = 1 + self.random.below(9);
            clauses.push_str(&format!(" dist_schedule(static, {chunk})"));
        }
        if directive.has_simd && self.one_in(4) {
            clauses.push_str(" simdlen(4)");
        }
        let reads_device = |array: &Array| array.storage == Storage::DeclareTarget;
        let may_stay = present.is_empty()
            && !captures.written.iter().any(reads_device)
            && !captures.read.iter().any(reads_device);
        match self.random.below(8) {
            0 => clauses.push_str(" if(n > 3)"),
            1 if may_stay => clauses.push_str(" if(target : n > 100)"),
            _ => {}
        }
        let is_deferred = self.one_in(8);
        if is_deferred {
            clauses.push_str(" nowait");
        }
        let bins = self.one_in(6).then(|| {
            let bins = Array {
                name: self.fresh("r"),
                ty: self.any_type(),
                length: 16,
                storage: Storage::Local,
                shape: Shape::Flat,
                tag: String::new(),
            };
            self.code
                .declare(format!("{} {}[16] = {{0}};", bins.ty.name, bins.name));
            clauses.push_str(&format!(" reduction(+ : {})", bins.item(self.one_in(2))));
            bins
        });
        let private = self.one_in(3).then(|| {
            let place = self.outer_variable("p", 5);
            clauses.push_str(&format!(" private({})", place.name));
            place
        });
        let last = (!directive.is_loop && self.one_in(4)).then(|| {
            let place = self.outer_variable("l", 6);
            clauses.push_str(&format!(" lastprivate({})", place.name));
            place
        });
        let shortest = captures
            .written
            .iter()
            .map(|array| array.length)
            .min()
            .unwrap_or(1);
        let depth = 1 + self.random.below(3);
        let mut loops = Vec::new();
        let mut room = shortest;
        let mut index = String::new();
        for level in 0..depth {
            let share = if level + 1 == depth {
                room
            } else {
                5.min(room)
            };
            let least = usize::from(last.is_some());
            let trips = least.max(self.random.below(share + 1));
            let canonical = self.canonical_loop(trips, false);
            index = match level {
                0 => canonical.index.clone(),
                _ => format!("({index}) * {trips} + {}", canonical.index),
            };
            room /= trips.max(1);
            if let Some(declaration) = &canonical.declaration {
                self.code.line(declaration);
            }
            loops.push(canonical);
        }
        // The variable of a loop that the construct does not take would be shared.
        let is_taken = |canonical: &Loop| canonical.declaration.is_some();
        let n_taken = match loops.iter().any(is_taken) || last.is_some() {
            true => depth,
            false => 1 + self.random.below(depth),
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
        for place in private.iter().chain(&last) {
            let value = self.value(&scope, 2);
            self.code.line(place.ty.store(&place.name, &value));
        }
        scope
            .values
            .extend(private.iter().map(|place| place.name.clone()));
        if self.one_in(6) && last.is_none() {
            let condition = self.value(&scope, 1);
            self.code
                .line(format!("if ({condition} % 7 == 2) continue;"));
        }
        let places = elements(&captures.written, &index);
        self.statements(&scope, &places, 2);
        for reduction in &reductions {
            self.combine(&scope, reduction);
        }
        for counter in &counters {
            let value = self.value(&scope, 2);
            let (name, ty) = (&counter.name, counter.ty.name);
            let construct = match directive.has_parallel && !directive.has_simd && self.one_in(2) {
                true => "critical",
                false => "atomic",
            };
            self.code.directive(construct);
            self.code.line(format!("{name} += ({ty})({value} % 7);"));
        }
        if let Some(bins) = &bins {
            let (at, value) = (self.value(&scope, 1), self.value(&scope, 2));
            let bin = bins.element(&format!("{at} % 16"));
            self.code
                .line(format!("{bin} += ({})({value} % 7);", bins.ty.name));
        }
        for _ in &loops {
            self.code.close();
        }
        if is_deferred {
            self.code.directive("taskwait");
        }
        self.arrays.extend(bins);
        if let Some(last) = last {
            self.scalars.push(Scalar {
                name: last.name,
                ty: last.ty,
                is_member: false,
            });
        }
    }

    /// A variable of the function for a clause of a region.
    fn outer_variable(&mut self, stem: &str, value: usize) -> Place {
        let name = self.fresh(stem);
        let ty = self.any_type();
        self.code.declare(format!("{} {name} = {value};", ty.name));
        Place { name, ty }
    }

    /// A worksharing loop over elements of arrays.
    fn array_loop(&mut self, directive: &str, scope: &Scope, written: &[Array], reduced: &[Place]) {
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
        let shortest = written.iter().map(|array| array.length).min().unwrap_or(20);
        let trips = self.random.below(shortest + 1);
        let canonical = self.canonical_loop(trips, false);
        if let Some(declaration) = &canonical.declaration {
            self.code.line(declaration);
        }
        self.code.directive(&format!("{directive}{clauses}"));
        self.code.open(&canonical.head);
        let mut scope = scope.clone();
        scope.values.push(canonical.index.clone());
        let places = elements(written, &canonical.index);
        self.statements(&scope, &places, 1);
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
        for (reader, suffix) in [(Reader::Offloaded, "o"), (Reader::Sequential, "s")] {
            let text = body.print(reader);
            self.file_scope.push_str(&format!(
                "static void {name}{suffix}({parameter}, unsigned long long x) {text}"
            ));
            let call = format!("{name}{suffix}({}, {argument});", array.name);
            self.code.only(reader, call);
        }
    }

    /// What one step over arrays writes, and what it may read of the others.
    fn split(&mut self, written: &[Array], scope: &Scope) -> (Vec<Array>, Scope) {
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
    fn serial_region(&mut self, present: &[Array]) {
        let captures = self.captures();
        let clauses = self.data_clauses(&captures, present, &[]);
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
    fn parallel_region(&mut self, present: &[Array]) {
        let captures = self.captures();
        let threads = self.count("num_threads", 128);
        let clauses = self.data_clauses(&captures, present, &[]);
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
            match self.random.below(6) {
                0 => {
                    self.code.directive("single");
                    self.code.open("");
                    self.statements(&all, &places, 1);
                    self.code.close();
                }
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

    /// Teams whose iterations are sequential code with parallel regions inside, over memory of the team.
    fn team_region(&mut self, present: &[Array]) {
        let captures = self.captures();
        let is_combined = self.one_in(2);
        let clauses = self.data_clauses(&captures, present, &[]);
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
        let shortest = captures
            .written
            .iter()
            .map(|array| array.length)
            .min()
            .unwrap_or(1);
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
            match self.random.below(6) {
                5 => self.orphaned_loop("parallel for", &inner, &targets[0]),
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

/// One element of each.
fn elements(arrays: &[Array], index: &str) -> Vec<Place> {
    let place = |array: &Array| Place {
        name: array.element(index),
        ty: array.ty,
    };
    arrays.iter().map(place).collect()
}

fn list(arrays: &[Array], item: impl Fn(&Array) -> String) -> String {
    arrays.iter().map(item).collect::<Vec<_>>().join(", ")
}
