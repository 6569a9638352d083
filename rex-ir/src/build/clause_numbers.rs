//! Numbers that clauses take: large enough, of an integer type, and known to the compiler where the clause needs that.

use rex_syntax::TextRange;
use rex_syntax::cst::{Node, Tree, parse_fragment};
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::Kind;
use rex_syntax::lex::{self, Token, TokenKind};
use rex_syntax::omp::clause::{Clause, ClauseName};
use rex_syntax::omp::directive::Directive;
use rex_syntax::source::Language;

use super::Builder;
use crate::ty::{Category, Meaning, TypeId, TypeKind};

/// What a clause asks of its number.
struct Demand {
    /// The least number that it takes.
    least: i64,
    /// The compiler must know it.
    is_constant: bool,
}

/// What this clause asks of its number, if it takes one.
///
/// # Source
/// OpenMP 5.2, the restrictions of these clauses. `device` takes `omp_initial_device`, which is -1. What is wrong with the argument of `collapse` is said
/// where its loops are read.
fn demand(name: ClauseName) -> Option<Demand> {
    use ClauseName::*;
    let (least, is_constant) = match name {
        DistSchedule | Grainsize | NumTasks | NumTeams | NumThreads | Schedule | ThreadLimit => {
            (1, false)
        }
        Aligned | Ordered | Partial | Safelen | Simdlen => (1, true),
        Priority => (0, false),
        Device => (-1, false),
        Linear => (i64::MIN, false),
        Hint => (i64::MIN, true),
        _ => return None,
    };
    Some(Demand { least, is_constant })
}

/// What a number must be, in words.
fn in_words(demand: &Demand) -> &'static str {
    match demand.least {
        1 if demand.is_constant => "a positive constant",
        1 => "a positive integer",
        0 => "an integer that is not negative",
        -1 => "the number of a device",
        _ if demand.is_constant => "a constant integer",
        _ => "steps that are integers",
    }
}

impl Builder<'_> {
    pub(super) fn wrong_number(&mut self, clause: &Clause) -> Option<Diagnostic> {
        let demand = demand(clause.name)?;
        let number = match clause.name {
            ClauseName::Aligned => clause.modifiers().first()?.range,
            ClauseName::Linear => self.linear_step(clause)?,
            _ => clause.expression()?,
        };
        let note = self.what_is_wrong(number, &demand)?;
        let spelling = clause.name.spelling();
        let headline = format!("`{spelling}` needs {}", in_words(&demand));
        let help = match demand.least {
            -1 => "write a number from 0 to `omp_get_num_devices()`, or leave the clause out"
                .to_owned(),
            least => {
                let arguments = self.with_number(clause, if least == 0 { 0 } else { 4 });
                format!("write a number, for instance `{spelling}({arguments})`")
            }
        };
        let diagnostic = Diagnostic::new(Code::ClauseSyntax, self.at(number), headline);
        Some(diagnostic.with_note(note).with_help(help))
    }

    /// A `simdlen` that is longer than the distance of iterations that `safelen` allows.
    pub(super) fn longer_than_safe(&self, directive: &Directive) -> Option<Diagnostic> {
        let number = |name| {
            let clause = directive.clause(name)?;
            Some((clause, self.constant_value(clause.expression()?)?))
        };
        let (simdlen, length) = number(ClauseName::Simdlen)?;
        let (safelen, most) = number(ClauseName::Safelen)?;
        (0 < most && most < length).then(|| {
            let headline = "`simdlen` is not greater than `safelen`";
            Diagnostic::new(Code::ClauseSyntax, self.at(simdlen.range), headline)
                .with_secondary(self.at(safelen.range), "so many iterations may run at once")
                .with_note(format!("{length} is greater than {most}"))
                .with_help(format!("write `simdlen({most})`, or leave it out"))
        })
    }

    /// The arguments of a clause with another number.
    fn with_number(&self, clause: &Clause, number: u32) -> String {
        match clause.name {
            ClauseName::Schedule | ClauseName::DistSchedule => {
                let kind = clause.modifiers().last();
                let kind = kind.map_or("static", |kind| self.text(kind.word));
                format!("{kind}, {number}")
            }
            ClauseName::Aligned | ClauseName::Linear => {
                let first = clause.items().first().map(|item| self.text(item.range));
                format!("{}: {number}", first.unwrap_or_default())
            }
            _ => number.to_string(),
        }
    }

    /// What is known to be wrong with a number.
    fn what_is_wrong(&mut self, number: TextRange, demand: &Demand) -> Option<String> {
        if let Some(value) = self.constant_value(number) {
            return (value < demand.least).then(|| format!("this is {value}"));
        }
        let tokens: Vec<Token> = lex::significant_tokens(self.source, number).collect();
        if let [token] = tokens.as_slice()
            && token.kind == TokenKind::String
        {
            return Some("this is a string".to_owned());
        }
        if self.has_macros(number) {
            return None;
        }
        if let Some(ty) = self.type_of_expression(number)
            && self.is_no_integer(ty)
        {
            let text = self.text(number);
            return Some(match tokens.as_slice() {
                [token] if token.kind == TokenKind::Number => "this is no integer".to_owned(),
                _ => format!("`{text}` has the type `{}`", self.types.spell(ty)),
            });
        }
        if demand.is_constant {
            return self.changing_part(&tokens);
        }
        None
    }

    /// The type of an expression that is an argument of a clause, where rex knows it.
    pub(super) fn type_of_expression(&mut self, at: TextRange) -> Option<TypeId> {
        let tree = self.expression_tree(at);
        let expression = only_expression(&tree)?;
        self.fragment_depth += 1;
        let found = self.expression_type(expression, at, 0);
        self.fragment_depth -= 1;
        found
    }

    /// An expression of a clause as a statement of its own.
    pub(super) fn expression_tree(&self, at: TextRange) -> Tree {
        let text = format!("void rex_function() {{ {}; }}", self.text(at));
        parse_fragment(&text, self.unit.language)
    }

    /// Whether words of the source stand for others.
    pub(super) fn has_macros(&self, at: TextRange) -> bool {
        let mut words = lex::identifiers(self.source, at);
        words.any(|word| self.macro_at(self.text(word), at).is_some())
    }

    /// Whether a type is one that no language converts to an index: numbers with fractions, pointers, and the classes of C.
    pub(super) fn is_no_integer(&self, ty: TypeId) -> bool {
        let ty = self.types.object_type(ty);
        match &self.types.get(ty).kind {
            TypeKind::Pointer(_) | TypeKind::Array { .. } => true,
            TypeKind::Named { meaning, spelling } => match meaning {
                Meaning::Float { .. } | Meaning::Void => true,
                Meaning::WideArithmetic => !spelling.contains("__int128"),
                Meaning::Record(_) => self.unit.language == Language::C,
                Meaning::Bool
                | Meaning::Integer { .. }
                | Meaning::Enum
                | Meaning::Alias(_)
                | Meaning::Dependent
                | Meaning::Auto
                | Meaning::Unknown => false,
            },
            TypeKind::Reference(_) | TypeKind::Function { .. } => false,
        }
    }

    /// A variable whose value no compiler knows, in an expression that asks for its value.
    fn changing_part(&self, tokens: &[Token]) -> Option<String> {
        // What is called may know more of a variable than its value: `sizeof(x)`, `std::size(x)`.
        let calls = tokens.windows(2).any(|pair| {
            pair[0].kind == TokenKind::Identifier
                && matches!(pair[1].text(self.source), "(" | "<" | "::")
        });
        let has_operators_on_types = tokens
            .iter()
            .any(|token| matches!(token.text(self.source), "sizeof" | "alignof" | "_Alignof"));
        if calls || has_operators_on_types {
            return None;
        }
        let mut names = tokens
            .iter()
            .filter(|token| token.kind == TokenKind::Identifier);
        names.find_map(|name| {
            let text = name.text(self.source);
            let found = self.scopes.resolve(&self.symbols, text, name.range)?;
            let symbol = &self.symbols[found];
            let is_plain = !self.types.is_reference(symbol.ty)
                && self.types.category(symbol.ty) == Category::Scalar;
            let changes = symbol.kind.is_variable()
                && is_plain
                && !self.types.get(symbol.ty).is_const
                && !self.is_constant(found);
            changes.then(|| format!("`{text}` is a variable"))
        })
    }
}

/// The expression of a tree that [`Builder::expression_tree`] gave, if it is one.
pub(super) fn only_expression(tree: &Tree) -> Option<Node<'_>> {
    let mut nodes = tree.root().descendants();
    let statement = nodes.find(|node| node.kind() == Kind::ExpressionStatement)?;
    let expression = statement.children().next()?;
    let is_damaged = expression.subtree().any(|node| node.is_error());
    (!is_damaged).then_some(expression)
}
