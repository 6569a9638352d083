//! Names that lead to kernels of templates.
//!
//! Most functions are reached by their names. Constructors, destructors, operators, conversions and virtual functions are not: their class carries them, whatever
//! has that class as a member or a base, and, where an operator may do it, every object of such a class.

mod headers;

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex;
use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::Builder;
use super::instances::{Words, declared_names};
use super::types::declared_name;
use crate::item::FunctionId;
use crate::region::Region;
use crate::symbol::SymbolKind;

/// Names that lead to an instantiation.
#[derive(Default)]
pub(super) struct Carriers {
    /// Functions.
    functions: FxHashSet<SmolStr>,
    /// Classes with a member function that is reached without its name, and aliases of them.
    classes: FxHashSet<SmolStr>,
    /// Data members and variables of file scope of such classes.
    objects: FxHashSet<SmolStr>,
    /// An operator, a conversion or a destructor leads to a kernel: any use of an object may.
    by_use: bool,
}

impl Carriers {
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn contains(&self, word: &SmolStr) -> bool {
        self.functions.contains(word) || self.classes.contains(word) || self.objects.contains(word)
    }

    /// Whether any use of an object of one of the classes may lead to a kernel.
    pub(super) fn by_use(&self) -> bool {
        self.by_use
    }

    /// A member function of a class.
    fn add_member(&mut self, name: &SmolStr, class: &str, is_virtual: bool) {
        let is_named = is_word(name);
        if name == class || is_virtual || !is_named {
            self.classes.insert(class.into());
        }
        self.by_use |= !is_named && name != class && !is_virtual;
        if is_named {
            self.functions.insert(name.clone());
        }
    }

    fn len(&self) -> usize {
        self.functions.len() + self.classes.len() + self.objects.len() + usize::from(self.by_use)
    }
}

/// A class, an alias or a data member, with the text that decides whether it is one that carries.
enum Declared<'t> {
    /// Members and bases of a class.
    Class(&'t str, Vec<TextRange>),
    Alias(&'t str, TextRange),
    Member(Vec<&'t str>, TextRange),
}

impl<'u> Builder<'u> {
    pub(super) fn carriers(&self) -> Carriers {
        let mut carriers = Carriers::default();
        for (_, region) in self.regions.iter() {
            if self.functions[region.function].is_template() {
                self.add_carrier(region.function, &mut carriers);
            }
            if !region.deduced.is_empty() {
                carriers.functions.extend(self.lambda_around(region));
            }
        }
        if carriers.is_empty() {
            return carriers;
        }
        let declared = self.declared_types();
        let mut of_headers = self.declared_by_headers();
        loop {
            let before = carriers.len();
            carriers.add_of_headers(&mut of_headers);
            for (id, function) in self.functions.iter() {
                if function.is_template() && self.mentions(id, &carriers) {
                    self.add_carrier(id, &mut carriers);
                }
            }
            self.spread(&declared, &mut carriers);
            if carriers.len() == before {
                return carriers;
            }
        }
    }

    /// From the classes to what is made of them.
    fn spread(&self, declared: &[Declared<'u>], carriers: &mut Carriers) {
        let leads = |range: &TextRange, classes: &FxHashSet<SmolStr>| {
            let mut words = self.words().of(*range);
            words.any(|(_, word)| classes.contains(&word))
        };
        for found in declared {
            match found {
                Declared::Class(name, ranges) => {
                    if ranges.iter().any(|range| leads(range, &carriers.classes)) {
                        carriers.classes.insert((*name).into());
                    }
                }
                Declared::Alias(name, range) => {
                    if leads(range, &carriers.classes) {
                        carriers.classes.insert((*name).into());
                    }
                }
                Declared::Member(names, range) => {
                    if carriers.by_use && leads(range, &carriers.classes) {
                        let names = names.iter().map(|name| SmolStr::from(*name));
                        carriers.objects.extend(names);
                    }
                }
            }
        }
        if !carriers.by_use {
            return;
        }
        for (_, symbol) in self.symbols.iter() {
            let is_one = symbol.kind == SymbolKind::Global
                && symbol
                    .declaration
                    .is_some_and(|range| leads(&range, &carriers.classes));
            if is_one {
                carriers.objects.insert(symbol.name.clone());
            }
        }
        for (_, function) in self.functions.iter() {
            let returned = TextRange::new(
                function.specifiers.start(),
                function.parameters.start().max(function.specifiers.start()),
            );
            if is_word(&function.name) && leads(&returned, &carriers.classes) {
                carriers.functions.insert(function.name.clone());
            }
        }
    }

    /// Classes with their members and bases, data members and aliases of the unit.
    fn declared_types(&self) -> Vec<Declared<'u>> {
        let unit = self.unit;
        let mut declared = Vec::new();
        for node in unit.tree.root().descendants() {
            match node.kind() {
                Kind::ClassSpecifier | Kind::StructSpecifier => {
                    declared.extend(class_with_parts(node));
                }
                Kind::FieldDeclaration => {
                    declared.push(Declared::Member(
                        declared_names(node).collect(),
                        node.range(),
                    ));
                }
                Kind::AliasDeclaration => {
                    if let Some(name) = node.field(Field::Name) {
                        declared.push(Declared::Alias(name.text(), node.range()));
                    }
                }
                Kind::TypeDefinition => {
                    for declarator in node.fields(Field::Declarator) {
                        if let Some(name) = declared_name(declarator) {
                            declared.push(Declared::Alias(name.text(), node.range()));
                        }
                    }
                }
                _ => {}
            }
        }
        declared
    }

    /// The variable that holds the lambda around a region: calls of it instantiate the kernel, if it is a generic one.
    fn lambda_around(&self, region: &Region) -> Option<SmolStr> {
        let mut node = self
            .unit
            .tree
            .root()
            .smallest_at(self.constructs[region.construct].range);
        let mut in_lambda = false;
        loop {
            match node.kind() {
                Kind::LambdaExpression => in_lambda = true,
                Kind::InitDeclarator if in_lambda => {
                    let name = declared_name(node.field(Field::Declarator)?)?;
                    return Some(name.text().into());
                }
                Kind::FunctionDefinition => return None,
                _ => {}
            }
            node = node.parent()?;
        }
    }

    fn add_carrier(&self, id: FunctionId, carriers: &mut Carriers) {
        let function = &self.functions[id];
        let class = function
            .class
            .as_deref()
            .map(|class| class.split('<').next().unwrap_or(class).trim());
        match class {
            Some(class) => carriers.add_member(&function.name, class, function.is_virtual()),
            None if is_word(&function.name) => {
                carriers.functions.insert(function.name.clone());
            }
            // An operator outside the class of its operands.
            None => {
                let operands = self.words().of(function.parameters);
                let classes: Vec<SmolStr> = operands
                    .map(|(_, word)| word)
                    .filter(|word| self.is_class_of_unit(word))
                    .collect();
                carriers.classes.extend(classes);
                carriers.by_use = true;
            }
        }
    }

    fn is_class_of_unit(&self, name: &str) -> bool {
        self.types
            .records
            .iter()
            .any(|(_, record)| record.body.is_some() && record.name == name)
    }

    /// Whether the text of a function, behind its name, has one of the names.
    pub(super) fn mentions(&self, id: FunctionId, carriers: &Carriers) -> bool {
        let function = &self.functions[id];
        let start = match carriers.by_use {
            true => function.parameters.start(),
            false => function.declarator_end,
        };
        self.words()
            .of(TextRange::new(start, function.range.end()))
            .any(|(_, word)| carriers.contains(&word))
    }

    /// The local variables and parameters of a function whose use may lead to a kernel.
    pub(super) fn carrying_objects(
        &self,
        id: FunctionId,
        carriers: &Carriers,
    ) -> FxHashSet<SmolStr> {
        let mut objects = FxHashSet::default();
        if !carriers.by_use {
            return objects;
        }
        let function = &self.functions[id];
        // What a parameter of the template stands for may be one of the classes.
        let heads = function.heads.iter().chain(&function.class_heads);
        let dependent: FxHashSet<SmolStr> = heads
            .flat_map(|head| type_parameters(&head.parameters))
            .collect();
        let whole = TextRange::new(function.parameters.start(), function.range.end());
        let declarations: Vec<Node<'u>> = self
            .unit
            .tree
            .root()
            .smallest_at(whole)
            .descendants()
            .filter(|node| whole.contains_range(node.range()))
            .filter(|node| is_declaration(node.kind()))
            .collect();
        loop {
            let before = objects.len();
            for node in &declarations {
                let is_carrying = |word: &SmolStr| {
                    carriers.contains(word) || dependent.contains(word) || objects.contains(word)
                };
                let mut words = self.words().of(deciding_text(*node));
                if is_generic_parameter(*node) || words.any(|(_, word)| is_carrying(&word)) {
                    let names = declared_names(*node).map(SmolStr::from);
                    objects.extend(names.collect::<Vec<SmolStr>>());
                }
            }
            if objects.len() == before {
                return objects;
            }
        }
    }

    pub(super) fn words(&self) -> Words<'_> {
        Words {
            source: self.source,
            macros: &self.unit.macros,
        }
    }
}

/// Whether a function's name is one that a call spells.
fn is_word(name: &str) -> bool {
    name.bytes()
        .all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
}

fn class_with_parts(node: Node<'_>) -> Option<Declared<'_>> {
    let name = node.field(Field::Name)?;
    let body = node.field(Field::Body)?;
    let name = match name.kind() {
        Kind::TemplateType => name.field(Field::Name)?,
        _ => name,
    };
    let members = body
        .children()
        .filter(|child| child.kind() == Kind::FieldDeclaration);
    let bases = node
        .children()
        .filter(|child| child.kind() == Kind::BaseClassClause);
    let ranges = members.chain(bases).map(|part| part.range()).collect();
    Some(Declared::Class(name.text(), ranges))
}

fn is_declaration(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Declaration
            | Kind::ParameterDeclaration
            | Kind::OptionalParameterDeclaration
            | Kind::VariadicParameterDeclaration
            | Kind::ForRangeLoop
    )
}

/// The text that decides the type of what a declaration declares.
fn deciding_text(node: Node<'_>) -> TextRange {
    let Some(ty) = node.field(Field::Type) else {
        return node.range();
    };
    if ty.kind() != Kind::PlaceholderTypeSpecifier && ty.text() != "auto" {
        return ty.range();
    }
    match node.kind() {
        Kind::ForRangeLoop => node.field(Field::Right).unwrap_or(ty).range(),
        _ => node.range(),
    }
}

/// `auto x`, as a parameter.
fn is_generic_parameter(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        Kind::ParameterDeclaration | Kind::VariadicParameterDeclaration
    ) && node
        .field(Field::Type)
        .is_some_and(|ty| ty.text().contains("auto"))
}

/// The types among the parameters of a template: `typename T, int N` has `T`.
fn type_parameters(parameters: &str) -> Vec<SmolStr> {
    let whole = TextRange::up_to(rex_syntax::TextSize::of(parameters));
    let words: Vec<&str> = lex::identifiers(parameters, whole)
        .map(|at| &parameters[at])
        .collect();
    words
        .windows(2)
        .filter(|pair| matches!(pair[0], "typename" | "class"))
        .map(|pair| pair[1].into())
        .collect()
}
