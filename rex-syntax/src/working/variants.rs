//! Macros that call functions with variants: which function a call means depends on its place, and what a macro's body says has none.

use smol_str::SmolStr;
use text_size::TextRange;

use super::Code;
use crate::diag::Diagnostics;
use crate::lex::{TokenKind, slice};
use crate::omp::directive::Leaf;
use crate::omp::parse::parse_directive;

impl Code<'_> {
    /// The functions of which directives of the file declare variants.
    pub(super) fn functions_with_variants(&self) -> Vec<SmolStr> {
        let mut names: Vec<SmolStr> = Vec::new();
        let mut lines = self.lexed.pragmas.iter();
        while let Some(line) = lines.find(|line| slice(self.text, line.body).contains("variant")) {
            let directive = parse_directive(self.text, line, self.file, &mut Diagnostics::new());
            let first = self.after(line.range);
            let end = match directive.first() {
                Some(Leaf::DeclareVariant) => None,
                Some(Leaf::BeginDeclareVariant) => {
                    let behind = lines.clone().find(|line| {
                        let body = slice(self.text, line.body);
                        body.contains("variant") && body.contains("end")
                    });
                    Some(behind.map_or(self.lexed.tokens.len(), |line| self.after(line.range)))
                }
                _ => continue,
            };
            let argument = directive.argument.map_or("", |at| slice(self.text, at));
            match argument.split_once(':') {
                Some((base, _)) if end.is_none() => names.push(base.trim().into()),
                _ => self.add_declared(first, end, &mut names),
            }
        }
        names.sort();
        names.dedup();
        names
    }

    /// The functions that are declared from a token on: all of them before the `end`, or the first.
    fn add_declared(&self, first: usize, end: Option<usize>, names: &mut Vec<SmolStr>) {
        let mut depth = 0usize;
        let mut candidate = None;
        for (idx, token) in self.lexed.tokens.iter().enumerate().skip(first) {
            if end.is_some_and(|end| idx >= end) {
                return;
            }
            let word = token.text(self.text);
            match word {
                "{" | ";" if depth == 0 => {
                    names.extend(candidate.take());
                    if end.is_none() {
                        return;
                    }
                    depth += usize::from(word == "{");
                }
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                "noexcept" | "decltype" | "alignas" | "__attribute__" => {}
                _ if depth == 0
                    && token.kind == TokenKind::Identifier
                    && self.token_text(idx + 1) == "(" =>
                {
                    candidate = Some(SmolStr::from(word));
                }
                _ => {}
            }
        }
    }

    /// Expands a call whose expansion names one of these functions.
    pub(super) fn call_of_variant(
        &self,
        idx: usize,
        functions: &[SmolStr],
    ) -> Option<(TextRange, String)> {
        let name = self.lexed.tokens.get(idx)?.range;
        let names = self
            .macros
            .names_used_by(slice(self.text, name), name.start());
        let leads = functions.iter().any(|it| names.contains(it));
        leads.then(|| self.macros.expand_whole_call(self.text, name.start()))?
    }
}
