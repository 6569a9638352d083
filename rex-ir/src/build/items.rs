//! File-scope items in source order.

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::{TextRange, TextSize};
use rustc_hash::FxHashMap;

use super::Builder;
use super::names::{function_name, last_component, without_arguments};
use super::types::{declared_name, function_declarator};
use crate::headers;
use crate::item::{FunctionId, Item, ItemKind};
use crate::symbol::{SymbolId, SymbolKind};

/// Whether a node is a guide for the deduction of template arguments: `Pair(double) -> Pair<float>;`
fn is_guide(node: Node<'_>) -> bool {
    let mut parts = node.children();
    let declarator = parts.find(|part| part.kind() == Kind::FunctionDeclarator);
    let names_type = |part: Node<'_>| part.kind() == Kind::TrailingReturnType;
    node.field(Field::Type).is_none() && declarator.is_some_and(|it| it.children().any(names_type))
}

/// `A::~A() = default;`
fn is_defaulted(node: Node<'_>) -> bool {
    let mut parts = node.children();
    node.kind() == Kind::FunctionDefinition
        && parts.any(|part| part.kind() == Kind::DefaultMethodClause)
}

/// What was read of the unit, by place.
struct Places {
    functions: FxHashMap<TextRange, FunctionId>,
    /// Static data members, by their names where they are defined.
    members: FxHashMap<TextRange, SymbolId>,
}

impl<'u> Builder<'u> {
    /// Classifies everything of file scope, preprocessor lines included.
    pub(super) fn read_items(&mut self) {
        let functions: FxHashMap<TextRange, FunctionId> = self
            .functions
            .iter()
            .map(|(id, function)| (function.range, id))
            .collect();
        let unit = self.unit;
        let members = self.static_members.keys().copied();
        let members = members
            .filter_map(|member| Some((self.symbols[member].declared_at?, member)))
            .collect();
        let known = Places { functions, members };
        let root = unit.tree.root();
        let mut items = self.items_of(root, &known);
        items.extend(self.preprocessor_items());
        let is_fragment = |include| headers::is_fragment(self.sources, unit, include);
        nest_by_position(&mut items, &is_fragment);
        self.items = items;
    }

    fn items_of(&self, parent: Node<'u>, known: &Places) -> Vec<Item> {
        let mut items = Vec::new();
        for node in parent.children() {
            let range = node.range();
            let kind = match node.kind() {
                Kind::Comment => continue,
                Kind::FunctionDefinition => match known.functions.get(&range) {
                    Some(function) => ItemKind::Function(*function),
                    None if is_defaulted(node) => ItemKind::Defaulted,
                    None => ItemKind::Other,
                },
                Kind::TemplateDeclaration => self.template_item(node, known),
                Kind::Declaration => self.declaration_item(node, known),
                Kind::TypeDefinition
                | Kind::AliasDeclaration
                | Kind::StructSpecifier
                | Kind::UnionSpecifier
                | Kind::ClassSpecifier
                | Kind::EnumSpecifier
                | Kind::UsingDeclaration
                | Kind::NamespaceAliasDefinition
                | Kind::ConceptDefinition => ItemKind::Type,
                Kind::TemplateInstantiation => instantiation_item(node),
                Kind::NamespaceDefinition | Kind::LinkageSpecification => match node
                    .field(Field::Body)
                {
                    Some(body) if matches!(body.kind(), Kind::DeclarationList) => ItemKind::Block {
                        open: TextRange::new(
                            range.start(),
                            body.range().start() + TextSize::of('{'),
                        ),
                        items: self.items_of(body, known),
                    },
                    Some(body) => match known.functions.get(&body.range()) {
                        Some(function) => ItemKind::Function(*function),
                        None => self.declaration_item(body, known),
                    },
                    None => ItemKind::Other,
                },
                // The grammar knows no guides outside of templates.
                Kind::Error if is_guide(node) => ItemKind::Type,
                _ => ItemKind::Other,
            };
            items.push(Item {
                range: self.with_semicolon(range),
                kind,
            });
        }
        items
    }

    fn template_item(&self, node: Node<'u>, known: &Places) -> ItemKind {
        if let Some(function) = known.functions.get(&node.range()) {
            return ItemKind::Function(*function);
        }
        if node.children().any(is_defaulted) {
            return ItemKind::Defaulted;
        }
        let declared = node
            .children()
            .filter(|child| child.kind() == Kind::Declaration && !is_guide(*child))
            .flat_map(|declaration| declaration.fields(Field::Declarator))
            .find(|declarator| function_declarator(*declarator).is_some());
        match declared.and_then(declared_name) {
            Some(name) => ItemKind::Prototype(function_name(name.text())),
            None => ItemKind::Type,
        }
    }

    fn declaration_item(&self, node: Node<'u>, known: &Places) -> ItemKind {
        let mut variables: Vec<SymbolId> = Vec::new();
        let mut prototype = None;
        for declarator in node.fields(Field::Declarator) {
            let Some(name) = declared_name(declarator) else {
                continue;
            };
            let symbol = match name.kind() {
                Kind::QualifiedIdentifier => known.members.get(&name.range()).copied(),
                _ => None,
            };
            let symbol = symbol
                .or_else(|| self.symbol_declared_at(name.range(), last_component(name.text())));
            let Some(symbol) = symbol else {
                continue;
            };
            match self.symbols[symbol].kind {
                SymbolKind::Function => prototype = Some(self.symbols[symbol].name.clone()),
                _ => variables.push(symbol),
            }
        }
        match (variables.is_empty(), prototype) {
            (true, Some(name)) => ItemKind::Prototype(name),
            (true, None) => ItemKind::Type,
            (false, _) => ItemKind::Variables(variables),
        }
    }

    fn symbol_declared_at(&self, range: TextRange, name: &str) -> Option<SymbolId> {
        let scope = self.scopes.scope(self.scopes.innermost(range));
        scope.names.get(name)?.declared_at(&self.symbols, range)
    }

    /// Class definitions end before their `;` in the tree, and before the attributes that may stand there.
    fn with_semicolon(&self, range: TextRange) -> TextRange {
        let end = usize::from(self.behind_attributes(range.end()));
        let rest = &self.source[end..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        if rest[blanks..].starts_with(';') && !self.text(range).ends_with(';') {
            let end = end + blanks + 1;
            TextRange::new(
                range.start(),
                TextSize::try_from(end).unwrap_or(range.end()),
            )
        } else {
            range
        }
    }

    fn preprocessor_items(&self) -> Vec<Item> {
        rex_syntax::pragma::directives(self.source)
            .into_iter()
            .filter(|directive| !self.unit.is_inactive(directive.range))
            .filter_map(|directive| {
                let kind = match directive.name(self.source) {
                    "include" | "include_next" | "import" => ItemKind::Include,
                    "define" | "undef" => ItemKind::Macro,
                    "pragma" if !self.is_omp_pragma(directive.range) => ItemKind::OtherDirective,
                    _ => return None,
                };
                Some(Item {
                    range: directive.range,
                    kind,
                })
            })
            .collect()
    }

    fn is_omp_pragma(&self, range: TextRange) -> bool {
        self.unit.directives_in(range).next().is_some()
            || self
                .text(range)
                .split_whitespace()
                .any(|word| word == "omp")
    }
}

/// `template int f<int>(int);`, or `template class Box<int>;`.
fn instantiation_item(node: Node<'_>) -> ItemKind {
    let declarator = node.field(Field::Declarator);
    let function = declarator.filter(|declarator| function_declarator(*declarator).is_some());
    match (function.and_then(declared_name), declarator) {
        (Some(name), _) => ItemKind::Instantiation(without_arguments(name.text()).into()),
        // Device code that names a variable instantiates it.
        (None, Some(_)) if !instantiates_class(node) => ItemKind::Other,
        (None, _) => ItemKind::Type,
    }
}

/// `template class Box<int>;`, whose name the grammar may take for that of a variable.
fn instantiates_class(node: Node<'_>) -> bool {
    let mut words = node.text().split_whitespace();
    words.any(|word| matches!(word, "class" | "struct" | "union"))
}

/// Sorts items by position and moves those inside a block into it; items inside functions and types stay part of their text.
fn nest_by_position(items: &mut Vec<Item>, is_fragment: &dyn Fn(TextRange) -> bool) {
    items.sort_by_key(|item| (item.range.start(), std::cmp::Reverse(item.range.end())));
    let mut sorted: Vec<Item> = Vec::new();
    for item in items.drain(..) {
        if let Some(Item { range, kind }) = sorted.last_mut()
            && range.contains_range(item.range)
        {
            match kind {
                ItemKind::Block { items, .. } => {
                    items.push(item);
                    continue;
                }
                // Macros defined inside a host function may be used by its regions: they stay visible.
                ItemKind::Function(_)
                    if match item.kind {
                        ItemKind::Macro => true,
                        ItemKind::Include => !is_fragment(item.range),
                        _ => false,
                    } =>
                {
                    sorted.push(item);
                    continue;
                }
                _ => continue,
            }
        }
        sorted.push(item);
    }
    for item in &mut sorted {
        if let ItemKind::Block { items, .. } = &mut item.kind {
            nest_by_position(items, is_fragment);
        }
    }
    *items = sorted;
}
