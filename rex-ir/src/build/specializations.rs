//! Classes that a template is for some arguments: `template <> struct Box<int> { ... };`.
//!
//! They are classes of their own, which scopes know by their names with the arguments. Without one, the template stands for what it is with any arguments.

use rex_syntax::kind::{Field, Kind};
use rex_syntax::{TextRange, lex};
use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::Builder;
use super::names::{last_component, without_arguments};
use crate::symbol::{ScopeId, SymbolId};
use crate::ty::RecordId;

/// The static members of what templates are for some of their arguments, by the name of the template and their own.
///
/// Which of them a name with arguments means only the compiler knows.
pub(super) type PartialMembers = FxHashMap<(SmolStr, SmolStr), Vec<SymbolId>>;

impl Builder<'_> {
    /// Declares a class that a template is for some arguments, by its name with them.
    pub(super) fn declare_specialization(&mut self, scope: ScopeId, name: &str, symbol: SymbolId) {
        self.scopes
            .declare(&self.symbols, scope, class_name(name), symbol);
    }

    /// The class that a name with template arguments means, if the template is a class of its own for them.
    pub(super) fn specialization(&self, name: &str, at: TextRange) -> Option<RecordId> {
        if !name.contains('<') {
            return None;
        }
        let name = class_name(name);
        let symbol = self.scopes.resolve_type(&self.symbols, &name, at)?;
        self.types.record(self.symbols[symbol].ty)
    }

    /// Remembers a static member of what a template is for some of its arguments.
    pub(super) fn note_member_of_specialization(
        &mut self,
        class: RecordId,
        member: SymbolId,
        is_of_template: bool,
    ) {
        let class = &self.types.records[class];
        if is_of_template && class.is_specialization() {
            let template = without_arguments(&class.name).into();
            let name = self.symbols[member].name.clone();
            let members = self.partial_members.entry((template, name));
            members.or_default().push(member);
        }
    }

    /// The static members of this name of what a template is for some of its arguments.
    pub(super) fn members_of_specializations(
        &self,
        template: RecordId,
        name: &str,
    ) -> impl Iterator<Item = SymbolId> {
        let class = self.types.records[template].name.clone();
        let members = match self.partial_members.is_empty() {
            true => None,
            false => self.partial_members.get(&(class, name.into())),
        };
        members.into_iter().flatten().copied()
    }

    /// What else the name of a static member of a template may mean with arguments.
    pub(super) fn specializations_of_member(
        &self,
        member: SymbolId,
    ) -> impl Iterator<Item = SymbolId> {
        let template = self.static_members.get(&member).map(|known| known.record);
        let name = &self.symbols[member].name;
        template
            .into_iter()
            .flat_map(|template| self.members_of_specializations(template, name))
    }

    /// Whether a class is what a template is for arguments that are all given.
    pub(super) fn is_full_specialization(&self, class: RecordId) -> bool {
        let class = &self.types.records[class];
        let Some(body) = class.body.filter(|_| class.is_specialization()) else {
            return false;
        };
        let node = self.unit.tree.root().smallest_at(body);
        let head = node
            .ancestors()
            .find(|outer| outer.kind() == Kind::TemplateDeclaration);
        let parameters = head.and_then(|head| head.field(Field::Parameters));
        parameters.is_some_and(|list| list.children().next().is_none())
    }

    /// The class that a name means which may have template arguments: that of these arguments, or the template.
    pub(super) fn class_with_arguments(&self, name: &str, at: TextRange) -> Option<RecordId> {
        self.specialization(name, at).or_else(|| {
            let plain = without_arguments(name);
            let class = last_component(&plain);
            let symbol = self.scopes.resolve_type(&self.symbols, class, at)?;
            self.types.record(self.symbols[symbol].ty)
        })
    }
}

/// The name of a class without qualifiers, and with the arguments in one spelling: `Box<Key*,8>` of `a::Box< b::Key *, 8 >`.
pub(super) fn class_name(name: &str) -> SmolStr {
    let name = last_component(name);
    let tokens: Vec<&str> = lex::significant_tokens(name, lex::whole(name))
        .map(|token| token.text(name))
        .filter(|word| !matches!(*word, "typename" | "struct" | "class" | "union" | "enum"))
        .collect();
    let is_word = |text: &str| text.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let mut spelled = String::new();
    for (idx, text) in tokens.iter().enumerate() {
        let is_of_qualifier = *text == "::" || (tokens.get(idx + 1) == Some(&"::"));
        if is_of_qualifier {
            continue;
        }
        if is_word(text) && spelled.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            spelled.push(' ');
        }
        spelled.push_str(text);
    }
    spelled.into()
}

#[cfg(test)]
mod tests {
    use super::class_name;

    #[test]
    fn spellings_of_one_class_are_the_same() {
        assert_eq!(class_name("a::Box< b::Key *, 8 >"), "Box<Key*,8>");
        assert_eq!(class_name("Box<struct Key*,8>"), "Box<Key*,8>");
        assert_eq!(class_name("Box<unsigned  long>"), "Box<unsigned long>");
    }
}
