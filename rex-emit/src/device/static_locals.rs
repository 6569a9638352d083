//! Static variables of functions that running code begins.
//!
//! CUDA takes no such variable. So its function has room for the object, and a word that says how far it is; the first thread that comes constructs the object, and others wait for
//! it. The variable itself is a reference to the room, static as well, so that all code that may name the one may name the other:
//!
//! ```text
//! static H h(4);
//!
//! static rex_once<H> h__once;
//! static H &h = reinterpret_cast<H &>(h__once);
//! h__once.rex_begin([&](void *rex_at) { ::new (rex_at) H(4); });
//! ```
//!
//! Values stay where they are in the text, with what other parts of the compiler change in them.

use rex_ir::namer;
use rex_ir::program::Program;
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::{TypeId, TypeKind};
use rex_syntax::TextRange;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::layout::indent_at;
use smol_str::SmolStr;

use super::references::{is_behind_equals, reference_to};
use crate::common::classes;

/// What the code that constructs an object calls its place.
pub(super) const PLACE: &str = "rex_at";

/// What says how far a static member is.
pub(super) const PROGRESS: &str = "rex_begun";

/// What stands in place of the parts of such declarations in a range that are no values.
pub(super) fn words(program: &Program, range: TextRange) -> Vec<(TextRange, SmolStr)> {
    let begun = program.device_code.static_locals.iter();
    let declarations = begun.filter_map(|symbol| program.symbols[*symbol].declaration);
    let is_touched = |at: &TextRange| at.start() < range.end() && range.start() < at.end();
    let mut declarations: Vec<TextRange> = declarations.filter(is_touched).collect();
    declarations.dedup();
    let words = declarations
        .into_iter()
        .flat_map(|at| Declaration::new(program, at).words());
    words.filter(|(at, _)| range.contains_range(*at)).collect()
}

/// A declaration with a static variable that running code begins.
struct Declaration<'p> {
    program: &'p Program,
    at: TextRange,
    symbols: Vec<SymbolId>,
}

/// What stands around the value of a variable.
struct Around {
    before: String,
    after: String,
}

impl<'p> Declaration<'p> {
    fn new(program: &'p Program, at: TextRange) -> Declaration<'p> {
        let is_declared = |symbol: &SymbolId| {
            let found = &program.symbols[*symbol];
            found.kind == SymbolKind::StaticLocal && found.declaration == Some(at)
        };
        Declaration {
            program,
            at,
            symbols: program.declared_by(at).filter(is_declared).collect(),
        }
    }

    fn words(&self) -> Vec<(TextRange, SmolStr)> {
        let mut words = Vec::new();
        let mut start = self.at.start();
        let mut text = String::new();
        if let Some(defined) = self.defined_type() {
            words.push((TextRange::new(start, defined.start()), SmolStr::default()));
            start = defined.end();
            text = format!(";{}", self.line_break());
        }
        for symbol in &self.symbols {
            let Around { before, after } = self.around(*symbol);
            text.push_str(&before);
            if let Some(value) = self.program.symbols[*symbol].initializer {
                words.push((TextRange::new(start, value.start()), text.into()));
                start = value.end();
                text = String::new();
            }
            text.push_str(&after);
            if Some(symbol) != self.symbols.last() {
                text.push_str(&self.line_break());
            }
        }
        words.push((TextRange::new(start, self.at.end()), text.into()));
        words
    }

    /// The type that the declaration defines in front of its variables: `struct S { int x; }`.
    fn defined_type(&self) -> Option<TextRange> {
        let first = self.program.symbols[*self.symbols.first()?].declared_at?;
        let nodes = self.program.unit.tree.root().smallest_at(self.at).subtree();
        let is_type = |kind| {
            matches!(
                kind,
                Kind::StructSpecifier
                    | Kind::ClassSpecifier
                    | Kind::UnionSpecifier
                    | Kind::EnumSpecifier
            )
        };
        let mut types = nodes.filter(|node| {
            let range = node.range();
            self.at.contains_range(range)
                && range.end() <= first.start()
                && is_type(node.kind())
                && node.field(Field::Body).is_some()
        });
        types.next().map(|node| node.range())
    }

    /// What stands between two statements: they have lines of their own where the declaration has.
    fn line_break(&self) -> String {
        let source = self.program.source();
        let before = &source[..usize::from(self.at.start())];
        let line = before.rfind('\n').map_or(before, |end| &before[end + 1..]);
        match line.trim().is_empty() {
            true => format!("\n{}", indent_at(source, self.at.start())),
            false => " ".to_owned(),
        }
    }

    fn lines(&self, lines: &[String]) -> String {
        lines.join(&self.line_break())
    }

    fn around(&self, symbol: SymbolId) -> Around {
        let program = self.program;
        let types = &program.types;
        let found = &program.symbols[symbol];
        let local = Local {
            declaration: self,
            name: &found.name,
            ty: found.ty,
            shape: Shape::of(program, found.initializer),
        };
        if !program.device_code.static_locals.contains(&symbol) {
            let layout = program.layout_in_front(self.at);
            let equals = match found.initializer {
                Some(value) if is_behind_equals(program, value) => " = ",
                _ => "",
            };
            let declared = types.declare(found.ty, &found.name);
            return Around {
                before: format!("{layout}static {declared}{equals}"),
                after: ";".to_owned(),
            };
        }
        match types.get(found.ty).kind {
            TypeKind::Reference(to) => local.reference(to),
            _ if types.mentions_auto(found.ty) => local.deduced(),
            _ => local.object(),
        }
    }
}

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// There is none.
    Absent,
    /// `= 4`
    Expression,
    /// `(4)`
    Parentheses,
    /// `{4}`, `= {4}`
    Braces,
}

impl Shape {
    fn of(program: &Program, value: Option<TextRange>) -> Shape {
        let Some(value) = value else {
            return Shape::Absent;
        };
        let text = program.text(value);
        match is_behind_equals(program, value) {
            _ if text.starts_with('{') => Shape::Braces,
            true => Shape::Expression,
            false => Shape::Parentheses,
        }
    }

    /// What a value needs around it to stand behind a type or to be an object.
    fn parentheses(self) -> [&'static str; 2] {
        match self {
            Shape::Expression => ["(", ")"],
            Shape::Absent | Shape::Parentheses | Shape::Braces => ["", ""],
        }
    }
}

/// A static variable.
struct Local<'a> {
    declaration: &'a Declaration<'a>,
    name: &'a str,
    ty: TypeId,
    shape: Shape,
}

impl Local<'_> {
    fn program(&self) -> &Program {
        self.declaration.program
    }

    /// What stands in front of a type that the compiler deduces.
    fn qualifier(&self, ty: TypeId) -> &'static str {
        match self.program().types.get(ty).is_const {
            true => "const ",
            false => "",
        }
    }

    fn object(&self) -> Around {
        let types = &self.program().types;
        let ty = types.spell(self.ty);
        let object = reference_to(types, self.ty, self.name);
        let cast = reference_to(types, self.ty, "");
        let [open, close] = self.shape.parentheses();
        let is_list = self.shape == Shape::Braces;
        let new = classes::new_head(PLACE, &ty, is_list);
        self.begun([&ty, &object, &cast], &format!("{new}{open}"), close)
    }

    /// `static auto x = f();`
    fn deduced(&self) -> Around {
        let first = namer::static_local_value(self.name);
        let ty = format!("{}decltype({first}())", self.qualifier(self.ty));
        let reference = format!("{ty} &");
        let object = format!("{reference}{}", self.name);
        let statement = format!("::new ({PLACE}) rex_object<{ty}>({first}())");
        let Around { before, after } = self.begun([&ty, &object, &reference], &statement, "");
        let [open, close] = match self.shape {
            Shape::Braces => ["auto rex_value", "; return rex_value"],
            Shape::Absent | Shape::Expression | Shape::Parentheses => ["return ", ""],
        };
        let line_break = self.declaration.line_break();
        Around {
            before: format!("auto {first} = [&] {{ {open}"),
            after: format!("{close}; }};{line_break}{before}{after}"),
        }
    }

    /// What constructs an object, given its type, a reference to it with its name, and one without.
    fn begun(&self, [ty, object, cast]: [&str; 3], open: &str, close: &str) -> Around {
        let once = namer::static_local(self.name);
        let layout = self.program().layout_in_front(self.declaration.at);
        let lines = [
            format!("{layout}static rex_once<{ty}> {once};"),
            format!("static {object} = reinterpret_cast<{cast}>({once});"),
            format!("{once}.rex_begin([&](void *{PLACE}) {{ {open}"),
        ];
        Around {
            before: self.declaration.lines(&lines),
            after: format!("{close}; }});"),
        }
    }

    /// `static T &x = f();`
    fn reference(&self, to: TypeId) -> Around {
        let types = &self.program().types;
        let first = namer::static_local_value(self.name);
        let once = namer::static_local(self.name);
        let (ty, object) = match types.mentions_auto(to) {
            true => {
                let ty = format!("{}rex_referred<decltype({first}())>", self.qualifier(to));
                (ty.clone(), format!("{ty} &{}", self.name))
            }
            false => (types.spell(to), reference_to(types, to, self.name)),
        };
        // An object in parentheses is an object, not a value.
        let [open, close] = self.shape.parentheses();
        let lines = [
            format!("{close}; }};"),
            format!("static rex_once<rex_object<{ty}> *> {once};"),
            format!(
                "{once}.rex_begin([&](void *{PLACE}) {{ ::new ({PLACE}) (rex_object<{ty}> *)(rex_bind<{ty}, decltype({first}())>({first})); }});"
            ),
            format!("{object} = *{once}.rex_object();"),
        ];
        Around {
            before: format!("auto {first} = [&]() -> decltype(auto) {{ return {open}"),
            after: self.declaration.lines(&lines),
        }
    }
}
