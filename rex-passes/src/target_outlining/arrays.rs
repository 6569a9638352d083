//! Local arrays whose extents are known at run time: CUDA has none.

use rex_ir::expr::{BinaryOp, Expr};
use rex_ir::kernel::{Plan, Prologue};
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::TypeKind;
use rex_syntax::TextRange;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::Kind;

use super::plan::Planner;

impl Planner<'_> {
    /// The declaration of a local variable length array in memory that the threads of a block share.
    pub(super) fn sized_array(&self, symbol: SymbolId) -> Option<Prologue> {
        self.sized(symbol, true)
    }

    fn sized(&self, symbol: SymbolId, is_shared: bool) -> Option<Prologue> {
        let program = self.program;
        let types = &program.types;
        let found = &program.symbols[symbol];
        let is_array = matches!(
            types.get(types.desugar(found.ty)).kind,
            TypeKind::Array { .. }
        );
        if found.kind != SymbolKind::Local || !is_array || !types.is_variably_modified(found.ty) {
            return None;
        }
        Some(Prologue::SizedArray {
            name: found.name.clone(),
            element: types.innermost_element(found.ty),
            extents: super::extents_of(program, found.ty),
            is_shared,
        })
    }

    /// Puts declarations of a thread's own arrays, and their sizes, into a text.
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
        let arrays: Vec<(SymbolId, TextRange)> = program
            .symbols
            .iter()
            .filter_map(|(id, symbol)| Some((id, symbol.declaration?)))
            .filter(|(_, declaration)| range.contains_range(*declaration))
            .collect();
        for (symbol, declaration) in &arrays {
            if is_replaced(*declaration, replacements) {
                continue;
            }
            let Some(array) = self.sized(*symbol, false) else {
                continue;
            };
            let is_alone = arrays
                .iter()
                .filter(|(_, other)| other == declaration)
                .count()
                == 1;
            if is_alone {
                replacements.push((*declaration, Plan::Declare(vec![array])));
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
        for node in program
            .unit
            .tree
            .root()
            .smallest_at(range)
            .descendants()
            .filter(|node| node.kind() == Kind::SizeofExpression)
        {
            let at = node.range();
            if !range.contains_range(at) || is_replaced(at, replacements) {
                continue;
            }
            if let Some(size) = self.size_of(at) {
                replacements.push((at, Plan::Value(size)));
            }
        }
        replacements.sort_by_key(|(place, _)| place.start());
    }

    /// The value of `sizeof` applied to an array of run-time size, which is a view in device code.
    fn size_of(&self, at: TextRange) -> Option<Expr> {
        let program = self.program;
        let types = &program.types;
        let operand = program.text(at).trim_start().strip_prefix("sizeof")?;
        let name = operand
            .trim()
            .trim_start_matches('(')
            .trim_end_matches(')')
            .trim();
        let symbol = program.scopes.resolve(&program.symbols, name, at)?;
        let ty = program.symbols[symbol].ty;
        let is_array = matches!(types.get(types.desugar(ty)).kind, TypeKind::Array { .. });
        if !is_array || !types.is_variably_modified(ty) {
            return None;
        }
        let element = Expr::SizeOfType(types.innermost_element(ty));
        Some(
            super::extents_of(program, ty)
                .into_iter()
                .fold(element, |size, extent| size.binary(BinaryOp::Mul, extent)),
        )
    }
}
