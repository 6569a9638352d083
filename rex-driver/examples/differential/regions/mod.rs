//! Target regions of generated programs, and the data directives around them.

mod extras;
mod loops;
mod tasks;
mod teams;

use crate::data::{Array, Scalar, Storage};
use crate::program::Program;
use crate::statements::{Place, Scope};

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
        self.region_of_device_array(&present);
        self.code.close();
    }

    /// A region that takes the device address of an array that is there.
    fn region_of_device_array(&mut self, present: &[Array]) {
        let has_address = |array: &&Array| {
            array.shift == 0
                && (array.storage == Storage::Pointer
                    || matches!(array.storage, Storage::Local | Storage::File))
        };
        let arrays: Vec<Array> = present.iter().filter(has_address).cloned().collect();
        if arrays.is_empty() || self.one_in(2) {
            return;
        }
        let array = self.pick(&arrays);
        let kind = match array.storage {
            Storage::Pointer => "use_device_ptr",
            _ => "use_device_addr",
        };
        self.code
            .directive(&format!("target data {kind}({})", array.name));
        self.code.open("");
        let mut others = present.to_vec();
        others.retain(|other| other.name != array.name);
        self.device_array = Some(array.name);
        self.region(&others);
        self.device_array = None;
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
                let stride = match length > 3 && self.one_in(3) {
                    true => 2 + self.random.below(2),
                    false => 1,
                };
                // The last one of a stride may lie behind the end.
                let length = length.div_ceil(stride);
                let section = array.section(start, length, stride);
                self.code
                    .directive(&format!("target update from({section})"));
                let width = array.length / all;
                let at =
                    (start + stride * self.random.below(length)) * width + self.random.below(width);
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
        match self.random.below(15) {
            0 | 1 => self.serial_region(present),
            2..=4 => self.parallel_region(present),
            5..=8 => self.team_region(present),
            9 => self.scan_region(present),
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

    /// Map and data-sharing clauses; `maps_changed` if no other clause maps the scalars that change.
    fn data_clauses(
        &mut self,
        captures: &Captures,
        present: &[Array],
        maps_changed: bool,
    ) -> String {
        let mut clauses = String::new();
        let sides = [("tofrom", &captures.written), ("to", &captures.read)];
        for (kind, arrays) in sides {
            for array in arrays {
                if self.device_array.as_ref() == Some(&array.name) {
                    let kind = match array.storage {
                        Storage::Pointer => "is_device_ptr",
                        _ => "has_device_addr",
                    };
                    clauses.push_str(&format!(" {kind}({})", array.name));
                    continue;
                }
                let is_present = array.storage == Storage::DeclareTarget
                    || present.iter().any(|other| other.name == array.name);
                let is_implicit = match array.storage {
                    // The whole struct is not present.
                    Storage::MemberPointer | Storage::MemberChain => false,
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
        if maps_changed {
            match self.one_in(6) {
                true => clauses.push_str(" defaultmap(tofrom : scalar)"),
                false => captures.changed.iter().for_each(|scalar| {
                    clauses.push_str(&format!(" map(tofrom : {})", scalar.name));
                }),
            }
        }
        clauses
    }
}

/// The number of values of the shortest one.
fn shortest(arrays: &[Array]) -> usize {
    arrays.iter().map(|array| array.length).min().unwrap_or(1)
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
