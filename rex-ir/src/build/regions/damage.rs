//! Constructs whose statements could not be read.

use rex_syntax::cst::Node;
use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::kind::Kind;
use rex_syntax::omp::directive::Leaf;
use rex_syntax::{TextRange, TextSize, lex};

use crate::build::Builder;
use crate::region::ConstructId;

impl Builder<'_> {
    /// Whether the syntax tree has an error inside the construct's statement.
    pub(super) fn is_damaged(&mut self, id: ConstructId) -> bool {
        let construct = &self.constructs[id];
        if construct.leaves.first() != Some(&Leaf::Target) {
            return false;
        }
        let Some(statement) = construct.statement else {
            return false;
        };
        let unit = self.unit;
        let node = unit.tree.root().smallest_at(statement);
        let error = node.descendants().find(|inner| {
            statement.contains_range(inner.range())
                && (inner.is_error()
                    || (inner.is_missing()
                        && inner.text().is_empty()
                        && !self.is_after_call(*inner)))
        });
        let Some(error) = error else { return false };
        let pragma = unit.directives[construct.directives[0]].range;
        if self.is_declaration(statement) {
            let name = unit.directives[construct.directives[0]].name();
            let diagnostic = Diagnostic::new(
                Code::MissingStatement,
                self.at(crate::build::loops::first_line(self.source, statement)),
                "a declaration is no statement that a directive applies to",
            )
            .with_secondary(self.at(pragma), format!("`{name}` needs a statement"))
            .with_help("put the declaration and what uses it in braces");
            self.diagnostics.push(diagnostic);
            return true;
        }
        if self.is_type_of_typeid(error.range()) {
            let diagnostic = Diagnostic::new(
                Code::UnsupportedStatement,
                self.at(crate::build::loops::first_line(self.source, error.range())),
                "`typeid` is not known in device code",
            )
            .with_secondary(self.at(pragma), "in this region, which stays on the host")
            .with_help("compare types with `std::is_same`, or store the kind of an object in a member of it");
            self.diagnostics.push(diagnostic);
            return true;
        }
        let diagnostic = Diagnostic::new(
            Code::DamagedConstruct,
            self.at(crate::build::loops::first_line(self.source, error.range())),
            self.where_reading_stopped(error.range()),
        )
        .with_secondary(self.at(pragma), "in this region, which stays on the host")
        .with_help("expand the macro or rewrite the statement in plain syntax");
        self.diagnostics.push(diagnostic);
        true
    }

    /// Whether text that could not be read is the type in `typeid(int)`.
    fn is_type_of_typeid(&self, error: TextRange) -> bool {
        let before = self.source[..usize::from(error.start())].trim_end();
        let operand = before.strip_suffix('(').map(str::trim_end);
        operand.is_some_and(|word| word.ends_with("typeid")) || self.text(error).contains("typeid")
    }

    /// Names the text that could not be read if it is short, else the token that it begins with.
    fn where_reading_stopped(&self, error: TextRange) -> String {
        const MAX_SHORT: usize = 40;
        let token_from = |start: TextSize| {
            let rest = TextRange::new(start, TextSize::of(self.source));
            let token = lex::significant_tokens(self.source, rest).next();
            token.map_or("the end", |token| token.text(self.source))
        };
        let next = token_from(error.end());
        let text = self.text(error).trim();
        match text.is_empty() {
            true => format!("something is missing before `{next}` in this region"),
            false if text.len() <= MAX_SHORT && !text.contains('\n') => {
                format!("`{text}` before `{next}` could not be read as C or C++")
            }
            false => {
                let first = token_from(error.start());
                format!("a part of this region, from `{first}` on, could not be read as C or C++")
            }
        }
    }

    /// Whether the text of a damaged statement is a declaration, where the grammar wants none.
    fn is_declaration(&self, statement: TextRange) -> bool {
        let rest = &self.source[usize::from(statement.start())..];
        let text = rest.split_inclusive(';').next().unwrap_or(rest);
        let tree = rex_syntax::cst::parse_fragment(text, self.unit.language);
        let mut inner = tree.root().descendants();
        let is_whole = !inner.any(|node| node.is_error() || node.is_missing());
        let mut items = tree.root().children();
        is_whole
            && items
                .next()
                .is_some_and(|item| item.kind() == Kind::Declaration)
    }

    /// A macro call without `;` is a missing semicolon to the grammar, and fine.
    fn is_after_call(&self, missing: Node<'_>) -> bool {
        let before = &self.source[..usize::from(missing.range().start())];
        before.trim_end().ends_with([')', '}'])
    }
}
