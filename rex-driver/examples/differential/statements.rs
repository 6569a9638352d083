//! Expressions, statements and loops of generated programs.
//!
//! Values are computed as `unsigned long long`, so that nothing overflows, and stored as small whole numbers.

use crate::data::{Array, Scalar, Type};
use crate::program::{Language, Program};

/// What an expression may read.
#[derive(Clone, Default)]
pub(crate) struct Scope {
    /// Scalar expressions.
    pub(crate) values: Vec<String>,
    /// Arrays of which any element may be read.
    pub(crate) arrays: Vec<Array>,
}

/// What a statement may assign to.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) ty: Type,
}

impl From<&Scalar> for Place {
    fn from(scalar: &Scalar) -> Self {
        Self {
            name: scalar.name.clone(),
            ty: scalar.ty,
        }
    }
}

/// A variable that all iterations combine something into.
#[derive(Clone)]
pub(crate) struct Reduction {
    pub(crate) place: Place,
    pub(crate) operator: &'static str,
}

/// A loop in canonical form.
pub(crate) struct Loop {
    /// A declaration in front of the directive, if the loop does not declare its variable.
    pub(crate) declaration: Option<String>,
    pub(crate) head: String,
    /// An expression from 0 to the number of iterations minus 1, another one each time.
    pub(crate) index: String,
    pub(crate) ty: &'static str,
    /// The index is a signed variable that the loop declares.
    pub(crate) is_plain: bool,
}

impl Program {
    /// An expression of type `unsigned long long`.
    pub(crate) fn value(&mut self, scope: &Scope, depth: usize) -> String {
        if depth == 0 || self.one_in(4) {
            return self.leaf(scope);
        }
        let a = self.value(scope, depth - 1);
        let b = self.value(scope, depth - 1);
        let k = 2 + self.random.below(9);
        match self.random.below(8) {
            0 => format!("({a} * {k} + {b})"),
            1 => format!("({a} ^ {b})"),
            2 => format!("({a} % {k} == 0 ? {a} + 1 : {b})"),
            3 => format!("({a} - {b})"),
            4 => format!("(({a} & 255) << {})", k % 5),
            5 if !self.functions.is_empty() => {
                let functions = self.functions.clone();
                format!("{}({a}, {b})", self.pick(&functions))
            }
            _ => format!("({a} + {b})"),
        }
    }

    fn leaf(&mut self, scope: &Scope) -> String {
        if !scope.arrays.is_empty() && self.one_in(2) {
            let array = self.pick(&scope.arrays);
            let k = self.random.below(50);
            let index = match scope.values.is_empty() {
                true => k.to_string(),
                false => format!("(U({}) + {k})", self.pick(&scope.values)),
            };
            let index = format!("{index} % {}", array.length);
            return format!("U({})", array.element(&index));
        }
        match scope.values.is_empty() || self.one_in(5) {
            true => format!("U({})", self.random.below(100)),
            false => format!("U({})", self.pick(&scope.values)),
        }
    }

    /// Statements of one iteration, or of one thread, that assign to its own places.
    pub(crate) fn statements(&mut self, scope: &Scope, places: &[Place], depth: usize) {
        let mut scope = scope.clone();
        scope
            .values
            .extend(places.iter().map(|place| place.name.clone()));
        for _ in 0..1 + self.random.below(3) {
            match self.random.below(if depth > 0 { 8 } else { 4 }) {
                0..=2 => self.store(&scope, places),
                3 if self.language == Language::Cxx && self.one_in(3) => self.lambda(&mut scope),
                3 | 4 => self.local_value(&mut scope),
                5 => {
                    let condition = self.value(&scope, 1);
                    self.code.open(&format!("if ({condition} % 3 == 1)"));
                    self.statements(&scope, places, depth - 1);
                    self.code.close();
                    if self.one_in(2) {
                        self.code.open("else");
                        self.statements(&scope, places, depth - 1);
                        self.code.close();
                    }
                }
                6 => self.serial_loop(&scope, places, depth),
                _ => {
                    let selector = self.value(&scope, 1);
                    self.code.open(&format!("switch ({selector} % 3)"));
                    self.code.line("case 0:");
                    self.store(&scope, places);
                    if self.one_in(2) {
                        self.code.line("break;");
                    }
                    self.code.line("default:");
                    self.store(&scope, places);
                    self.code.close();
                }
            }
        }
    }

    /// A variable of the block, which what follows may read.
    pub(crate) fn local_value(&mut self, scope: &mut Scope) {
        let (ty, name) = (self.any_type(), self.fresh("t"));
        let value = self.value(scope, 2);
        self.code.line(format!("{} {name};", ty.name));
        self.code.line(ty.store(&name, &value));
        scope.values.push(name);
    }

    /// A closure of the block, which what follows may call.
    pub(crate) fn lambda(&mut self, scope: &mut Scope) {
        let name = self.fresh("f");
        let mut inner = Scope {
            values: scope.values.clone(),
            arrays: Vec::new(),
        };
        let capture = self.pick(&["&", "="]);
        if capture == "=" {
            // The closure would copy the whole array, while others write its elements.
            inner.values.retain(|value| !value.contains('['));
        }
        inner.values.push("x".into());
        let value = self.value(&inner, 2);
        self.code.line(format!(
            "auto {name} = [{capture}](unsigned long long x) {{ return {value}; }};"
        ));
        let argument = self.value(scope, 1);
        scope.values.push(format!("{name}({argument})"));
    }

    fn store(&mut self, scope: &Scope, places: &[Place]) {
        if places.is_empty() {
            return;
        }
        let place = self.pick(places);
        let value = self.value(scope, 3);
        self.code.line(place.ty.store(&place.name, &value));
    }

    fn serial_loop(&mut self, scope: &Scope, places: &[Place], depth: usize) {
        let trips = self.random.below(6);
        let canonical = self.canonical_loop(trips, false);
        if let Some(declaration) = &canonical.declaration {
            self.code.line(declaration);
        }
        if self.one_in(4) {
            let ty = self.any_type();
            let sum = Place {
                name: self.fresh("t"),
                ty,
            };
            self.code.line(format!("{} {} = 0;", ty.name, sum.name));
            let reduction = Reduction {
                place: sum.clone(),
                operator: "+",
            };
            self.code
                .directive(&format!("simd reduction(+ : {})", sum.name));
            self.code.open(&canonical.head);
            let mut inner = scope.clone();
            inner.values.push(canonical.index);
            self.combine(&inner, &reduction);
            self.code.close();
            let mut outer = scope.clone();
            outer.values.push(sum.name);
            self.store(&outer, places);
            return;
        }
        let is_transformed = self.one_in(5);
        if is_transformed {
            let transformation = self.pick(&["unroll partial(2)", "unroll", "tile sizes(3)"]);
            self.code.directive(transformation);
        }
        self.code.open(&canonical.head);
        let mut inner = scope.clone();
        inner.values.push(canonical.index);
        if !is_transformed && self.one_in(4) {
            let condition = self.value(&inner, 1);
            let exit = if self.one_in(2) { "break" } else { "continue" };
            self.code.line(format!("if ({condition} % 5 == 2) {exit};"));
        }
        self.statements(&inner, places, depth - 1);
        self.code.close();
    }

    /// An operator whose result does not depend on the order for values of the type.
    pub(crate) fn reduction(&mut self, place: Place) -> Reduction {
        let operators: &[&str] = match (place.ty.is_real, place.ty.is_signed) {
            (true, _) => &["+", "max", "min"],
            (_, true) => &["+", "max", "min", "&", "|", "^"],
            _ => &["+", "*", "max", "min", "&", "|", "^"],
        };
        let operator = self.pick(operators);
        Reduction { place, operator }
    }

    /// Logical ones too: the variable must be 0 or 1, as combining makes it so even without iterations.
    pub(crate) fn any_reduction(&mut self, place: Place) -> Reduction {
        if !place.ty.is_real && self.one_in(4) {
            self.code.line(format!("{0} = {0} != 0;", place.name));
            let operator = self.pick(&["&&", "||"]);
            return Reduction { place, operator };
        }
        self.reduction(place)
    }

    /// The statement that combines a value into the variable.
    pub(crate) fn combine(&mut self, scope: &Scope, reduction: &Reduction) {
        let value = self.value(scope, 2);
        let Reduction { place, operator } = reduction;
        let (name, ty) = (&place.name, place.ty.name);
        let other = self.fresh("t");
        match *operator {
            "+" => self.code.line(format!("{name} += ({ty})({value} % 7);")),
            "*" => self
                .code
                .line(format!("{name} *= ({ty})(1 + {value} % 3);")),
            "&&" => self
                .code
                .line(format!("{name} = {name} && {value} % 50 != 3;")),
            "||" => self
                .code
                .line(format!("{name} = {name} || {value} % 50 == 3;")),
            "max" | "min" => {
                let sign = if *operator == "max" { '>' } else { '<' };
                self.code.line(format!("{ty} {other};"));
                self.code.line(place.ty.store(&other, &value));
                match self.one_in(2) {
                    true => self
                        .code
                        .line(format!("if ({other} {sign} {name}) {name} = {other};")),
                    false => self.code.line(format!(
                        "{name} = {name} {sign} {other} ? {name} : {other};"
                    )),
                }
            }
            _ => self
                .code
                .line(format!("{name} {operator}= ({ty})({value} % 127);")),
        }
    }

    /// A loop of at most so many iterations; one of `is_exact` has just as many.
    pub(crate) fn canonical_loop(&mut self, trips: usize, is_exact: bool) -> Loop {
        let name = self.fresh("i");
        let ty = self.pick(&[
            "int",
            "int",
            "long",
            "unsigned",
            "short",
            "unsigned char",
            "unsigned long",
            "long long",
        ]);
        let is_signed = !ty.contains("unsigned");
        let step = if is_exact {
            1
        } else {
            1 + self.random.below(4) / 3 * (1 + self.random.below(2))
        };
        // gcc takes no test that is false for every value.
        let is_false = !is_signed && trips == 0;
        let bound = match is_false || trips <= 40 && self.one_in(3) {
            true => format!("n - {}", 40 - trips),
            false => trips.to_string(),
        };
        let (up, down) = match (step, self.one_in(2)) {
            (1, true) => (format!("{name}++"), format!("{name}--")),
            (_, true) => (format!("{name} += {step}"), format!("{name} -= {step}")),
            _ => (
                format!("{name} = {name} + {step}"),
                format!("{name} = {name} - {step}"),
            ),
        };
        let (start, test, increment, index) = match self.random.below(6) {
            0 if is_signed => (
                format!("{bound} - 1"),
                format!("{name} >= 0"),
                down,
                name.clone(),
            ),
            1 if is_signed || step == 1 => {
                (bound, format!("{name} > 0"), down, format!("({name} - 1)"))
            }
            2 if is_signed || trips > 0 => (
                "0".into(),
                format!("{name} <= {bound} - 1"),
                up,
                name.clone(),
            ),
            3 if step == 1 => ("0".into(), format!("{name} != {bound}"), up, name.clone()),
            4 => (
                "3".into(),
                format!("{name} < {bound} + 3"),
                up,
                format!("({name} - 3)"),
            ),
            _ => ("0".into(), format!("{name} < {bound}"), up, name.clone()),
        };
        let is_outside = self.language == Language::C && self.one_in(4);
        let (declaration, declared) = match is_outside {
            true => (Some(format!("{ty} {name};")), String::new()),
            false => (None, format!("{ty} ")),
        };
        Loop {
            is_plain: is_signed && !is_outside && index == name,
            declaration,
            head: format!("for ({declared}{name} = {start}; {test}; {increment})"),
            index,
            ty,
        }
    }

    /// A loop of at most so many iterations that begins at the variable of the loop around it.
    pub(crate) fn triangular_loop(&mut self, outer: &Loop, trips: usize) -> Loop {
        let name = self.fresh("i");
        let Loop { index, ty, .. } = outer;
        Loop {
            declaration: None,
            head: format!("for ({ty} {name} = {index}; {name} < {trips}; {name}++)"),
            index: name,
            ty,
            is_plain: true,
        }
    }
}
