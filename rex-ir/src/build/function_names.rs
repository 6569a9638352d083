//! `__func__` and its like in regions: the user's function, not the kernel.

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::source::Language;
use rex_syntax::{TextRange, lex};
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use super::names::squeeze;
use crate::item::{Function, FunctionId};
use crate::region::RegionId;

/// The words that name the function around them.
const WORDS: [&str; 3] = ["__func__", "__FUNCTION__", "__PRETTY_FUNCTION__"];

impl<'u> Builder<'u> {
    /// Writes the name of the user's function where a region asks for it. What macros ask for is defined for the kernel.
    pub(super) fn name_functions(&mut self) {
        let end = rex_syntax::TextSize::of(self.source);
        let macros = &self.unit.macros;
        let is_asking = |name: &SmolStr| {
            let definition = macros.lookup_at(name, end);
            definition.is_some_and(|it| WORDS.iter().any(|word| it.body.contains(word)))
        };
        let in_text = WORDS.iter().any(|word| self.source.contains(word));
        if !in_text && !macros.names_of_program().any(is_asking) {
            return;
        }
        let ids: Vec<RegionId> = self.regions.iter().map(|(id, _)| id).collect();
        for id in ids {
            let region = &self.regions[id];
            let Some(statement) = self.constructs[region.construct].statement else {
                continue;
            };
            let function = region.function;
            let is_in_lambda = self.innermost_callable(statement) == Some(Kind::LambdaExpression);
            for at in lex::identifiers(self.source, statement).collect::<Vec<_>>() {
                let word = self.text(at);
                if WORDS.contains(&word) {
                    let own = self.unit.tree.root().smallest_at(at);
                    let lambda = own
                        .ancestors()
                        .take_while(|outer| statement.contains_range(outer.range()))
                        .find(|outer| outer.kind() == Kind::LambdaExpression);
                    if lambda.is_none() {
                        let name = self.name_for(word, function, is_in_lambda);
                        self.conversions.push((at, format_smolstr!("\"{name}\"")));
                    }
                    continue;
                }
                for word in WORDS {
                    let known = &self.regions[id].function_words;
                    let is_known = known.iter().any(|(known, _)| known == word);
                    if !is_known && self.unit.macros.leads_to(self.text(at), at.start(), word) {
                        let name = self.name_for(word, function, is_in_lambda);
                        self.regions[id].function_words.push((word.into(), name));
                    }
                }
            }
        }
    }

    /// Whether a function or a lambda is the nearest around a place.
    fn innermost_callable(&self, at: TextRange) -> Option<Kind> {
        let own = self.unit.tree.root().smallest_at(at);
        own.callables_around().next().map(|node| node.kind())
    }

    fn name_for(&mut self, word: &str, function: FunctionId, is_in_lambda: bool) -> SmolStr {
        let is_pretty = word == "__PRETTY_FUNCTION__";
        let is_cxx = self.unit.language == Language::Cxx;
        let name = self.functions[function].name.clone();
        match (is_in_lambda, is_pretty) {
            (true, _) => "operator()".into(),
            (false, true) if is_cxx || self.is_clang() => self.signature(function),
            (false, _) => name,
        }
    }

    fn is_clang(&self) -> bool {
        self.unit.macros.is_ever_defined("__clang__")
    }

    /// A function's head as the host compiler prints it, but for what the parameters of templates are.
    fn signature(&self, id: FunctionId) -> SmolStr {
        let function: &Function = &self.functions[id];
        let node = self.unit.tree.root().smallest_at(function.parameters);
        let parameters: Vec<String> = node
            .children()
            .filter(|child| {
                matches!(
                    child.kind(),
                    Kind::ParameterDeclaration | Kind::OptionalParameterDeclaration
                )
            })
            .map(|parameter| self.type_of_declaration(parameter))
            .collect();
        let definition = node
            .ancestors()
            .find(|outer| outer.kind() == Kind::FunctionDefinition);
        let returns = definition.map_or(String::new(), |definition| {
            self.type_of_declaration(definition)
        });
        let mut path: Vec<&str> = function.namespaces.iter().map(SmolStr::as_str).collect();
        path.extend(
            function
                .membership
                .as_ref()
                .map(|of| of.class_path.as_str()),
        );
        path.push(&function.name);
        let qualifiers = self.text(TextRange::new(
            function.parameters.end(),
            function.declarator_end,
        ));
        let is_const = lex::tokens(qualifiers, lex::whole(qualifiers))
            .any(|token| token.text(qualifiers) == "const");
        let gap = match returns.is_empty() || returns.ends_with(['*', '&']) && self.is_clang() {
            true => "",
            false => " ",
        };
        let list = match parameters.is_empty() && self.unit.language == Language::C {
            true => "void".to_string(),
            false => parameters.join(", "),
        };
        let end = if is_const { " const" } else { "" };
        format_smolstr!("{returns}{gap}{}({list}){end}", path.join("::"))
    }

    /// The type in a declaration without the declared name.
    fn type_of_declaration(&self, declaration: Node<'u>) -> String {
        const STORAGE: [&str; 5] = ["inline", "extern", "virtual", "register", "explicit"];
        let Some(ty) = declaration.field(Field::Type) else {
            return String::new();
        };
        let declarator = declaration.field(Field::Declarator);
        let source = self.source;
        let end = declarator.map_or(ty.range().end(), |declarator| declarator.range().start());
        let start = declaration.range().start();
        let mut words: Vec<&str> = lex::significant_tokens(source, TextRange::new(start, end))
            .map(|token| token.text(source))
            .filter(|word| !STORAGE.contains(word))
            .collect();
        let is_free = declaration.kind() == Kind::FunctionDefinition
            && declaration
                .parent()
                .is_none_or(|outer| outer.kind() != Kind::FieldDeclarationList);
        words.retain(|word| !(is_free && *word == "static"));
        let mut text = squeeze(&words.join(" ")).replace(" :: ", "::");
        for (spaced, plain) in [(" < ", "<"), (" >", ">"), (" ,", ",")] {
            text = text.replace(spaced, plain);
        }
        if !self.is_clang() {
            text = gnu_integer(&text);
        }
        let signs: String = self.signs(declarator);
        match self.is_clang() && !signs.is_empty() {
            true => format!("{text} {signs}"),
            false => format!("{text}{signs}"),
        }
    }

    /// `*`, `&` and the brackets of arrays around a declared name.
    fn signs(&self, declarator: Option<Node<'u>>) -> String {
        let mut signs = String::new();
        let mut current = declarator;
        while let Some(node) = current {
            match node.kind() {
                Kind::PointerDeclarator | Kind::AbstractPointerDeclarator => signs.push('*'),
                Kind::ReferenceDeclarator => {
                    let is_rvalue = node.text().trim_start().starts_with("&&");
                    signs.push_str(if is_rvalue { "&&" } else { "&" });
                }
                // A parameter of array type is a pointer.
                Kind::ArrayDeclarator | Kind::AbstractArrayDeclarator => signs.push('*'),
                _ => break,
            }
            let inner = node.field(Field::Declarator);
            current = inner.or_else(|| match node.kind() {
                Kind::ReferenceDeclarator => node.children().last(),
                _ => None,
            });
        }
        signs
    }
}

/// `long unsigned int` of `unsigned long`, as gcc prints it.
fn gnu_integer(text: &str) -> String {
    const WORDS: [(&str, &str); 8] = [
        ("unsigned long long", "long long unsigned int"),
        ("unsigned long", "long unsigned int"),
        ("unsigned short", "short unsigned int"),
        ("unsigned", "unsigned int"),
        ("long long", "long long int"),
        ("long", "long int"),
        ("short", "short int"),
        ("unsigned int", "unsigned int"),
    ];
    let (constant, bare) = match text.strip_prefix("const ") {
        Some(bare) => ("const ", bare),
        None => ("", text),
    };
    let found = WORDS.iter().find(|(written, _)| *written == bare);
    format!("{constant}{}", found.map_or(bare, |(_, printed)| printed))
}
