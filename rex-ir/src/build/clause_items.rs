//! What the list items of clauses must be in device constructs: objects of a type that the clause takes, each listed once.

use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::Kind;
use rex_syntax::omp::clause::{Clause, ClauseName, ListItem, Locator};
use rex_syntax::omp::directive::Leaf;
use rex_syntax::source::Language;
use rex_syntax::{TextRange, lex};
use rustc_hash::FxHashMap;

use super::Builder;
use super::clause_numbers::only_expression;
use super::clause_rules::{sections, whole_variables};
use crate::symbol::{SymbolId, SymbolKind};
use crate::ty::{Category, Meaning, TypeId, TypeKind};

/// Types that list items of a clause must have, in words; and what to write if one has another.
fn types_taken(name: ClauseName) -> Option<(&'static str, &'static str)> {
    match name {
        ClauseName::Linear => Some((
            "integers and pointers",
            "compute it from the loop's variable in the body",
        )),
        ClauseName::Aligned => Some(("pointers and arrays", "leave it out of the clause")),
        _ => None,
    }
}

impl Builder<'_> {
    /// Reports list items that their clause does not take.
    pub(super) fn wrong_items(
        &mut self,
        clause: &Clause,
        threadprivate: &FxHashMap<SymbolId, TextRange>,
    ) -> Vec<Diagnostic> {
        let mut wrong = match clause.name {
            ClauseName::Depend => self.wrong_dependences(clause),
            name => types_taken(name)
                .map(|(types, help)| self.items_of_other_types(clause, types, help))
                .unwrap_or_default(),
        };
        wrong.extend(self.threadprivate_items(clause, threadprivate));
        wrong
    }

    /// Variables of which each host thread has its own, in clauses that say how others get at them.
    fn threadprivate_items(
        &self,
        clause: &Clause,
        threadprivate: &FxHashMap<SymbolId, TextRange>,
    ) -> Vec<Diagnostic> {
        use ClauseName::*;
        let is_about_variables = matches!(
            clause.name,
            Private
                | Firstprivate
                | Lastprivate
                | Shared
                | Linear
                | Reduction
                | InReduction
                | TaskReduction
                | Map
                | To
                | From
                | IsDevicePtr
                | HasDeviceAddr
                | UseDevicePtr
                | UseDeviceAddr
        );
        if !is_about_variables {
            return Vec::new();
        }
        let listed = self
            .variables_of(clause)
            .filter_map(|(at, symbol)| Some((at, symbol, *threadprivate.get(&symbol)?)));
        let spelling = clause.name.spelling();
        listed
            .map(|(at, symbol, declared)| {
                let name = &self.symbols[symbol].name;
                let headline = format!("`{name}` is threadprivate: `{spelling}` cannot name it");
                Diagnostic::new(Code::SharingConflict, self.at(at), headline)
                    .with_secondary(self.at(declared), "says this")
                    .with_help("copy it to a variable in front of the construct, and name that")
            })
            .collect()
    }

    /// The variables that `threadprivate` directives list, with the directive of each.
    pub(super) fn threadprivate_variables(&self) -> FxHashMap<SymbolId, TextRange> {
        let directives = self.unit.directives.iter();
        let lists = directives
            .filter(|it| it.first() == Some(Leaf::Threadprivate))
            .filter_map(|it| Some((it.range, it.argument?)));
        let mut found = FxHashMap::default();
        for (directive, list) in lists {
            for name in lex::identifiers(self.source, list) {
                let symbol = self.scopes.resolve(&self.symbols, self.text(name), name);
                found.extend(symbol.map(|symbol| (symbol, directive)));
            }
        }
        found
    }

    fn items_of_other_types(&self, clause: &Clause, types: &str, help: &str) -> Vec<Diagnostic> {
        let spelling = clause.name.spelling();
        let wrong = whole_variables(clause).filter_map(|root| {
            let found = self.scopes.resolve(&self.symbols, self.text(root), root)?;
            let symbol = &self.symbols[found];
            let is_wrong = symbol.kind.is_variable()
                && match clause.name {
                    ClauseName::Linear => !self.may_be_linear(symbol.ty),
                    _ => !self.may_be_aligned(symbol.ty),
                };
            is_wrong.then(|| {
                let headline = format!("`{spelling}` takes {types}: `{}` is neither", symbol.name);
                Diagnostic::new(Code::ClauseSyntax, self.at(root), headline)
                    .with_note(format!("its type is `{}`", self.types.spell(symbol.ty)))
                    .with_help(help)
            })
        });
        wrong.collect()
    }

    fn may_be_linear(&self, ty: TypeId) -> bool {
        match &self.types.get(self.types.object_type(ty)).kind {
            TypeKind::Array { .. } => false,
            TypeKind::Named { meaning, spelling } => match meaning {
                Meaning::Float { .. } | Meaning::Record(_) => false,
                Meaning::WideArithmetic => spelling.contains("__int128"),
                _ => true,
            },
            TypeKind::Pointer(_) | TypeKind::Reference(_) | TypeKind::Function { .. } => true,
        }
    }

    fn may_be_aligned(&self, ty: TypeId) -> bool {
        match &self.types.get(self.types.object_type(ty)).kind {
            TypeKind::Named { meaning, .. } => matches!(
                meaning,
                Meaning::Alias(_) | Meaning::Dependent | Meaning::Auto | Meaning::Unknown
            ),
            _ => true,
        }
    }

    /// Items of `depend` that are no objects, or of which nothing is there.
    fn wrong_dependences(&mut self, clause: &Clause) -> Vec<Diagnostic> {
        let has = |word: &str| {
            let mut modifiers = clause.modifiers().iter();
            modifiers.any(|modifier| self.text(modifier.word) == word)
        };
        if has("depobj") {
            return self.wrong_dependence_objects(clause);
        }
        if ["sink", "source"].iter().any(|word| has(word)) {
            return Vec::new();
        }
        let takes_all_memory = has("out") || has("inout");
        let wrong = clause.items().iter().filter_map(|item| {
            let text = self.text(item.range);
            if text == "omp_all_memory" {
                let headline = "`omp_all_memory` stands for writes only";
                return (!takes_all_memory).then(|| {
                    Diagnostic::new(Code::ClauseSyntax, self.at(item.range), headline)
                        .with_help("write `depend(out: omp_all_memory)`, or name what is read")
                });
            }
            if let Some(length) = self.empty_section(item) {
                let headline = "a dependence on a section needs elements in it";
                let diagnostic = Diagnostic::new(Code::ClauseSyntax, self.at(length), headline);
                return Some(
                    diagnostic.with_help("write the number of elements that the task uses"),
                );
            }
            self.is_no_object(item).then(|| {
                let headline = format!("`{text}` is no object that a task could depend on");
                Diagnostic::new(Code::ClauseSyntax, self.at(item.range), headline)
                    .with_help("name a variable, a member, an element or a section of an array")
            })
        });
        wrong.collect()
    }

    /// Items of `depend(depobj: ..)` that hold no dependence.
    fn wrong_dependence_objects(&self, clause: &Clause) -> Vec<Diagnostic> {
        let wrong = self.variables_of(clause).filter(|(_, symbol)| {
            let ty = self.types.object_type(self.symbols[*symbol].ty);
            let is_known = matches!(
                self.types.category(ty),
                Category::Scalar | Category::WideScalar | Category::Pointer
            );
            let spelled = self.types.spell(self.symbols[*symbol].ty);
            is_known && !spelled.contains("omp_depend_t")
        });
        wrong
            .map(|(at, symbol)| {
                let symbol = &self.symbols[symbol];
                let headline = format!("`{}` holds no dependence", symbol.name);
                Diagnostic::new(Code::ClauseSyntax, self.at(at), headline)
                    .with_note(format!("its type is `{}`", self.types.spell(symbol.ty)))
                    .with_help("declare it as `omp_depend_t`, and set it with `depobj`")
            })
            .collect()
    }

    /// The length of a section that is zero.
    fn empty_section(&self, item: &ListItem) -> Option<TextRange> {
        let mut lengths = sections(&item.locator)
            .into_iter()
            .filter_map(|it| it.length);
        lengths.find(|length| self.constant_value(*length) == Some(0))
    }

    fn is_no_object(&mut self, item: &ListItem) -> bool {
        match &item.locator {
            Locator::Path(path) if path.steps.is_empty() => {
                let name = self.text(path.root);
                let found = self.scopes.resolve(&self.symbols, name, path.root);
                found.is_some_and(|found| {
                    matches!(
                        self.symbols[found].kind,
                        SymbolKind::Enumerator | SymbolKind::Function | SymbolKind::TemplateValue
                    )
                })
            }
            Locator::Path(_) | Locator::SectionOf(..) => false,
            Locator::Expression(at) => !self.has_macros(*at) && self.is_value(*at),
        }
    }

    /// Whether an expression is known to be a value and no object.
    fn is_value(&mut self, at: TextRange) -> bool {
        let tree = self.expression_tree(at);
        let Some(mut node) = only_expression(&tree) else {
            return false;
        };
        while node.kind() == Kind::ParenthesizedExpression {
            let Some(inner) = node.children().next() else {
                return false;
            };
            node = inner;
        }
        let is_c = self.unit.language == Language::C;
        match node.kind() {
            Kind::NumberLiteral
            | Kind::CharLiteral
            | Kind::True
            | Kind::False
            | Kind::SizeofExpression => true,
            // In C++, classes may have operators that give objects.
            Kind::BinaryExpression | Kind::UnaryExpression => {
                is_c || self.type_of_expression(at).is_some()
            }
            Kind::PointerExpression => is_c && node.text().starts_with('&'),
            Kind::CallExpression
            | Kind::CastExpression
            | Kind::ConditionalExpression
            | Kind::AssignmentExpression
            | Kind::UpdateExpression => is_c,
            _ => false,
        }
    }

    /// The list items of a clause that are whole variables.
    pub(super) fn variables_of(
        &self,
        clause: &Clause,
    ) -> impl Iterator<Item = (TextRange, SymbolId)> {
        whole_variables(clause).filter_map(|root| {
            let found = self.scopes.resolve(&self.symbols, self.text(root), root)?;
            self.symbols[found]
                .kind
                .is_variable()
                .then_some((root, found))
        })
    }
}
