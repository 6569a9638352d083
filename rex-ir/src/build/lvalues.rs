//! List items that begin with no variable: `c ? a : b`, `f()`, `f()[0:n]`.

use rex_syntax::TextRange;
use rex_syntax::cst::{Node, parse_fragment};
use rex_syntax::diag::{Code, Diagnostic, Severity};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex;
use rex_syntax::omp::clause::{Clause, Section};
use rex_syntax::source::Language;
use smol_str::format_smolstr;

use super::Builder;
use crate::map::{Lvalue, MapItem, MapKind, PathStep, StepKind};
use crate::region::{Capture, CapturedObject, Transport};
use crate::symbol::{Qualifier, Symbol, SymbolKind};
use crate::ty::{Category, Meaning, TypeId, TypeKind};

/// What to write in place of an expression that is no list item.
const HELP: &str =
    "name a variable, a member or an array section, for instance `p[0:n]` or `s.p[0:n]`";

impl Builder<'_> {
    /// An expression as the pointer that holds its address, and the steps from there.
    pub(super) fn read_lvalue(
        &mut self,
        at: TextRange,
        section: Option<&Section>,
        clause: &Clause,
        kind: MapKind,
    ) -> Option<(CapturedObject, TypeId, Vec<PathStep>)> {
        let text = self.text(at).trim();
        let problem = match kind {
            _ if text.starts_with("omp_") => Some(HELP),
            MapKind::IsDevicePtr
            | MapKind::HasDeviceAddr
            | MapKind::UseDevicePtr
            | MapKind::UseDeviceAddr => Some("name a variable, whose address the region uses"),
            _ => {
                let mut modifiers = clause.modifiers().iter();
                let is_iterated = modifiers.any(|it| self.text(it.word) == "iterator");
                is_iterated.then_some("write the items as sections of variables")
            }
        };
        let problem = problem.or_else(|| self.not_an_object(text, section.is_some(), at));
        if let Some(help) = problem {
            let diagnostic = Diagnostic::new(
                Code::MapListItem,
                self.at(at),
                format!("`{text}` is not a list item that rex can map"),
            )
            .with_help(help);
            self.diagnostics.push(diagnostic);
            return None;
        }
        let spelling = match section {
            Some(_) => format!("__typeof__(({text})[0])"),
            None => format!("__typeof__({text})"),
        };
        let object = self.types.named(spelling, Meaning::Unknown);
        let pointer = self.types.plain(TypeKind::Pointer(object));
        let symbol = self.symbols.alloc(Symbol {
            name: format_smolstr!("rex_lvalue_{}", self.lvalues.len()),
            kind: SymbolKind::Local,
            ty: pointer,
            declared_at: None,
            initializer: None,
            declaration: None,
            qualifier: Qualifier::default(),
            spelled: None,
        });
        let is_pointer = section.is_some();
        self.lvalues.insert(symbol, Lvalue { at, is_pointer });
        let step = PathStep {
            kind: match section {
                Some(section) => StepKind::Section(section.clone()),
                None => StepKind::Deref,
            },
            ty: object,
            follows_pointer: true,
        };
        Some((CapturedObject::Variable(symbol), pointer, vec![step]))
    }

    /// What to write instead, if an expression is no object, or points to none.
    fn not_an_object(&self, text: &str, is_pointer: bool, at: TextRange) -> Option<&'static str> {
        let tree = parse_fragment(
            &format!("void rex_function() {{ {text}; }}"),
            self.unit.language,
        );
        let mut nodes = tree.root().descendants();
        let statement = nodes.find(|node| node.kind() == Kind::ExpressionStatement);
        let Some(expression) = statement.and_then(|statement| statement.children().next()) else {
            return Some(HELP);
        };
        if expression.subtree().any(|node| node.is_error()) {
            return Some(HELP);
        }
        match is_pointer {
            true => None,
            false => self.is_no_lvalue(expression, at),
        }
    }

    fn is_no_lvalue(&self, node: Node<'_>, at: TextRange) -> Option<&'static str> {
        let is_cxx = self.unit.language == Language::Cxx;
        match node.kind() {
            Kind::ParenthesizedExpression => match node.children().next() {
                Some(inner) => self.is_no_lvalue(inner, at),
                None => Some(HELP),
            },
            Kind::Identifier
            | Kind::QualifiedIdentifier
            | Kind::SubscriptExpression
            | Kind::FieldExpression => None,
            Kind::PointerExpression => match node.field(Field::Operator) {
                Some(operator) if operator.text() == "*" => None,
                _ => Some(HELP),
            },
            Kind::ConditionalExpression if is_cxx => {
                let arms = [Field::Consequence, Field::Alternative];
                let arms = arms.iter().filter_map(|arm| node.field(*arm));
                arms.into_iter().find_map(|arm| self.is_no_lvalue(arm, at))
            }
            Kind::ConditionalExpression => {
                Some("in C it is a value, not an object: write `*(c ? &a : &b)`")
            }
            Kind::CallExpression if is_cxx => {
                let name = node.field(Field::Function)?;
                let symbol = self.scopes.resolve(&self.symbols, name.text(), at)?;
                let found = &self.symbols[symbol];
                let is_reference = matches!(self.types.get(found.ty).kind, TypeKind::Reference(_));
                let is_value = found.kind == SymbolKind::Function
                    && !is_reference
                    && matches!(
                        self.types.category(found.ty),
                        Category::Scalar | Category::Pointer
                    );
                is_value.then_some(
                    "the function returns a value: return a reference, or write `*f()` or `f()[0:n]` if it is a pointer",
                )
            }
            Kind::CallExpression => Some(
                "in C a function returns a value: write `*f()` or `f()[0:n]` if it is a pointer",
            ),
            _ => Some(HELP),
        }
    }

    /// Items of expressions give a region nothing by name: it has copies of the scalars in them, and what it writes to those is lost.
    pub(super) fn check_copies_of_lvalues(&mut self, maps: &[MapItem], captures: &[Capture]) {
        for item in maps {
            let CapturedObject::Variable(root) = item.root else {
                continue;
            };
            let Some(lvalue) = self.lvalues.get(&root).copied() else {
                continue;
            };
            let copied = lex::identifiers(self.source, lvalue.at).find(|name| {
                let named = self.scopes.resolve(&self.symbols, self.text(*name), *name);
                captures.iter().any(|capture| {
                    let is_named = named.map(CapturedObject::Variable) == Some(capture.object);
                    is_named
                        && capture.is_implicit
                        && capture.may_be_written
                        && matches!(capture.transport, Transport::Literal | Transport::Copy)
                })
            });
            let Some(name) = copied else { continue };
            let name = self.text(name);
            let diagnostic = Diagnostic::new(
                Code::MapListItem,
                self.at(item.at),
                format!("the region writes to its own copy of `{name}`, not to the object that this item maps"),
            )
            .with_severity(Severity::Warning)
            .with_note("only a list item that is a variable says how the region gets that variable")
            .with_help(format!("map `{name}`"));
            self.diagnostics.push(diagnostic);
        }
    }
}
