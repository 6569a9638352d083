//! Macros that stand for words of directives, and for the heads of loops and the assignments behind directives.

use smol_str::SmolStr;
use text_size::{TextRange, TextSize};

use super::Code;
use crate::diag::Diagnostics;
use crate::edit::EditSet;
use crate::lex::{self, TokenKind, significant_tokens, slice};
use crate::omp::clause::{ClauseName, ListItem, Locator, Step};
use crate::omp::directive::{Association, Directive, Leaf};
use crate::omp::parse::parse_directive;
use crate::pragma::PragmaLine;

/// A macro call in the text of a directive, and what stands there instead.
struct Expansion {
    range: TextRange,
    name: SmolStr,
    text: String,
}

/// The text of a directive with macro calls written out.
struct WrittenOut {
    text: String,
    /// Where the expansions of macros stand, with the macros' names.
    expanded: Vec<(TextRange, SmolStr)>,
}

impl WrittenOut {
    fn of(body: &str) -> WrittenOut {
        WrittenOut {
            text: body.to_owned(),
            expanded: Vec::new(),
        }
    }

    /// Whether a word stands in the expansion of the macro of this name, which is no call of the macro then.
    fn is_inside_of(&self, name: &str, word: TextRange) -> bool {
        let mut expanded = self.expanded.iter();
        expanded.any(|(range, known)| known == name && range.contains_range(word))
    }

    fn replace(&mut self, expansion: Expansion) {
        let Expansion { range, name, text } = expansion;
        let length = TextSize::of(text.as_str());
        let moved = |place: TextSize| {
            if place >= range.end() {
                place - range.len() + length
            } else {
                place.min(range.start() + length)
            }
        };
        for (known, _) in &mut self.expanded {
            *known = TextRange::new(moved(known.start()), moved(known.end()));
        }
        self.text
            .replace_range(std::ops::Range::<usize>::from(range), &text);
        self.expanded
            .push((TextRange::at(range.start(), length), name));
    }
}

/// Whether each parenthesis of a text is closed in it.
fn is_balanced(text: &str) -> bool {
    let mut open = 0_usize;
    let mut tokens = significant_tokens(text, lex::whole(text));
    let closes_own = tokens.all(|token| match token.text(text) {
        "(" => {
            open += 1;
            true
        }
        ")" => {
            let closes = open > 0;
            open = open.saturating_sub(1);
            closes
        }
        _ => true,
    });
    closes_own && open == 0
}

impl Code<'_> {
    /// Writes out macros that stand for words of directives, and loops after directives.
    pub(super) fn directive_edits(&self) -> EditSet {
        let mut edits = EditSet::new();
        for line in &self.lexed.pragmas {
            if self.is_skipped(line.range) {
                continue;
            }
            let directive = self.words_written_out(line, &mut edits);
            let next = self.after(line.range);
            match directive.association() {
                Association::Statement if directive.first() == Some(Leaf::Atomic) => {
                    self.write_out_assignments(next, &mut edits);
                }
                Association::Statement => self.write_out_loop(next, &mut edits),
                Association::Declarative | Association::Standalone => {}
            }
        }
        edits
    }

    /// Replaces macros that stand for words of a directive; returns the directive as it is then.
    fn words_written_out(&self, line: &PragmaLine, edits: &mut EditSet) -> Directive {
        const MAX_ROUNDS: usize = 32;
        const MAX_GROWTH: usize = 1 << 16;
        let at = self.written_at(line.range.start());
        let body = slice(self.text, line.body);
        let mut written = WrittenOut::of(body);
        for _ in 0..MAX_ROUNDS {
            let text = written.text.as_str();
            let whole = PragmaLine {
                range: lex::whole(text),
                body: lex::whole(text),
            };
            let directive = parse_directive(text, &whole, self.file, &mut Diagnostics::new());
            let expansions = self.expansions_of_words(&written, &directive, at);
            if expansions.is_empty() {
                if written.text != body {
                    edits.replace(line.body, written.text);
                }
                return directive;
            }
            for expansion in expansions.into_iter().rev() {
                written.replace(expansion);
            }
            if written.text.len() > body.len() + MAX_GROWTH {
                break;
            }
        }
        // Macros without end: the line stays as it is.
        parse_directive(self.text, line, self.file, &mut Diagnostics::new())
    }

    /// What macros that stand for words of a directive become, in order; those behind one that moves parentheses wait for the next round.
    fn expansions_of_words(
        &self,
        written: &WrittenOut,
        directive: &Directive,
        at: TextSize,
    ) -> Vec<Expansion> {
        let text = written.text.as_str();
        let mut words = self.macro_words(text, directive, at);
        words.sort_by_key(|word| word.start());
        let mut expansions: Vec<Expansion> = Vec::new();
        for word in words {
            let is_inside = |before: &Expansion| word.start() < before.range.end();
            let name = slice(text, word);
            if expansions.last().is_some_and(is_inside) || written.is_inside_of(name, word) {
                continue;
            }
            let Some((range, expansion)) = self.macros.words_of_call(text, word, at) else {
                continue;
            };
            let is_balanced = is_balanced(&expansion);
            expansions.push(Expansion {
                range,
                name: name.into(),
                text: expansion.replace(['\r', '\n'], " "),
            });
            if !is_balanced {
                break;
            }
        }
        expansions
    }

    /// The places where a directive needs a word of its own and has the name of a macro.
    fn macro_words(&self, text: &str, directive: &Directive, at: TextSize) -> Vec<TextRange> {
        let mut words = Vec::new();
        if directive.leaves.is_empty() {
            words.push(directive.name_range);
        }
        for clause in &directive.clauses {
            if clause.name == ClauseName::Unknown {
                words.push(clause.name_range);
            }
            words.extend(clause.modifiers().iter().map(|modifier| modifier.word));
            words.extend(clause.items().iter().filter_map(|item| {
                let start = item.locator.root();
                let name = significant_tokens(text, start).next()?;
                self.stands_for_items(name.text(text), at)
                    .then_some(name.range)
            }));
            let items = clause.items().iter();
            words.extend(items.flat_map(|item| self.section_words(text, item, at)));
        }
        words.retain(|word| self.macros.lookup_at(slice(text, *word), at).is_some());
        words
    }

    /// Macros that stand for the bounds of a section: `a[WHOLE]` with `#define WHOLE 0 : N`.
    fn section_words(&self, text: &str, item: &ListItem, at: TextSize) -> Vec<TextRange> {
        let Locator::Path(path) = &item.locator else {
            return Vec::new();
        };
        let indices = path.steps.iter().filter_map(|step| match step {
            Step::Index(index) => Some(*index),
            _ => None,
        });
        indices
            .filter_map(|index| significant_tokens(text, index).next())
            .filter(|name| {
                let def = self.macros.lookup_at(name.text(text), at);
                def.is_some_and(|def| {
                    let mut tokens = significant_tokens(&def.body, lex::whole(&def.body));
                    tokens.any(|token| token.text(&def.body) == ":") && !def.body.contains('?')
                })
            })
            .map(|name| name.range)
            .collect()
    }

    /// Whether a macro stands for variables or sections rather than for a constant.
    fn stands_for_items(&self, name: &str, at: TextSize) -> bool {
        let Some(def) = self.macros.lookup_at(name, at) else {
            return false;
        };
        let first = significant_tokens(&def.body, lex::whole(&def.body)).next();
        first.is_some_and(|first| {
            first.kind == TokenKind::Identifier || matches!(first.text(&def.body), "*" | "(")
        })
    }

    /// Expands the macros that stand for the heads of the loops a directive applies to: one, and those directly behind it.
    fn write_out_loop(&self, mut next: usize, edits: &mut EditSet) {
        while let Some(token) = self.lexed.tokens.get(next) {
            if token.text(self.text) == "{" {
                next += 1;
                continue;
            }
            let at = self.written_at(token.range.start());
            if token.kind != TokenKind::Identifier
                || !self.macros.begins_loop(token.text(self.text), at)
            {
                return;
            }
            let Some((range, expansion)) =
                self.macros
                    .expand_call_at(self.text, token.range.start(), at)
            else {
                return;
            };
            if edits.edits().iter().all(|edit| edit.range != range) {
                edits.replace(range, expansion);
            }
            next = self.after(range);
        }
    }

    /// Expands the macros that stand for statements under `atomic`, or for the whole value of an assignment there: which form of an
    /// operation it is shows only behind them.
    fn write_out_assignments(&self, mut next: usize, edits: &mut EditSet) {
        let mut depth = 0usize;
        let mut before = ";";
        while let Some(token) = self.lexed.tokens.get(next) {
            let word = token.text(self.text);
            let may_stand = match before {
                "{" | "}" | ";" | ")" | "else" => true,
                // Constants are as good by their names.
                "=" => self.token_text(next + 1) == "(",
                _ => false,
            };
            let start = token.range.start();
            let expand = || {
                let at = self.written_at(start);
                self.macros.statement_of_call(self.text, start, at)
            };
            if let Some((range, expansion)) = may_stand.then(expand).flatten() {
                // The statement may end with it, whether a semicolon follows or not.
                let is_whole = expansion.trim_end().ends_with([';', '}']);
                edits.replace(range, expansion);
                next = self.after(range);
                if is_whole && depth == 0 {
                    return;
                }
                before = if is_whole { ";" } else { "" };
                continue;
            }
            match word {
                "{" => depth += 1,
                "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && matches!(word, "}" | ";") {
                return;
            }
            before = word;
            next += 1;
        }
    }
}
