//! `declare reduction`, and which operation a clause means for a variable.

use rex_syntax::TextRange;
use rex_syntax::diag::Code;
use rex_syntax::omp::clause::{Argument, Clause};
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use super::constructs::{split_top_level, sub_range};
use super::names::{namespaces_around, qualifies, split_qualifier};
use crate::program::{DeclaredReduction, ReductionInitializer};
use crate::region::ReductionOperation;
use crate::symbol::SymbolId;
use crate::ty::{Category, TypeId, TypeKind};

/// How a clause names a reduction that the program declares.
#[derive(PartialEq, Eq)]
enum Naming {
    /// `reduction(merge : s)`
    Plain,
    /// `reduction(geometry::merge : s)`
    Qualified,
}

impl Builder<'_> {
    /// `name : type, type : combiner`
    pub(super) fn read_declared_reduction(
        &mut self,
        at: TextRange,
        argument: TextRange,
        initializer: Option<&Clause>,
    ) {
        let parts = split_top_level(self.text(argument), ':');
        // The combiner may hold colons of its own (`a ? b : c`).
        let [name, types, combiner, rest @ ..] = parts.as_slice() else {
            return;
        };
        let combiner = &(combiner.0, rest.last().map_or(combiner.1, |part| part.1));
        let place = |(start, end): (usize, usize)| sub_range(argument, start, end);
        let types_text = self.text(place(*types));
        let mut read = Vec::new();
        for text in type_list(types_text) {
            let text = text.trim_matches(is_blank).to_owned();
            let text = self.without_decltype(text, argument);
            let ty = self.named_or_builtin_type(&text, argument);
            read.push(ty);
        }
        let initializer = initializer.and_then(|clause| {
            let whole = match &clause.argument {
                Argument::Raw(range) => *range,
                _ => return None,
            };
            let text = self.text(whole);
            let trimmed = text.trim_start_matches(is_blank);
            let lead = text.len() - trimmed.len();
            Some(match trimmed.strip_prefix("omp_priv") {
                Some(rest) if rest.trim_start_matches(is_blank).starts_with('=') => {
                    let value = text.find('=').map_or(0, |at| at + 1);
                    ReductionInitializer::Value(sub_range(whole, value, text.len()))
                }
                Some(rest) if rest.trim_start_matches(is_blank).starts_with(['(', '{']) => {
                    ReductionInitializer::Value(sub_range(
                        whole,
                        lead + "omp_priv".len(),
                        text.len(),
                    ))
                }
                _ => ReductionInitializer::Call(whole),
            })
        });
        let name = SmolStr::from(self.text(place(*name)).trim_matches(is_blank));
        let mut key = name.clone();
        let mut n_same = 1;
        while self.declared_reductions.contains_key(&key) {
            n_same += 1;
            key = format_smolstr!("{name}_{n_same}");
        }
        let around = self.unit.tree.root().smallest_at(at);
        let namespace = namespaces_around(around)
            .iter()
            .map(|name| format!("{name}::"))
            .collect::<String>();
        let declared = DeclaredReduction {
            name,
            key: key.clone(),
            at,
            namespace: namespace.into(),
            scope: self.scope_names(at),
            types: read,
            combiner: place(*combiner),
            initializer,
            is_overloaded: false,
        };
        self.declared_reductions.insert(key, declared);
    }

    /// A type's text with the types of variables that it names inside `decltype`: the operation stands where these variables do not.
    fn without_decltype(&self, text: String, at: TextRange) -> String {
        const WORD: &str = "decltype";
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once(WORD) {
            let operand = after.trim_start().strip_prefix('(');
            let operand = operand.and_then(|operand| operand.split_once(')'));
            let symbol =
                operand.and_then(|(name, _)| self.scopes.resolve(&self.symbols, name.trim(), at));
            out.push_str(before);
            rest = after;
            match (symbol, operand) {
                (Some(symbol), Some((_, behind)))
                    if !self.types.mentions_auto(self.symbols[symbol].ty) =>
                {
                    out.push_str(&self.types.spell(self.symbols[symbol].ty));
                    rest = behind;
                }
                _ => out.push_str(WORD),
            }
        }
        out + rest
    }

    /// The reduction that the program declares for an identifier or operator and the variable's type: the last one that is visible.
    ///
    /// Which one is meant for a type that only the compiler knows is left to it.
    pub(super) fn declared_operation(
        &mut self,
        clause: &Clause,
        symbol: SymbolId,
    ) -> Option<ReductionOperation> {
        let ty = self.reduced_type(symbol);
        let candidates = self.visible_reductions(clause, ty);
        let has_type = |idx: &&usize| {
            let mut types = self.declared_reductions[**idx].types.iter();
            types.any(|known| self.is_same_class_or_type(*known, ty))
        };
        if let Some(exact) = candidates.iter().rfind(has_type) {
            let key = self.declared_reductions[*exact].key.clone();
            return Some(ReductionOperation::Declared(key));
        }
        let last = &mut self.declared_reductions[*candidates.last()?];
        let is_number = matches!(
            self.types.category(ty),
            Category::Scalar | Category::WideScalar
        );
        if is_number && ReductionOperation::of_operator(&last.name).is_some() {
            return None;
        }
        last.is_overloaded = true;
        Some(ReductionOperation::Declared(last.key.clone()))
    }

    /// The reduction that the program declares for the type of a pointer that a clause lists without elements.
    pub(super) fn operation_of_pointers(
        &self,
        clause: &Clause,
        symbol: SymbolId,
    ) -> Option<ReductionOperation> {
        let types = &self.types;
        let ty = types.object_type(self.symbols[symbol].ty);
        if types.category(ty) != Category::Pointer {
            return None;
        }
        let candidates = self.visible_reductions(clause, ty);
        let spelled = types.declare_mutable(ty, "");
        let is_meant = |idx: &&usize| {
            let mut known = self.declared_reductions[**idx].types.iter();
            known.any(|known| types.declare_mutable(types.object_type(*known), "") == spelled)
        };
        let found = candidates.iter().rfind(is_meant)?;
        let key = self.declared_reductions[*found].key.clone();
        Some(ReductionOperation::Declared(key))
    }

    /// The type that a variable, an array or what a pointer points to is made of.
    fn reduced_type(&self, symbol: SymbolId) -> TypeId {
        let types = &self.types;
        let element = |ty| types.innermost_element(types.object_type(ty));
        let ty = element(self.symbols[symbol].ty);
        types.desugar(match types.get(types.desugar(ty)).kind {
            TypeKind::Pointer(to) => element(to),
            _ => ty,
        })
    }

    /// The declared reductions that a clause names, in order; those beside the class that they are for are found like its functions.
    fn visible_reductions(&self, clause: &Clause, ty: TypeId) -> Vec<usize> {
        let class = self.types.record(ty);
        let class = class.and_then(|record| self.types.records[record].body);
        let all = self.declared_reductions.values().enumerate();
        all.filter(|(_, declared)| {
            let Some(naming) = self.naming(declared, clause) else {
                return false;
            };
            let scope = self.scopes.scope(self.scopes.innermost(declared.at)).range;
            let sees = |place: TextRange| scope.contains_range(place);
            let is_seen =
                naming == Naming::Qualified || sees(clause.range) || class.is_some_and(sees);
            declared.at.start() < clause.range.start() && is_seen
        })
        .map(|(idx, _)| idx)
        .collect()
    }

    /// How a clause names a declared reduction, if it does.
    fn naming(&self, declared: &DeclaredReduction, clause: &Clause) -> Option<Naming> {
        let words = clause.modifiers().iter();
        let mut words = words.map(|modifier| self.text(modifier.word));
        words.find_map(|word| match split_qualifier(word) {
            Some((qualifier, plain)) => (plain.trim() == declared.name
                && qualifies(qualifier, &declared.scope))
            .then_some(Naming::Qualified),
            None => (word == declared.name).then_some(Naming::Plain),
        })
    }

    /// Whether two names, perhaps in different namespaces, are of one type. Classes of one template differ in their arguments.
    fn is_same_class_or_type(&self, declared: TypeId, used: TypeId) -> bool {
        let types = &self.types;
        let declared = types.desugar(types.innermost_element(types.object_type(declared)));
        let [one, other] = [declared, used].map(|ty| types.declare_mutable(ty, ""));
        let record = types.record(declared);
        let has_arguments = one.contains('<') || other.contains('<');
        one == other || (record.is_some() && record == types.record(used) && !has_arguments)
    }

    /// What the word before the colon of a `reduction` clause means.
    pub(super) fn reduction_operation(&mut self, clause: &Clause) -> Option<ReductionOperation> {
        let word = clause
            .modifiers()
            .iter()
            .map(|modifier| self.text(modifier.word))
            .rfind(|word| {
                !matches!(
                    *word,
                    "default" | "inscan" | "task" | "private" | "original"
                )
            })?;
        if let Some(operation) = ReductionOperation::of_operator(word) {
            return Some(operation);
        }
        let declared = self.declared_reductions.values();
        let mut named = declared.filter(|declared| self.naming(declared, clause).is_some());
        let Some(declared) = named.next() else {
            let text = word.to_string();
            self.report(
                Code::ReductionOperand,
                clause.range,
                format!(
                    "`{text}` is neither a reduction operator nor declared by `declare reduction`"
                ),
                "use `+`, `*`, `min`, `max` or another operator, or declare the reduction where the construct sees it",
            );
            return None;
        };
        Some(ReductionOperation::Declared(declared.key.clone()))
    }
}

/// The types of a list; commas between the arguments of a template separate none.
fn type_list(text: &str) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    let mut depth = 0;
    for (start, end) in split_top_level(text, ',') {
        let part = &text[start..end];
        match list.last_mut().filter(|_| depth > 0) {
            Some(open) => *open = format!("{open},{part}"),
            None => list.push(part.to_string()),
        }
        let count = |c: char| i32::try_from(part.matches(c).count()).unwrap_or_default();
        depth += count('<') - count('>');
    }
    list.iter().map(|ty| ty.trim().to_string()).collect()
}

/// What stands between the words of a directive: its lines may go on.
pub(super) fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\\'
}
