//! Local arrays whose extents are known at run time: CUDA has none.

use rex_ir::expr::{BinaryOp, Expr};
use rex_ir::kernel::{ArrayOwner, Plan, Prologue};
use rex_ir::program::Program;
use rex_ir::region::{CapturedObject, Transport};
use rex_ir::symbol::{Symbol, SymbolId, SymbolKind};
use rex_ir::ty::{TypeId, TypeKind};
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::Field;
use rex_syntax::{TextRange, lex};
use smol_str::{SmolStr, format_smolstr};

use super::plan::Planner;

impl Planner<'_> {
    /// The declaration of a local variable length array in memory that the threads of a block share.
    pub(super) fn sized_array(&mut self, symbol: SymbolId) -> Option<Prologue> {
        self.refuse_value(symbol);
        let mut array = self.sized(symbol)?;
        let Prologue::SizedArray {
            element,
            extents,
            owner,
            ..
        } = &mut array
        else {
            return None;
        };
        *owner = match self.host_names(symbol, *element) {
            None => ArrayOwner::Team,
            Some(names) => {
                let size = extents
                    .iter()
                    .fold(Expr::SizeOfType(*element), |size, extent| {
                        size.binary(BinaryOp::Mul, extent.clone())
                    });
                let bytes = Expr::Call("rex_shared_bytes", [size].into());
                let before = self.shared_bytes.take();
                self.shared_bytes = Some(match &before {
                    Some(before) => before.clone().binary(BinaryOp::Add, bytes),
                    None => bytes,
                });
                self.shared_names.extend(names);
                ArrayOwner::TeamShared(before.unwrap_or(Expr::Int(0)))
            }
        };
        Some(array)
    }

    /// The variables in the extents of an array, if the host can compute its size at the launch and the device can compute the sizes of
    /// all such arrays before it where it is declared.
    fn host_names(&self, array: SymbolId, element: TypeId) -> Option<Vec<(SmolStr, SymbolId)>> {
        let program = self.program;
        let region = self.region()?;
        let place = program.constructs[region.construct].range;
        let found = &program.symbols[array];
        let at = found.declared_at?;
        if let Some(record) = program.types.record(element) {
            let record = &program.types.records[record];
            let is_local = record.body.is_some_and(|body| place.contains_range(body));
            if record.is_untagged || is_local {
                return None;
            }
        }
        let resolve = |name: &str, at| program.scopes.resolve(&program.symbols, name, at);
        let is_captured_value = |symbol| {
            region.captures.iter().any(|capture| {
                capture.object == CapturedObject::Variable(symbol)
                    && capture.transport == Transport::Literal
                    && !capture.may_be_written
                    && program.symbols[symbol].spelled.is_none()
            })
        };
        let mut names = Vec::new();
        for extent in program.types.extents(found.ty) {
            let Expr::Words(text) = &extent else {
                return None;
            };
            if text.contains(['(', '[', '=']) {
                return None;
            }
            let whole = TextRange::up_to(rex_syntax::TextSize::of(text.as_str()));
            for name in lex::identifiers(text, whole) {
                let name = &text[name];
                if program.macro_at(name, at).is_some() {
                    let mut inner = program.macro_names(name, at).into_iter();
                    if inner.any(|inner| {
                        resolve(&inner, at).is_some_and(|s| program.symbols[s].kind.is_variable())
                    }) {
                        return None;
                    }
                    continue;
                }
                match resolve(name, at) {
                    Some(symbol) if program.symbols[symbol].kind == SymbolKind::Enumerator => {}
                    Some(symbol) if is_captured_value(symbol) => {
                        names.push((SmolStr::from(name), symbol));
                    }
                    _ => return None,
                }
            }
        }
        let are_visible = self
            .shared_names
            .iter()
            .all(|(name, symbol)| resolve(name, at) == Some(*symbol));
        are_visible.then_some(names)
    }

    /// A list of values for such an array would be lost.
    fn refuse_value(&mut self, symbol: SymbolId) {
        let found = &self.program.symbols[symbol];
        let value = found
            .initializer
            .filter(|_| is_sized_array(self.program, found));
        let Some(value) = value else { return };
        let name = &found.name;
        let diagnostic = Diagnostic::new(
            Code::UnsupportedStatement,
            self.program.at(value),
            format!("`{name}`, whose size is known at run time, has an initializer"),
        )
        .with_help("assign its elements in a loop");
        self.errors.push(diagnostic);
    }

    fn sized(&self, symbol: SymbolId) -> Option<Prologue> {
        let types = &self.program.types;
        let found = &self.program.symbols[symbol];
        is_sized_array(self.program, found).then(|| Prologue::SizedArray {
            name: found.name.clone(),
            element: types.innermost_element(found.ty),
            extents: types.extents(found.ty),
            named: self.named_extents(symbol),
            owner: ArrayOwner::Thread,
        })
    }

    /// A declaration of such arrays and of other variables, as several.
    fn split(&self, declaration: TextRange) -> Option<Vec<(TextRange, Plan)>> {
        let program = self.program;
        let node = program.unit.tree.root().smallest_at(declaration);
        let declarators = node.fields(Field::Declarator);
        let start = declarators.first()?.range().start();
        let specifiers = program.text(TextRange::new(declaration.start(), start));
        if node.range() != declaration || specifiers.contains('{') {
            return None;
        }
        let mut pieces = Vec::new();
        let mut last: Option<(TextRange, bool)> = None;
        for declarator in declarators {
            let at = declarator.range();
            let mut declared = program.declared_by(declaration);
            let symbol = declared.find(|it| {
                let name = program.symbols[*it].declared_at;
                name.is_some_and(|name| at.contains_range(name))
            })?;
            let array = self.sized(symbol);
            let is_array = array.is_some();
            match last {
                None if is_array => {
                    pieces.push((TextRange::new(declaration.start(), start), Plan::Nothing));
                }
                None => {}
                Some((before, was_array)) => {
                    let words = match (was_array, is_array) {
                        (false, false) => ",".into(),
                        (false, true) => SmolStr::new_static(";"),
                        (true, true) => SmolStr::default(),
                        (true, false) => SmolStr::from(specifiers),
                    };
                    let gap = TextRange::new(before.end(), at.start());
                    pieces.push((gap, Plan::Words(format_smolstr!("{words} "))));
                }
            }
            if let Some(array) = array {
                pieces.push((at, Plan::Declare(vec![array])));
            }
            last = Some((at, is_array));
        }
        Some(pieces)
    }

    fn named_extents(&self, symbol: SymbolId) -> Vec<(SmolStr, Expr)> {
        let named = self.program.extents.get(&symbol).into_iter().flatten();
        named
            .map(|(name, words)| (name.clone(), Expr::Words(words.clone())))
            .collect()
    }

    /// Puts declarations of a thread's own arrays into a text.
    pub(super) fn replace_sized_arrays(
        &mut self,
        range: TextRange,
        replacements: &mut Vec<(TextRange, Plan)>,
    ) {
        let program = self.program;
        let is_replaced = |at: TextRange, replacements: &[(TextRange, Plan)]| {
            replacements
                .iter()
                .any(|(place, _)| place.contains_range(at))
        };
        let all = &self.facts.sized_arrays;
        let first = all.partition_point(|(_, at)| at.start() < range.start());
        let inside = all[first..]
            .iter()
            .take_while(|(_, at)| at.start() < range.end())
            .filter(|(_, at)| range.contains_range(*at));
        let mut before = None;
        for (symbol, declaration) in inside {
            if before.replace(*declaration) == Some(*declaration)
                || is_replaced(*declaration, replacements)
            {
                continue;
            }
            let mut declared: Vec<SymbolId> = program.declared_by(*declaration).collect();
            declared.sort_by_key(|it| program.symbols[*it].declared_at.map(|at| at.start()));
            if let Some((_, construct)) = program.constructs_in(*declaration).next() {
                self.unsupported(
                    construct,
                    "it stands in the declaration of an array whose size is known at run time: compute the size in front of it",
                );
                continue;
            }
            for it in &declared {
                self.refuse_value(*it);
            }
            let arrays: Option<Vec<Prologue>> =
                declared.into_iter().map(|it| self.sized(it)).collect();
            if let Some(arrays) = arrays {
                replacements.push((*declaration, Plan::Declare(arrays)));
            } else if let Some(pieces) = self.split(*declaration) {
                replacements.extend(pieces);
            } else {
                let name = program.name(*symbol);
                let diagnostic = Diagnostic::new(
                    Code::UnsupportedStatement,
                    program.at(*declaration),
                    format!("`{name}`, whose size is known at run time, is declared together with other variables"),
                )
                .with_help("give it a declaration of its own");
                self.errors.push(diagnostic);
            }
        }
        replacements.sort_by_key(|(place, _)| place.start());
    }
}

/// Local variable length arrays with their declarations, in source order.
pub(super) fn sized_arrays(program: &Program) -> Vec<(SymbolId, TextRange)> {
    let mut arrays: Vec<(SymbolId, TextRange)> = program
        .symbols
        .iter()
        .filter(|(_, symbol)| is_sized_array(program, symbol))
        .filter_map(|(id, symbol)| Some((id, symbol.declaration?)))
        .collect();
    arrays.sort_by_key(|(_, declaration)| declaration.start());
    arrays
}

fn is_sized_array(program: &Program, symbol: &Symbol) -> bool {
    let types = &program.types;
    let is_array = matches!(
        types.get(types.desugar(symbol.ty)).kind,
        TypeKind::Array { .. }
    );
    symbol.kind == SymbolKind::Local && is_array && types.is_variably_modified(symbol.ty)
}
