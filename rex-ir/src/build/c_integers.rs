//! Values of C that have the type `int`, and a shorter one in C++: `'a'`, `a == b`, `!a`. It matters where somebody asks for the type.

use rex_syntax::TextRange;
use rex_syntax::cst::{Node, parse_fragment};
use rex_syntax::kind::{Field, Kind};
use rex_syntax::lex;
use rex_syntax::macros::MacroDef;
use rex_syntax::source::Language;
use smol_str::SmolStr;

use super::Builder;

/// How deep macros may stand for each other.
const MAX_DEPTH: u32 = 8;

impl<'u> Builder<'u> {
    /// Whether C gives a value the type `int` where C++ has a shorter one, macros followed.
    pub(super) fn is_int_in_c_alone(&self, value: Node<'_>) -> bool {
        self.is_int_at_depth(value, value.range(), 0)
    }

    /// The same for a value that does not stand in the tree of the unit.
    pub(super) fn is_int_in_c_at(&self, value: Node<'_>, at: TextRange) -> bool {
        self.unit.language == Language::C && self.is_int_at_depth(value, at, 0)
    }

    /// The same for a value that stands at a place, perhaps in a macro.
    fn is_int_at_depth(&self, value: Node<'_>, at: TextRange, depth: u32) -> bool {
        match value.kind() {
            Kind::ParenthesizedExpression => value
                .only_child()
                .is_some_and(|inner| self.is_int_at_depth(inner, at, depth)),
            Kind::CharLiteral => value.text().starts_with('\''),
            Kind::BinaryExpression => {
                let operator = value.field(Field::Operator).map_or("", |it| it.text());
                matches!(
                    operator,
                    "==" | "!=" | "<" | ">" | "<=" | ">=" | "&&" | "||"
                )
            }
            Kind::UnaryExpression => value.text().starts_with('!'),
            Kind::Identifier | Kind::CallExpression if depth < MAX_DEPTH => {
                let is_int = |body: Node<'_>| self.is_int_at_depth(body, at, depth + 1);
                self.value_of_macro(value, at, is_int).unwrap_or(false)
            }
            _ => false,
        }
    }

    /// Asks something of the expression that a macro, or a call of one, stands for.
    fn value_of_macro<T>(
        &self,
        value: Node<'_>,
        at: TextRange,
        ask: impl FnOnce(Node<'_>) -> T,
    ) -> Option<T> {
        let is_call = value.kind() == Kind::CallExpression;
        let name = match is_call {
            true => value.field(Field::Function)?,
            false => value,
        };
        let definition = self.macro_at(name.text(), at)?;
        if definition.parameters.is_some() != is_call {
            return None;
        }
        let tree = parse_fragment(&format!("int x = {};", definition.body), self.unit.language);
        let root = tree.root();
        let declarator = root
            .descendants()
            .find(|node| node.kind() == Kind::InitDeclarator)
            .filter(|_| !root.has_error())?;
        Some(ask(declarator.field(Field::Value)?))
    }

    /// A call of a macro that asks for the size or type of its arguments, or of what it makes of them.
    pub(super) fn ask_macro(&mut self, call: Node<'u>) {
        let (Some(name), Some(list)) = (call.field(Field::Function), call.field(Field::Arguments))
        else {
            return;
        };
        let Some(definition) = self.macro_at(name.text(), call.range()) else {
            return;
        };
        if !asks_for_types(definition) {
            return;
        }
        let is_size = |body: Node<'_>| {
            let operand = (body.kind() == Kind::SizeofExpression).then(|| body.field(Field::Value));
            let operand = operand.flatten();
            operand.is_some_and(|operand| self.is_int_at_depth(operand, call.range(), 1))
        };
        if self.value_of_macro(call, call.range(), is_size) == Some(true) {
            let size = SmolStr::new_static("sizeof(int)");
            self.conversions.push((call.range(), size));
            return;
        }
        for argument in list.children() {
            if self.is_int_in_c_alone(argument) {
                self.convert_to_int(argument);
            }
        }
    }

    /// The type of `__auto_type c = 'a';`.
    pub(super) fn deduce_int(&mut self, declarator: Node<'u>) {
        let declaration = declarator.parent();
        let ty = declaration.and_then(|it| it.field(Field::Type));
        let is_deduced = ty.is_some_and(|ty| matches!(ty.text(), "__auto_type" | "auto"));
        let value = declarator.field(Field::Value);
        let Some(value) = value.filter(|it| is_deduced && self.is_int_in_c_alone(*it)) else {
            return;
        };
        self.convert_to_int(value);
    }

    fn convert_to_int(&mut self, value: Node<'u>) {
        let [start, end] = [value.range().start(), value.range().end()].map(TextRange::empty);
        self.conversions
            .push((start, SmolStr::new_static("(int)(")));
        self.conversions.push((end, SmolStr::new_static(")")));
    }
}

/// Whether a macro asks for types, and does not write its arguments as a text.
fn asks_for_types(definition: &MacroDef) -> bool {
    let body = definition.body.as_str();
    let mut words = lex::identifiers(body, lex::whole(body)).map(|at| &body[at]);
    let asks = words.any(|word| {
        matches!(
            word.trim_matches('_'),
            "sizeof" | "typeof" | "auto_type" | "Generic"
        )
    });
    asks && !body.contains('#')
}
