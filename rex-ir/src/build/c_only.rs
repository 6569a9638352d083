//! C that the device's C++ does not have, and what is written instead: updates of enumerations, addresses of compound literals, jumps over initializers.
//! What cannot be written is noted for the device code that holds it.

use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use rex_syntax::{TextRange, TextSize, lex};
use smol_str::{SmolStr, format_smolstr};

use super::Builder;
use super::types::{declared_name, has_storage};
use crate::namer;
use crate::ty::{Category, Meaning, TypeId, TypeKind};

/// Operators of GNU C and the functions of the device library.
const PARTS_OF_COMPLEX: [(&str, &str); 4] = [
    ("__real__", "rex_real"),
    ("__real", "rex_real"),
    ("__imag__", "rex_imaginary"),
    ("__imag", "rex_imaginary"),
];

/// A parameter that points to rows of a length known at run time, in C++.
pub(super) struct Rows {
    /// Its type.
    word: &'static str,
    /// Whether the declaration names it.
    is_named: bool,
    /// Its declaration.
    pub(super) parameter: String,
    /// What the body begins with, if there is one.
    pub(super) view: Option<String>,
}

impl<'u> Builder<'u> {
    /// `e++` and `e |= x` of an enumeration, which has no such operators in C++.
    pub(super) fn update_enumeration(&mut self, node: Node<'u>) {
        let at = node.range();
        let is_update = node.kind() == Kind::UpdateExpression;
        let object = node.field(match is_update {
            true => Field::Argument,
            false => Field::Left,
        });
        let (Some(object), Some(operator)) = (object, node.field(Field::Operator)) else {
            return;
        };
        let Some(ty) = self.expression_type(object, at, 0) else {
            return;
        };
        if is_update && self.is_truth_value(ty) {
            self.count_truth_value(node, object, operator.text());
            return;
        }
        if !self.is_enumeration(ty) {
            return;
        }
        let ty = self.types.unqualified(ty);
        let (spelled, name) = (self.types.spell(ty), object.text());
        if is_update {
            let sign = &operator.text()[..1];
            let assigned = format!("{name} = ({spelled})({name} {sign} 1)");
            let is_statement = node
                .parent()
                .is_some_and(|parent| parent.kind() == Kind::ExpressionStatement);
            let is_prefix = operator.range().start() < object.range().start();
            let text = match (is_statement, is_prefix) {
                (true, _) => assigned,
                (false, true) => format!("({assigned})"),
                (false, false) => {
                    let back = if sign == "+" { "-" } else { "+" };
                    format!("({spelled})(({assigned}) {back} 1)")
                }
            };
            self.conversions.push((at, text.into()));
        } else if let Some(right) = node.field(Field::Right) {
            let operator_text = operator.text().trim_end_matches('=');
            let text = format_smolstr!("= ({spelled})({name} {operator_text} (");
            self.conversions.push((operator.range(), text));
            let end = TextRange::empty(right.range().end());
            self.conversions.push((end, SmolStr::new_static("))")));
        }
    }

    fn is_truth_value(&self, ty: TypeId) -> bool {
        matches!(
            self.types.get(self.types.desugar(ty)).kind,
            TypeKind::Named {
                meaning: Meaning::Bool,
                ..
            }
        )
    }

    /// `b++` of a `_Bool` is `b += 1`, or a call where somebody asks for the value before.
    fn count_truth_value(&mut self, update: Node<'u>, object: Node<'u>, operator: &str) {
        let is_prefix = operator_is_first(update, object);
        let is_statement = update
            .parent()
            .is_some_and(|parent| parent.kind() == Kind::ExpressionStatement);
        let name = object.text();
        let text = match (is_statement || is_prefix, operator) {
            (true, "++") => format_smolstr!("({name} += 1)"),
            (true, _) => format_smolstr!("({name} -= 1)"),
            (false, "++") => format_smolstr!("rex_counted_up({name})"),
            (false, _) => format_smolstr!("rex_counted_down({name})"),
        };
        self.conversions.push((update.range(), text));
    }

    /// `__real__ z` and `__imag__ z` as calls of what the device library has for them.
    pub(super) fn call_part_of_complex(&mut self, node: Node<'u>) {
        // Read as a sign, which cannot be assigned to: `__real__ (z = 1)`.
        let operand = node
            .field(Field::Argument)
            .and_then(|operand| match operand.kind() {
                Kind::AssignmentExpression => operand.field(Field::Left),
                _ => Some(operand),
            });
        let Some(operand) = operand else {
            return;
        };
        let text = node.text();
        let Some((word, function)) = PARTS_OF_COMPLEX
            .iter()
            .find(|(word, _)| text.starts_with(word))
        else {
            return;
        };
        let word = TextRange::at(node.range().start(), TextSize::of(*word));
        self.conversions
            .push((word, format_smolstr!("{function}(")));
        let end = TextRange::empty(operand.range().end());
        self.conversions.push((end, SmolStr::new_static(")")));
    }

    /// `2.0i` as `rex_complex<double>(0, 2.0)`.
    pub(super) fn spell_imaginary(&mut self, literal: Node<'u>) {
        let Some((digits, suffix)) = lex::imaginary(literal.text()) else {
            return;
        };
        let is_integer = match digits.starts_with("0x") || digits.starts_with("0X") {
            true => !digits.contains(['.', 'p', 'P']),
            false => !digits.contains(['.', 'e', 'E']),
        };
        let real = match suffix.as_str() {
            "" if is_integer => "int",
            "f" => "float",
            "l" if digits.contains(['.', 'e', 'E']) => "long double",
            _ => "double",
        };
        let spelled = format_smolstr!("rex_complex<{real}>(0, {digits})");
        self.conversions.push((literal.range(), spelled));
    }

    /// `int _Alignas(16) x`, where an alignment of C++ would be one of `int`, and ignored.
    pub(super) fn align_behind_type(&mut self, alignment: Node<'u>) {
        let declaration = alignment.parent();
        let ty = declaration.and_then(|it| it.field(Field::Type));
        let is_behind = ty.is_some_and(|ty| ty.range().end() <= alignment.range().start());
        let operand = alignment.text().trim_start_matches("_Alignas").trim_start();
        if !is_behind || !alignment.text().starts_with("_Alignas") {
            return;
        }
        let is_type = alignment
            .children()
            .any(|child| child.kind() == Kind::TypeDescriptor);
        let value = match is_type {
            true => format_smolstr!("(alignof{operand})"),
            false => SmolStr::from(operand),
        };
        let text = format_smolstr!("__attribute__((aligned{value}))");
        self.conversions.push((alignment.range(), text));
    }

    /// `struct { }`, which has no bytes in GNU C and one in C++.
    pub(super) fn keep_empty(&mut self, members: Node<'u>) {
        let is_member = |child: Node<'u>| child.is_named() && child.kind() != Kind::Comment;
        if !members.children().any(is_member) {
            let open = members.range().start() + TextSize::of('{');
            let nothing = SmolStr::new_static(" char rex_nothing[0];");
            self.conversions.push((TextRange::empty(open), nothing));
        }
    }

    /// Gives a compound literal whose address is used a name in front of its statement: the one of C lives as long as the block.
    pub(super) fn give_name(&mut self, literal: Node<'u>, ty: TypeId) -> bool {
        let is_array = matches!(
            self.types.get(self.types.desugar(ty)).kind,
            TypeKind::Array { .. }
        );
        let is_operand = literal.parent().is_some_and(|parent| {
            parent.kind() == Kind::PointerExpression && parent.text().starts_with('&')
        });
        let Some(value) = literal.field(Field::Value) else {
            return false;
        };
        let around = || std::iter::successors(Some(literal), |node| node.parent());
        let in_block = around().find(|node| {
            node.parent()
                .is_some_and(|parent| parent.kind() == Kind::CompoundStatement)
        });
        let of_file = || around().find(|node| node.kind() == Kind::Declaration);
        let statement = in_block.or_else(of_file);
        let Some(statement) = statement.filter(|_| is_array || is_operand) else {
            return false;
        };
        let is_plain = matches!(
            statement.kind(),
            Kind::Declaration | Kind::ExpressionStatement | Kind::ReturnStatement
        );
        if !is_plain {
            return false;
        }
        let list = self
            .list_in_order(value, ty)
            .unwrap_or_else(|| value.text().to_owned());
        let name = namer::compound_literal(literal.range().start());
        let mut declared = self.types.declare(ty, &name);
        if in_block.is_none() {
            declared = format!("static __device__ {declared}");
        }
        let at = TextRange::empty(statement.range().start());
        self.conversions
            .push((at, format_smolstr!("{declared} = {list};\n")));
        self.conversions.push((literal.range(), name));
        true
    }

    /// `double a[static n]` as `double a[]`: the first dimension of a parameter means nothing, and C++ does not take it.
    ///
    /// What its evaluation does besides is done first in the body.
    pub(super) fn open_first_dimension(&mut self, parameter: Node<'u>) {
        let array = first_array(parameter);
        if let Some(size) = array.and_then(|array| array.field(Field::Size))
            && changes_something(size)
            && let Some(body) = self.body_of_parameter(parameter)
        {
            let first = body.range().start() + TextSize::of('{');
            let text = format_smolstr!(" (void)({});", size.text());
            self.conversions.push((TextRange::empty(first), text));
        }
        if self.take_rows(parameter) {
            return;
        }
        if let Some(dimension) = self.first_dimension(parameter) {
            self.conversions
                .push((dimension, SmolStr::new_static("[]")));
        }
    }

    /// The first dimension in the declaration of a parameter, if C++ does not take it.
    pub(super) fn first_dimension(&mut self, parameter: Node<'u>) -> Option<TextRange> {
        let array = first_array(parameter)?;
        let is_known = array
            .field(Field::Size)
            .is_none_or(|size| size.text() != "*" && self.constant_value(size.range()).is_some());
        let says_more = array
            .tokens_and_children()
            .any(|child| child.token() == "static" || child.kind() == Kind::TypeQualifier);
        let name = array.field(Field::Declarator);
        let start = name.map_or(array.range().start(), |name| name.range().end());
        (says_more || !is_known).then(|| TextRange::new(start, array.range().end()))
    }

    /// The body of the function whose definition declares a parameter.
    fn body_of_parameter(&self, parameter: Node<'u>) -> Option<Node<'u>> {
        parameter
            .ancestors()
            .find(|outer| outer.kind() == Kind::FunctionDefinition)
            .filter(|function| {
                let head = function.field(Field::Declarator);
                head.is_some_and(|head| head.range().contains_range(parameter.range()))
            })
            .and_then(|function| function.field(Field::Body))
    }

    /// `double a[n][m]` as an address, of which the body makes a view.
    fn take_rows(&mut self, parameter: Node<'u>) -> bool {
        let Some(declarator) = parameter.field(Field::Declarator) else {
            return false;
        };
        let Some(rows) = self.rows(parameter, declarator) else {
            return false;
        };
        let body = self.body_of_parameter(parameter);
        let (Some(body), Some(view)) = (body, rows.view) else {
            let is_open = body.is_none() || !rows.is_named;
            if is_open {
                self.conversions
                    .push((parameter.range(), SmolStr::new_static(rows.word)));
            }
            return is_open;
        };
        self.conversions
            .push((parameter.range(), rows.parameter.into()));
        let first = body.range().start() + TextSize::of('{');
        self.conversions
            .push((TextRange::empty(first), format_smolstr!(" {view}")));
        true
    }

    /// What stands for a declarator of a parameter that points to rows of a length known at run time.
    pub(super) fn rows(&mut self, declaration: Node<'u>, declarator: Node<'u>) -> Option<Rows> {
        let base = self.base_type(declaration, declaration.range());
        let declared = self.declarator(declarator, base, declaration.range());
        let ty = match self.types.get(declared.ty).kind {
            TypeKind::Array { element, .. } => self.types.plain(TypeKind::Pointer(element)),
            _ => declared.ty,
        };
        let name = declared.name;
        let symbol = name.and_then(|name| {
            self.scopes
                .resolve(&self.symbols, name.text(), name.range())
        });
        let has_open_rows = declarator.text().matches("[*]").count() > 1;
        let ty = symbol.map_or(ty, |symbol| self.symbols[symbol].ty);
        if !has_open_rows && !self.points_to_rows(ty) {
            return None;
        }
        let word = match self.types.is_constant(self.types.innermost_element(base)) {
            true => "const void *",
            false => "void *",
        };
        let named = name.zip(symbol);
        let address = named.map(|(name, _)| namer::argument(name.text()));
        let view = named.zip(address.as_deref());
        let view =
            view.and_then(|((name, symbol), at)| self.declared_view(symbol, name.text(), at));
        Some(Rows {
            word,
            is_named: named.is_some(),
            parameter: format!("{word}{}", address.unwrap_or_default()),
            view,
        })
    }

    /// `int x = 1;` that a `goto` or `case` jumps over as `int x; x = 1;`.
    pub(super) fn declare_before_jumps(&mut self) {
        let unit = self.unit;
        let function_of = |node: Node<'u>| {
            node.ancestors()
                .find(|outer| outer.kind() == Kind::FunctionDefinition)
        };
        let jumps: Vec<(&str, Node<'u>)> = unit
            .tree
            .nodes()
            .filter(|node| node.kind() == Kind::GotoStatement)
            .filter_map(|node| Some((node.field(Field::Label)?.text(), node)))
            .collect();
        let mut jumped: Vec<Node<'u>> = Vec::new();
        for node in unit.tree.nodes() {
            match node.kind() {
                Kind::LabeledStatement if !jumps.is_empty() => {
                    let Some(label) = node.field(Field::Label) else {
                        continue;
                    };
                    let function = function_of(node);
                    let first = jumps
                        .iter()
                        .filter(|(name, jump)| {
                            *name == label.text() && function_of(*jump) == function
                        })
                        .map(|(_, jump)| jump.range().end())
                        .min();
                    let (Some(first), Some(block)) = (first, node.parent()) else {
                        continue;
                    };
                    jumped.extend(block.children().filter(|child| {
                        child.range().start() >= first
                            && child.range().end() <= node.range().start()
                    }));
                }
                // Another `case` follows.
                Kind::CaseStatement
                    if node
                        .next_sibling()
                        .is_some_and(|next| next.kind() == Kind::CaseStatement) =>
                {
                    jumped.extend(node.children());
                }
                _ => {}
            }
        }
        jumped.sort_by_key(|node| node.range().start());
        jumped.dedup();
        for declaration in jumped {
            if declaration.kind() == Kind::Declaration {
                self.split_declaration(declaration);
            }
        }
    }

    fn split_declaration(&mut self, declaration: Node<'u>) {
        if has_storage(declaration, "static") || has_storage(declaration, "extern") {
            return;
        }
        let declarators = declaration.fields(Field::Declarator);
        let is_initialized = |node: &&Node<'u>| node.kind() == Kind::InitDeclarator;
        let Some(first) = declarators.iter().find(is_initialized) else {
            return;
        };
        let name = first.field(Field::Declarator).and_then(declared_name);
        let value = first.field(Field::Value);
        let symbol = name.and_then(|name| {
            self.scopes
                .resolve(&self.symbols, name.text(), name.range())
        });
        let is_simple = symbol.is_some_and(|symbol| {
            let ty = self.symbols[symbol].ty;
            matches!(
                self.types.category(ty),
                Category::Scalar | Category::Pointer
            ) && !self.types.get(ty).is_const
        });
        let has_list = value.is_none_or(|value| value.kind() == Kind::InitializerList);
        match name {
            Some(name) if declarators.len() == 1 && is_simple && !has_list => {
                let end = first
                    .field(Field::Declarator)
                    .map_or(name.range().end(), |declarator| declarator.range().end());
                let text = format_smolstr!("; {}", name.text());
                self.conversions.push((TextRange::empty(end), text));
            }
            _ => self.cannot_write(
                declaration.range(),
                "a jump passes this initialization, which C++ does not allow",
                "declare the variable before the jump",
            ),
        }
    }
}

/// Whether `++` stands in front of its object.
fn operator_is_first(update: Node<'_>, object: Node<'_>) -> bool {
    update.range().start() < object.range().start()
}

/// The declarator of a parameter's first dimension.
fn first_array(parameter: Node<'_>) -> Option<Node<'_>> {
    parameter.subtree().find(|node| {
        let inner = node.field(Field::Declarator);
        match node.kind() {
            Kind::ArrayDeclarator => inner.is_some_and(|it| it.kind() == Kind::Identifier),
            Kind::AbstractArrayDeclarator => inner.is_none(),
            _ => false,
        }
    })
}

/// Whether an expression assigns, increments or calls.
fn changes_something(expression: Node<'_>) -> bool {
    let inner = expression.descendants();
    std::iter::once(expression).chain(inner).any(|node| {
        matches!(
            node.kind(),
            Kind::UpdateExpression | Kind::AssignmentExpression | Kind::CallExpression
        )
    })
}
