//! Which variables of the device only running code can construct.
//!
//! The compiler computes what variables begin with as far as C++ says so. For the rest hosts run code before `main`; images have none, so that a kernel has to
//! construct these variables. What cannot be told counts as running code: a variable that is constructed without need is right, too.

use std::cell::RefCell;
use std::collections::BTreeSet;

use indexmap::IndexSet;
use rex_ir::headers;
use rex_ir::item::Function;
use rex_ir::names::{self, Name};
use rex_ir::program::{Program, device_place};
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::{Category, Record, RecordId, TypeId, TypeKind};
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::source::Language;
use rex_syntax::{TextRange, lex};
use rustc_hash::FxHashSet;
use smol_str::SmolStr;

/// How deep classes and their members are nested that are looked at.
const MAX_DEPTH: u32 = 16;

/// Those of the device's variables that begin with what only running code can compute.
pub(super) fn constructed(
    program: &Program,
    variables: &IndexSet<SymbolId>,
) -> FxHashSet<SymbolId> {
    let mut known = FxHashSet::default();
    if program.language() != Language::Cxx {
        return known;
    }
    let mut waiting: Vec<SymbolId> = variables.iter().copied().collect();
    waiting.sort_by_key(|symbol| device_place(&program.symbols[*symbol]));
    // Most values name what is declared before them.
    loop {
        let n_known = known.len();
        waiting.retain(|symbol| {
            let needs_code = needs_code(program, *symbol, &known);
            if needs_code {
                known.extend(program.redeclarations(*symbol));
            }
            !needs_code
        });
        if known.len() == n_known {
            return known;
        }
    }
}

fn needs_code(program: &Program, symbol: SymbolId, known: &FxHashSet<SymbolId>) -> bool {
    if known.contains(&symbol) {
        return true;
    }
    // No kernel knows all instantiations: these begin where they are used first.
    let member = program.static_members.get(&symbol);
    if member.is_some_and(|member| member.is_of_template) {
        return false;
    }
    let found = &program.symbols[symbol];
    // Where a reference is defined, a kernel binds it.
    if program.types.is_reference(found.ty) {
        return !program.is_constexpr(symbol);
    }
    if program.is_external(symbol) || program.is_constexpr(symbol) {
        return false;
    }
    let computed = match program
        .types
        .get(program.types.innermost_element(found.ty))
        .is_const
    {
        true => Computed::Const,
        false => Computed::Nothing,
    };
    needs_code_of(program, symbol, computed, known)
}

/// Whether running code begins a static variable of a function of C++, which the device's compiler takes only if it computes the value itself.
pub(super) fn begins_static_local(
    program: &Program,
    symbol: SymbolId,
    known: &FxHashSet<SymbolId>,
) -> bool {
    let types = &program.types;
    let found = &program.symbols[symbol];
    let element = types.innermost_element(found.ty);
    let may_be_any_class = types.category(element) == Category::Dependent;
    let ends = types.classes_of(element).into_iter().any(|class| {
        let body = types.records[class].body;
        body.is_some_and(|body| program.text(body).contains('~'))
    });
    let is_object = match types.is_reference(found.ty) {
        true => !is_bound_to_static(program, symbol, known),
        false => may_be_any_class || ends,
    };
    let names = found
        .initializer
        .map(|value| names::in_text(program.source(), value));
    let mut names = names.into_iter().flatten();
    let reads_own_object = names.any(|name| {
        let meant = names::meaning(program, name);
        program.text(name.plain) == "this"
            || meant.is_some_and(|inner| program.symbols[inner].kind == SymbolKind::Field)
    });
    !program.is_constexpr(symbol)
        && (is_object || reads_own_object || needs_code_of(program, symbol, Computed::All, known))
}

/// Whether running code begins a static member of a class template, each instantiation where it is named first.
pub(super) fn begins_member_of_template(
    program: &Program,
    symbol: SymbolId,
    known: &FxHashSet<SymbolId>,
) -> bool {
    let member = program.static_members.get(&symbol);
    member.is_some_and(|member| member.is_of_template && !member.is_constant)
        && !program.types.is_reference(program.symbols[symbol].ty)
        && !program.is_constexpr(symbol)
        && needs_code_of(program, symbol, Computed::All, known)
}

/// Whether a reference is bound to a whole object that is always there.
fn is_bound_to_static(program: &Program, symbol: SymbolId, known: &FxHashSet<SymbolId>) -> bool {
    let value = program.symbols[symbol].initializer;
    let names = value.map_or(Vec::new(), |value| names::in_text(program.source(), value));
    let [name] = names.as_slice() else {
        return false;
    };
    let is_static = |inner: SymbolId| {
        let found = &program.symbols[inner];
        matches!(found.kind, SymbolKind::Global | SymbolKind::StaticLocal)
            && !program.types.is_reference(found.ty)
            && !known.contains(&inner)
    };
    Some(name.whole()) == value && names::meaning(program, *name).is_some_and(is_static)
}

fn needs_code_of(
    program: &Program,
    symbol: SymbolId,
    computed: Computed,
    known: &FxHashSet<SymbolId>,
) -> bool {
    let found = &program.symbols[symbol];
    let begun = Begun {
        program,
        known,
        symbol,
        computed,
        is_listed: found
            .initializer
            .is_some_and(|value| program.text(value).trim_start().starts_with('{')),
        seen: &RefCell::default(),
        depth: 0,
    };
    let is_object = !program.types.is_reference(found.ty);
    is_object && begun.by_class(found.ty)
        || found.initializer.is_some_and(|value| begun.by_value(value))
}

/// Which functions and constructors the compiler runs for the value of a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Computed {
    /// None for sure: the variable can change.
    Nothing,
    /// Those that are `constexpr`, of a constant.
    Const,
    /// Those that are `constexpr`, if all constructors of a class are.
    All,
}

/// An object of static storage duration, or a part of one.
#[derive(Clone, Copy)]
struct Begun<'p> {
    program: &'p Program,
    /// The variables that are known to need code.
    known: &'p FxHashSet<SymbolId>,
    /// The variable.
    symbol: SymbolId,
    computed: Computed,
    /// A list initializes it, so that no member is left as it is.
    is_listed: bool,
    /// The classes that were looked at: a class may have many parts of another one.
    seen: &'p RefCell<FxHashSet<RecordId>>,
    depth: u32,
}

impl Begun<'_> {
    fn deeper(self) -> Option<Self> {
        (self.depth < MAX_DEPTH).then_some(Begun {
            depth: self.depth + 1,
            ..self
        })
    }

    /// Whether objects of the type have constructors that the compiler cannot run.
    fn by_class(self, ty: TypeId) -> bool {
        let types = &self.program.types;
        let element = types.innermost_element(ty);
        if matches!(
            types.category(element),
            Category::Scalar | Category::WideScalar | Category::Pointer | Category::Function
        ) {
            return false;
        }
        match types.record(element) {
            Some(record) if types.records[record].body.is_some() => self.by_record(record),
            _ => match &types.get(types.object_type(element)).kind {
                // A pointer to members, no object of the class.
                TypeKind::Named { spelling, .. } if spelling.contains("::*") => false,
                TypeKind::Named { spelling, .. } => self.by_words_of_headers(spelling),
                _ => false,
            },
        }
    }

    /// The same for a class of the file.
    fn by_record(self, record: RecordId) -> bool {
        if !self.seen.borrow_mut().insert(record) {
            return false;
        }
        let Some(deeper) = self.deeper() else {
            return false;
        };
        let types = &self.program.types;
        let class = &types.records[record];
        let has_constructor = class.method(&class.name).is_some();
        let is_computed = match self.computed {
            Computed::Nothing => false,
            Computed::Const => constexpr_constructors(self.program, class) > 0,
            Computed::All => {
                let all = class.methods.iter().filter(|it| it.name == class.name);
                constexpr_constructors(self.program, class) >= all.count()
            }
        };
        if class.has_table() || has_constructor && !is_computed {
            return true;
        }
        types.parts(record).any(|part| deeper.by_class(part))
            || types.bases(record).any(|base| deeper.by_record(base))
            || class
                .bases
                .iter()
                .any(|base| deeper.by_words_of_headers(&base.name))
            || !has_constructor && (deeper.by_members(class) || self.leaves_members(class))
    }

    /// Whether values that a class gives its members need running code.
    fn by_members(self, class: &Record) -> bool {
        let mut values = data_members(self.program, class)
            .flat_map(|(_, member)| member.fields(Field::DefaultValue));
        values.any(|value| self.by_value(value.range()))
    }

    /// Whether a class gives some of its members values and leaves others: no compiler has to compute what such objects begin with.
    fn leaves_members(self, class: &Record) -> bool {
        let is_bit_field_with_value = |member: &Node<'_>| {
            let mut clauses = member.children();
            clauses.any(|it| it.kind() == Kind::BitfieldClause && it.text().contains(['=', '{']))
        };
        let n_values: usize = data_members(self.program, class)
            .filter(|(body, member)| member.parent().is_some_and(|it| it.range() == *body))
            .map(|(_, member)| match is_bit_field_with_value(&member) {
                true => 1,
                false => member.fields(Field::DefaultValue).len(),
            })
            .sum();
        !self.is_listed && !class.is_union && n_values > 0 && n_values < class.fields.len()
    }

    /// Whether a value is none that the compiler computes.
    fn by_value(self, value: TextRange) -> bool {
        let Some(deeper) = self.deeper() else {
            return false;
        };
        let program = self.program;
        let source = program.source();
        let skipped = not_evaluated(program, value);
        let is_read = |at: TextRange| !skipped.iter().any(|range| range.contains_range(at));
        let names = names::in_text(source, value).into_iter();
        let mut names = names.filter(|name| is_read(name.plain));
        names.any(|name| deeper.by_name(&Word::of(program, name, value)))
            || members_called(source, value).any(|at| is_read(at) && !deeper.computes_member(at))
    }

    fn by_name(self, word: &Word<'_>) -> bool {
        let program = self.program;
        if matches!(word.text, "new" | "delete" | "throw") {
            return true;
        }
        let of_macro = program.macro_names(word.text, word.name.plain);
        if of_macro.iter().any(|inner| self.is_code_of_macro(inner)) {
            return true;
        }
        let is_called = is_called(word.rest);
        let resolved = names::meaning(program, word.name)
            .filter(|inner| *inner != self.symbol && !self.declares(*inner));
        match resolved.map(|inner| (inner, program.symbols[inner].kind)) {
            Some((inner, SymbolKind::Global)) => self.by_variable(inner, word),
            Some((inner, SymbolKind::StaticField | SymbolKind::StaticLocal)) => {
                self.by_variable(inner, word)
            }
            Some((inner, SymbolKind::Local | SymbolKind::Parameter)) => self.by_automatic(inner),
            Some((_, SymbolKind::Function)) => is_called && !self.is_constexpr(word.text),
            Some((_, SymbolKind::Field | SymbolKind::Enumerator | SymbolKind::TemplateValue)) => {
                false
            }
            Some((inner, SymbolKind::Type)) if self.is_argument(inner) => {
                word.rest.starts_with(['(', '{'])
            }
            _ if program.function_index.named(word.text).is_empty() => {
                self.by_class_named(word) || is_called && !word.is_computed(program)
            }
            _ => is_called && !self.is_constexpr(word.text),
        }
    }

    /// Whether the value of the variable itself declares this, in a lambda.
    fn declares(self, inner: SymbolId) -> bool {
        let symbols = &self.program.symbols;
        let value = symbols[self.symbol].initializer;
        let declared = symbols[inner].declared_at;
        value
            .zip(declared)
            .is_some_and(|(value, declared)| value.contains_range(declared))
    }

    /// Whether reading this variable is no constant: it needs code itself, or may have changed.
    fn by_variable(self, inner: SymbolId, word: &Word<'_>) -> bool {
        let program = self.program;
        if self.known.contains(&inner) {
            return true;
        }
        let is_address = word.before.ends_with('&') && !word.before.ends_with("&&");
        let types = &program.types;
        let ty = program.symbols[inner].ty;
        let is_array = matches!(
            types.get(types.object_type(ty)).kind,
            TypeKind::Array { .. }
        );
        let is_read = !is_address && (!is_array || word.rest.starts_with('['));
        let element = types.innermost_element(ty);
        // An operator of its class may take a constant.
        let is_object = types.category(element) == Category::Aggregate
            && !word.rest.starts_with(['.', '['])
            && !program.is_constexpr(inner);
        let is_const = types.get(element).is_const || program.is_constexpr(inner);
        is_read && (!is_const || is_object)
    }

    /// Whether a variable of a call is no constant.
    fn by_automatic(self, inner: SymbolId) -> bool {
        let program = self.program;
        let found = &program.symbols[inner];
        let types = &program.types;
        let is_scalar = types.category(found.ty) == Category::Scalar;
        let is_constant = types.get(found.ty).is_const && is_scalar;
        let value = found.initializer.filter(|_| is_constant);
        !program.is_constexpr(inner)
            && value.is_none_or(|value| self.deeper().is_none_or(|it| it.by_value(value)))
    }

    /// Whether a type is a parameter of a template, which may stand for a class.
    fn is_argument(self, inner: SymbolId) -> bool {
        let program = self.program;
        self.computed == Computed::All
            && program.types.category(program.symbols[inner].ty) == Category::Dependent
    }

    /// Whether a name begins an object of a class that has constructors.
    fn by_class_named(self, word: &Word<'_>) -> bool {
        if !word.rest.starts_with(['(', '{', '<']) {
            return false;
        }
        let records = &self.program.types.records;
        let mut own = records.iter();
        match own.find(|(_, class)| class.name == word.text && class.body.is_some()) {
            Some((record, _)) => self.by_record(record),
            None => self.by_words_of_headers(word.text),
        }
    }

    /// Whether words of a type mean a class of a header with constructors that the compiler cannot run, or an own one as its argument.
    fn by_words_of_headers(self, words: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut pending: Vec<SmolStr> = headers::names_of(words).map(SmolStr::new).collect();
        while let Some(name) = pending.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let records = &self.program.types.records;
            let mut own = records.iter();
            let own = own.find(|(_, class)| class.name == name && class.body.is_some());
            if let Some((record, _)) = own {
                if self.deeper().is_some_and(|deeper| deeper.by_record(record)) {
                    return true;
                }
                continue;
            }
            match headers::tag_declaration(&self.program.unit, &name) {
                Some(class) if constructs_by_code(&class, &name) => return true,
                Some(_) => {}
                None => pending.extend(
                    headers::type_declaration(&self.program.unit, &name)
                        .into_iter()
                        .flat_map(|text| {
                            headers::names_of(&text)
                                .map(SmolStr::new)
                                .collect::<Vec<_>>()
                        }),
                ),
            }
        }
        false
    }

    /// Whether a name in a macro is a function that the compiler does not compute.
    fn is_code_of_macro(self, name: &str) -> bool {
        let program = self.program;
        match program.function_index.named(name).is_empty() {
            true => !is_computed(program, name).unwrap_or(true),
            false => !self.is_constexpr(name),
        }
    }

    /// Whether the compiler computes a call of a member function: of a class of the file, as those of headers go with their objects.
    fn computes_member(self, at: TextRange) -> bool {
        let name = self.program.text(at);
        self.program.function_index.named(name).is_empty() || self.is_constexpr(name)
    }

    /// Whether the compiler computes a call of a function of the file.
    fn is_constexpr(self, name: &str) -> bool {
        let program = self.program;
        let named = program.function_index.named(name).iter();
        let mut named = named.map(|id| &program.functions[*id]);
        // What it gives then, running code does not.
        let asks_compiler = |function: &Function| {
            lex::identifiers(program.source(), function.body)
                .any(|at| program.text(at).ends_with("is_constant_evaluated"))
        };
        named.any(|function| {
            program.is_constexpr_function(function)
                && (self.computed != Computed::Nothing || asks_compiler(function))
        })
    }
}

/// A name in a value, and what stands around it.
struct Word<'t> {
    name: Name,
    text: &'t str,
    qualifier: &'t str,
    /// The text in front of it.
    before: &'t str,
    /// The text behind it.
    rest: &'t str,
}

impl<'t> Word<'t> {
    fn of(program: &'t Program, name: Name, value: TextRange) -> Self {
        let before = TextRange::new(value.start(), name.whole().start());
        let rest = TextRange::new(name.plain.end(), value.end());
        Word {
            name,
            text: program.text(name.plain),
            qualifier: program.text(name.qualifier),
            before: program.text(before).trim_end(),
            rest: program.text(rest).trim_start(),
        }
    }

    /// Whether the compiler computes a call of this function of a header.
    fn is_computed(&self, program: &Program) -> bool {
        let class = self.qualifier.trim_end_matches("::").rsplit("::").next();
        if let Some(class) = class.filter(|class| !class.is_empty())
            && let Some(text) = headers::tag_declaration(&program.unit, class)
        {
            return headers::declares_constexpr(&text, self.text);
        }
        // What no header declares as a function is a member of a template or a cast: `std::numeric_limits<int>::max()`, `double(n)`.
        let is_of_template = self.qualifier == "::" && self.before.ends_with('>');
        is_of_template || is_computed(program, self.text).unwrap_or(true)
    }
}

/// Whether a name with this text behind it is called, perhaps with arguments of a template.
fn is_called(rest: &str) -> bool {
    if rest.starts_with('(') {
        return true;
    }
    if !rest.starts_with('<') {
        return false;
    }
    let mut depth = 0;
    let end = rest.find(|c| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        depth == 0
    });
    end.is_some_and(|end| rest[end + 1..].trim_start().starts_with('('))
}

/// The names of member functions that a value calls.
fn members_called(source: &str, value: TextRange) -> impl Iterator<Item = TextRange> + '_ {
    let mut before = "";
    lex::significant_tokens(source, value).filter_map(move |token| {
        let is_member = matches!(before, "." | "->") && token.kind == lex::TokenKind::Identifier;
        before = token.text(source);
        let rest = &source[usize::from(token.range.end())..usize::from(value.end())];
        (is_member && is_called(rest.trim_start())).then_some(token.range)
    })
}

/// Whether the compiler computes calls of a function of headers. Host compilers know those of `<cmath>`, device compilers do not.
fn is_computed(program: &Program, name: &str) -> Option<bool> {
    let texts = headers::function_declarations(&program.unit, name);
    let is_constexpr = texts.iter().all(|text| text.contains("constexpr"));
    (!texts.is_empty()).then_some(is_constexpr)
}

/// The parts of a value that are not evaluated where the variable begins: operands of `sizeof`, bodies of lambdas that are not called.
fn not_evaluated(program: &Program, value: TextRange) -> Vec<TextRange> {
    let root = program.unit.tree.root();
    let nodes = root.smallest_at(value).subtree();
    let nodes = nodes.filter(|node| value.contains_range(node.range()));
    let ranges = nodes.filter_map(|node| match node.kind() {
        Kind::SizeofExpression | Kind::Decltype | Kind::Noexcept => Some(node.range()),
        Kind::LambdaExpression => {
            let source = program.source();
            let is_called = source[usize::from(node.range().end())..]
                .trim_start()
                .starts_with('(');
            let body = node.field(Field::Body).filter(|_| !is_called);
            body.map(|body| body.range())
        }
        _ => None,
    });
    ranges.collect()
}

/// Whether the text of a class has virtual functions or bases, a destructor with a body, or constructors none of which is `constexpr`.
///
/// A class with such a destructor is no literal type before C++20, and what it allocates since then ends with the value.
fn constructs_by_code(class: &str, name: &str) -> bool {
    let Some(open) = class.find('{') else {
        return false;
    };
    if headers::names_of(class).any(|word| word == "virtual") {
        return true;
    }
    let body = &class[open..];
    let mut has_constructor = false;
    let mut has_constexpr = false;
    let mut depth = 0u32;
    let mut is_constexpr = false;
    let mut before = "";
    for token in lex::significant_tokens(body, lex::whole(body)) {
        let word = token.text(body);
        match word {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 1 {
            let rest = body[usize::from(token.range.end())..].trim_start();
            if word == name && rest.starts_with('(') {
                let declaration = rest.find([';', '{']).map_or(rest, |end| &rest[..end]);
                let is_defaulted = declaration.trim_end().ends_with("default");
                let is_deleted = declaration.trim_end().ends_with("delete");
                match before {
                    "~" if !is_defaulted => return true,
                    "~" => {}
                    _ if !is_defaulted && !is_deleted => {
                        has_constructor = true;
                        has_constexpr |= is_constexpr;
                    }
                    _ => {}
                }
            }
            match word {
                "constexpr" => is_constexpr = true,
                ";" | "}" | ":" => is_constexpr = false,
                _ => {}
            }
        }
        before = word;
    }
    has_constructor && !has_constexpr
}

/// The declarations of data members in the body of a class and of those in it, each with that body.
pub(super) fn data_members<'p>(
    program: &'p Program,
    class: &Record,
) -> impl Iterator<Item = (TextRange, Node<'p>)> {
    let nodes = class.body.into_iter().flat_map(move |body| {
        let members = program.unit.tree.root().smallest_at(body).subtree();
        members.map(move |member| (body, member))
    });
    nodes.filter(|(body, node)| {
        node.kind() == Kind::FieldDeclaration
            && body.contains_range(node.range())
            && !node.children().any(|child| child.text() == "static")
    })
}

/// How many constructors of a class are `constexpr`.
fn constexpr_constructors(program: &Program, record: &Record) -> usize {
    let Some(body) = record.body else {
        return 0;
    };
    let mut follows = false;
    let names = lex::identifiers(program.source(), body);
    let constructors = names.filter(|at| {
        let word = program.text(*at);
        let found = follows && word == record.name;
        follows = word == "constexpr" || (follows && matches!(word, "explicit" | "inline"));
        found
    });
    constructors.count()
}
