//! What the iterations of a loop have beside the elements of arrays, and the clauses that say so.

use crate::data::{Array, Scalar, Shape, Storage, Type};
use crate::program::Program;
use crate::statements::{Place, Reduction, Scope};

use super::loops::LoopDirective;

/// Variables of the iterations of a loop.
pub(super) enum Extra {
    /// All iterations combine into it.
    Reduced(Reduction),
    /// All combine into its members with a declared reduction.
    ReducedStruct {
        name: String,
        identifier: String,
        sum: Place,
        greatest: Place,
    },
    /// All add to elements of it.
    Bins { array: Array, item: String },
    /// Every iteration sets its own.
    Private(Place),
    /// The value of the last iteration stays.
    Last(Place),
    /// Every thread has a copy, and changes the upper half of it.
    Copied { array: Array, changes: bool },
    /// It grows with every iteration.
    Linear { place: Place, step: usize },
    /// All change it atomically.
    Atomic {
        place: Place,
        operator: &'static str,
        is_critical: bool,
    },
    /// A counter whose values the iterations add up.
    Tickets { counter: Place, sum: Place },
}

/// The length of an array that every thread copies.
const COPY_LENGTH: usize = 8;

impl Extra {
    /// The clauses of the loop.
    pub(super) fn clauses(&self) -> String {
        match self {
            Self::Reduced(Reduction { place, operator }) => {
                format!(" reduction({operator} : {})", place.name)
            }
            Self::ReducedStruct {
                name, identifier, ..
            } => format!(" reduction({identifier} : {name})"),
            Self::Bins { item, .. } => format!(" reduction(+ : {item})"),
            Self::Private(place) => format!(" private({})", place.name),
            Self::Last(place) => format!(" lastprivate({})", place.name),
            Self::Copied { array, .. } => format!(" firstprivate({})", array.name),
            Self::Linear { place, step: 1 } => format!(" linear({})", place.name),
            Self::Linear { place, step } => format!(" linear({} : {step})", place.name),
            Self::Atomic { place, .. } => format!(" map(tofrom : {})", place.name),
            Self::Tickets { counter, sum } => {
                format!(
                    " map(tofrom : {}) reduction(+ : {})",
                    counter.name, sum.name
                )
            }
        }
    }

    /// Whether every iteration must run to its end, and one must exist.
    pub(super) fn needs_all_iterations(&self) -> bool {
        matches!(self, Self::Last(_) | Self::Linear { .. })
    }
}

impl Program {
    /// Variables for a loop whose iterations change these scalars.
    pub(super) fn extras(&mut self, directive: &LoopDirective, changed: &[Scalar]) -> Vec<Extra> {
        let mut extras = Vec::new();
        let has_atomic = !directive.is_loop;
        for scalar in changed {
            let place = Place::from(scalar);
            let is_atomic = has_atomic && scalar.ty.is_wide() && self.one_in(3);
            extras.push(match is_atomic {
                true => {
                    let Reduction { place, operator } = self.reduction(place);
                    Extra::Atomic {
                        place,
                        operator,
                        is_critical: directive.has_parallel
                            && !directive.has_simd
                            && self.one_in(2),
                    }
                }
                false => Extra::Reduced(self.any_reduction(place)),
            });
        }
        if self.one_in(6) {
            extras.push(self.bins());
        }
        if self.one_in(6) {
            extras.push(self.reduced_struct());
        }
        if self.one_in(3) {
            extras.push(Extra::Private(self.outer_variable("p", 5)));
        }
        if !directive.is_loop && self.one_in(4) {
            extras.push(Extra::Last(self.outer_variable("l", 6)));
        }
        if self.one_in(5) {
            // Iterations that `simd` executes together have one copy.
            extras.push(self.copied(!directive.is_loop && !directive.has_simd));
        }
        if !directive.is_loop && !directive.has_distribute && self.one_in(4) {
            let place = self.outer_wide_integer("x", 7);
            let step = 1 + self.random.below(3);
            extras.push(Extra::Linear { place, step });
        }
        if has_atomic && self.one_in(8) {
            let counter = self.outer_wide_integer("c", 2);
            let sum = self.outer_wide_integer("q", 0);
            extras.push(Extra::Tickets { counter, sum });
        }
        extras
    }

    fn bins(&mut self) -> Extra {
        let array = Array {
            name: self.fresh("r"),
            ty: self.any_type(),
            length: 16,
            storage: Storage::Local,
            shape: Shape::Flat,
            tag: String::new(),
            shift: 0,
        };
        self.code
            .declare(format!("{} {}[16] = {{0}};", array.ty.name, array.name));
        let item = array.item(self.one_in(2));
        Extra::Bins { array, item }
    }

    fn copied(&mut self, changes: bool) -> Extra {
        let array = Array {
            name: self.fresh("f"),
            ty: self.any_type(),
            length: COPY_LENGTH,
            storage: Storage::Local,
            shape: Shape::Flat,
            tag: String::new(),
            shift: 0,
        };
        let first = self.random.below(20);
        self.code.declare(format!(
            "{} {}[{COPY_LENGTH}] = {{{first}, 1, 4, 1, 5, 9, 2, 6}};",
            array.ty.name, array.name
        ));
        Extra::Copied { array, changes }
    }

    /// A struct and the declaration of its reduction.
    fn reduced_struct(&mut self) -> Extra {
        let stem = format!("pair{}_", self.id);
        let identifier = self.fresh(&stem);
        let name = self.fresh("b");
        let sum = self.any_type();
        let mut greatest = self.any_type();
        while !greatest.is_signed {
            greatest = self.any_type();
        }
        let (s, g) = (sum.name, greatest.name);
        let head = format!("struct {identifier}_t {{ {s} sum; {g} greatest; }};\n");
        let combiner = "$out sum += $in sum, $out greatest = $in greatest > $out greatest ? $in greatest : $out greatest";
        let dotted = combiner
            .replace("$out ", "omp_out.")
            .replace("$in ", "omp_in.");
        let text = match self.one_in(2) {
            true => format!(
                "#pragma omp declare reduction({identifier} : struct {identifier}_t : {dotted}) initializer(omp_priv = {{0, -100}})\n"
            ),
            false => {
                let arrows = combiner.replace("$out ", "x->").replace("$in ", "y->");
                format!(
                    "static void {identifier}_add(struct {identifier}_t *x, const struct {identifier}_t *y) {{\n  {arrows};\n}}\n\
                     static void {identifier}_init(struct {identifier}_t *x) {{\n  x->sum = 0;\n  x->greatest = -100;\n}}\n\
                     #pragma omp declare reduction({identifier} : struct {identifier}_t : {identifier}_add(&omp_out, &omp_in)) initializer({identifier}_init(&omp_priv))\n"
                )
            }
        };
        self.file_scope.push_str(&format!("{head}{text}"));
        self.code
            .declare(format!("struct {identifier}_t {name} = {{3, 4}};"));
        let member = |member: &str, ty| Place {
            name: format!("{name}.{member}"),
            ty,
        };
        Extra::ReducedStruct {
            sum: member("sum", sum),
            greatest: member("greatest", greatest),
            name,
            identifier,
        }
    }

    /// What an iteration begins with.
    pub(super) fn begin_extra(&mut self, extra: &Extra, scope: &mut Scope) {
        match extra {
            Extra::Private(place) | Extra::Last(place) => {
                let value = self.value(scope, 2);
                self.code.line(place.ty.store(&place.name, &value));
                if matches!(extra, Extra::Private(_)) {
                    scope.values.push(place.name.clone());
                }
            }
            Extra::Copied { array, changes } => {
                let half = COPY_LENGTH / 2;
                scope
                    .values
                    .push(array.element(&self.random.below(half).to_string()));
                if *changes {
                    let upper = array.element(&(half + self.random.below(half)).to_string());
                    let value = self.value(scope, 2);
                    self.code.line(array.ty.store(&upper, &value));
                    scope.values.push(upper);
                }
            }
            Extra::Linear { place, .. } => scope.values.push(place.name.clone()),
            _ => {}
        }
    }

    /// What an iteration ends with.
    pub(super) fn end_extra(&mut self, extra: &Extra, scope: &Scope) {
        match extra {
            Extra::Reduced(reduction) => self.combine(scope, reduction),
            Extra::ReducedStruct { sum, greatest, .. } => {
                for (place, operator) in [(sum, "+"), (greatest, "max")] {
                    let place = place.clone();
                    self.combine(scope, &Reduction { place, operator });
                }
            }
            Extra::Bins { array, .. } => {
                let (at, value) = (self.value(scope, 1), self.value(scope, 2));
                let bin = array.element(&format!("{at} % 16"));
                self.code
                    .line(format!("{bin} += ({})({value} % 7);", array.ty.name));
            }
            Extra::Linear { place, step } => self.code.line(format!("{} += {step};", place.name)),
            Extra::Atomic {
                place,
                operator,
                is_critical,
            } => self.change_atomically(scope, place, operator, *is_critical),
            Extra::Tickets { counter, sum } => {
                let name = self.fresh("t");
                self.code.line(format!("{} {name};", counter.ty.name));
                self.code.directive("atomic capture");
                let counter = &counter.name;
                self.code.line(match self.random.below(3) {
                    0 => format!("{{ {name} = {counter}; {counter} += 1; }}"),
                    1 => format!("{{ {counter}++; {name} = {counter}; }}"),
                    _ => format!("{name} = {counter}++;"),
                });
                self.code.line(format!("{} += {name};", sum.name));
            }
            _ => {}
        }
    }

    fn change_atomically(&mut self, scope: &Scope, place: &Place, operator: &str, critical: bool) {
        let value = self.value(scope, 2);
        let (name, ty) = (&place.name, place.ty);
        let sign = match operator {
            "max" => '<',
            "min" => '>',
            _ => {
                let operand = match operator {
                    "+" => format!("({})({value} % 7)", ty.name),
                    "*" => format!("({})(1 + {value} % 3)", ty.name),
                    _ => format!("({})({value} % 127)", ty.name),
                };
                self.code
                    .directive(if critical { "critical" } else { "atomic" });
                let is_short = self.one_in(2);
                self.code.line(match is_short {
                    true => format!("{name} {operator}= {operand};"),
                    false => format!("{name} = {name} {operator} {operand};"),
                });
                return;
            }
        };
        let other = self.fresh("t");
        self.code.line(format!("{} {other};", ty.name));
        self.code.line(ty.store(&other, &value));
        self.code.directive(if critical {
            "critical(extremes)"
        } else {
            "atomic compare"
        });
        let is_statement = self.one_in(2);
        self.code.line(match is_statement {
            true => format!("if ({name} {sign} {other}) {{ {name} = {other}; }}"),
            false => format!("{name} = {name} {sign} {other} ? {other} : {name};"),
        });
    }

    /// Variables that what follows may use.
    pub(super) fn keep_extra(&mut self, extra: Extra) {
        let places = match extra {
            Extra::Bins { array, .. } => {
                self.arrays.push(array);
                return;
            }
            Extra::Last(place) | Extra::Linear { place, .. } => vec![(place, false)],
            Extra::Tickets { counter, sum } => vec![(counter, false), (sum, false)],
            Extra::ReducedStruct { sum, greatest, .. } => vec![(sum, true), (greatest, true)],
            _ => return,
        };
        self.scalars
            .extend(places.into_iter().map(|(place, is_member)| Scalar {
                name: place.name,
                ty: place.ty,
                is_member,
            }));
    }

    /// A variable of the function for a clause of a region.
    pub(super) fn outer_variable(&mut self, stem: &str, value: usize) -> Place {
        let ty = self.any_type();
        self.variable_of(ty, stem, value)
    }

    /// The same of an integer type that threads may change atomically.
    fn outer_wide_integer(&mut self, stem: &str, value: usize) -> Place {
        let mut ty = self.any_type();
        while !ty.is_wide() || ty.is_real {
            ty = self.any_type();
        }
        self.variable_of(ty, stem, value)
    }

    fn variable_of(&mut self, ty: Type, stem: &str, value: usize) -> Place {
        let name = self.fresh(stem);
        self.code.declare(format!("{} {name} = {value};", ty.name));
        Place { name, ty }
    }
}
