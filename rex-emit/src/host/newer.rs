//! Directives of newer OpenMP that stay in the host file, in words that older host compilers know.
//!
//! Calls mean the variants of functions that the host calls. Promises about the program (`assume`, `assumes`) are left out. A dependence on `omp_all_memory` becomes a wait before a task that is done at once.

use rex_ir::region::{CanonicalLoop, Construct, ConstructId, SharingAttribute};
use rex_ir::ty::Category;
use rex_syntax::edit::EditSet;
use rex_syntax::layout::indent_at;
use rex_syntax::lex::{Token, significant_tokens};
use rex_syntax::omp::clause::{Clause, ClauseName};
use rex_syntax::omp::directive::{Directive, Leaf};
use rex_syntax::{TextRange, TextSize};

use super::Host;

impl Host<'_> {
    /// Edits of directives inside `inside`, with offsets in the unit.
    fn newer_words(&self, inside: TextRange) -> Vec<(TextRange, String)> {
        let unit = &self.program.unit;
        let mut words = Vec::new();
        for directive in unit.directives_in(inside) {
            let clauses = directive.clauses.iter();
            words.extend(
                clauses.filter_map(|clause| Some((self.construct_word(clause)?, String::new()))),
            );
            match directive.first() {
                Some(Leaf::Assume | Leaf::Assumes | Leaf::BeginAssumes | Leaf::EndAssumes) => {
                    words.push((directive.range, String::new()));
                }
                Some(Leaf::Allocate) => {
                    let text = self.program.text(TextRange::new(
                        directive.name_range.start(),
                        directive.range.end(),
                    ));
                    let text = crate::common::text::joined(text);
                    words.push((directive.range, format!("REX_ALLOCATE({})", text.trim())));
                }
                Some(Leaf::Scope) => self.copies_of_scope(directive, &mut words),
                Some(Leaf::Task) => self.dependences(directive, &mut words),
                Some(Leaf::Taskwait) => {
                    // To wait is to do more than the directive promises.
                    let nowait = directive.clause(ClauseName::Nowait);
                    words.extend(nowait.map(|clause| (clause.range, String::new())));
                    self.dependences(directive, &mut words);
                }
                _ => {}
            }
        }
        words.extend(self.collapsed_perfectly(inside));
        words.extend(self.assigned_first_values(inside));
        for call in &unit.variant_calls {
            if inside.contains_range(call.at) && self.program.text(call.at) != call.host {
                words.push((call.at, call.host.to_string()));
            }
        }
        for (at, value) in &self.program.alignments {
            if inside.contains_range(*at) {
                let value = self.program.text(*value).trim();
                words.push((*at, format!("__attribute__((aligned({value}))) ")));
            }
        }
        words
    }

    /// Older host compilers have no copies of `scope`: a task inside that is done at once makes those of scalars and pointers. Others stay as
    /// they are: LLVM's runtime does not copy them for tasks of GCC. Which memory copies lie in changes no value.
    fn copies_of_scope(&self, directive: &Directive, words: &mut Vec<(TextRange, String)>) {
        let allocators = directive.clauses_named(ClauseName::Allocate);
        words.extend(allocators.map(|clause| (clause.range, String::new())));
        let copied: Vec<&Clause> = directive.clauses_named(ClauseName::Firstprivate).collect();
        let mut items = copied.iter().flat_map(|clause| clause.items());
        if copied.is_empty() || !items.all(|item| self.is_scalar_or_pointer(item.range)) {
            return;
        }
        let at = TextRange::empty(directive.range.end());
        let indent = indent_at(self.program.source(), directive.range.start());
        let texts: Vec<String> = copied
            .iter()
            .map(|clause| crate::common::text::joined(self.program.text(clause.range)))
            .collect();
        let task = format!(
            "\n{indent}#pragma omp task if(0) default(shared) {}",
            texts.join(" ")
        );
        words.extend(
            copied
                .into_iter()
                .map(|clause| (clause.range, String::new())),
        );
        words.push((at, task));
    }

    fn is_scalar_or_pointer(&self, name: TextRange) -> bool {
        let program = self.program;
        let found = program
            .scopes
            .resolve(&program.symbols, program.text(name).trim(), name);
        found.is_some_and(|symbol| {
            let category = program.types.category(program.symbols[symbol].ty);
            matches!(category, Category::Scalar | Category::Pointer)
        })
    }

    /// The construct that a clause is for, with its comma or colon. Host compilers know such words in `if` only.
    fn construct_word(&self, clause: &Clause) -> Option<TextRange> {
        let named = clause.applies_to.as_ref()?;
        if clause.name == ClauseName::If {
            return None;
        }
        let source = self.program.source();
        let inside = TextRange::new(clause.name_range.end(), clause.range.end());
        let tokens: Vec<Token> = significant_tokens(source, inside).collect();
        let first = tokens
            .iter()
            .position(|token| token.range.start() == named.range.start())?;
        let after = tokens
            .iter()
            .position(|token| token.range.start() >= named.range.end())?;
        let before = &tokens[first.checked_sub(1)?];
        let separator = &tokens[after];
        Some(match (before.text(source), separator.text(source)) {
            ("(", "," | ":") | (",", ",") => {
                let next = tokens.get(after + 1).unwrap_or(separator);
                TextRange::new(named.range.start(), next.range.start())
            }
            _ => before.range.cover(named.range),
        })
    }

    /// Host compilers collapse only loops with nothing between them, as many for all instantiations of a template.
    fn collapsed_perfectly(&self, inside: TextRange) -> Vec<(TextRange, String)> {
        let mut words = Vec::new();
        for (_, construct) in self.program.constructs_in(inside) {
            let Some(nest) = construct.nest else { continue };
            let loops = &self.program.nests[nest].loops;
            let depth = loops.iter().position(|canonical| canonical.among.is_some());
            let clauses = construct
                .directives
                .iter()
                .map(|idx| &self.program.unit.directives[*idx])
                .filter(|directive| inside.contains_range(directive.range))
                .flat_map(|directive| directive.clauses_named(ClauseName::Collapse));
            for clause in clauses {
                let text = match depth {
                    None if loops.len() == 1 && self.is_in_region(construct) => {
                        self.inner_variables(construct, clause)
                    }
                    None => continue,
                    Some(1) => String::new(),
                    Some(depth) => format!("collapse({depth})"),
                };
                words.push((clause.range, text));
            }
        }
        words
    }

    /// `for (int i{0}; ..)` and `for (int i(0); ..)` of a directive, with the `=` that GCC asks for.
    fn assigned_first_values(&self, inside: TextRange) -> Vec<(TextRange, String)> {
        let program = self.program;
        let source = program.source();
        let loops = program.nests.iter().flat_map(|(_, nest)| &nest.loops);
        let is_meant = |canonical: &&CanonicalLoop| {
            let category = program.types.category(canonical.ty);
            canonical.declares_variable
                && canonical.element.is_none()
                && inside.contains_range(canonical.range)
                && matches!(category, Category::Scalar | Category::Pointer)
        };
        let mut words: Vec<(TextRange, String)> = Vec::new();
        for canonical in loops.filter(is_meant) {
            let value = canonical.lower;
            let before = source[..usize::from(value.start())].trim_end();
            let after = &source[usize::from(value.end())..];
            let behind = after.len() - after.trim_start().len();
            let opened = before.strip_suffix(['{', '(']);
            let outside = opened.unwrap_or(before).trim_end();
            let one = TextSize::of('(');
            let [start, end] = match opened {
                // `(0)` and `{0}` as they are
                None if program.text(value).starts_with(['{', '(']) => {
                    [value.start(), value.end() - one]
                }
                Some(_) => [
                    TextSize::of(before) - one,
                    value.end() + TextSize::of(&after[..behind]),
                ],
                None => continue,
            };
            let is_list = source[usize::from(start)..].starts_with('{');
            let is_assigned = outside.ends_with('=');
            let is_initialized = outside.ends_with(canonical.variable.as_str());
            if is_assigned && !is_list || !is_assigned && !is_initialized {
                continue;
            }
            let open = if is_assigned { "(" } else { " = (" };
            words.push((TextRange::at(start, one), open.to_string()));
            words.push((TextRange::at(end, one), ")".to_string()));
        }
        words.sort_by_key(|(at, _)| at.start());
        words.dedup();
        words
    }

    fn is_in_region(&self, construct: &Construct) -> bool {
        let outer = |id: &ConstructId| self.program.constructs[*id].parent;
        construct.has(Leaf::Target)
            || std::iter::successors(construct.parent, outer)
                .any(|id| self.program.constructs[id].has(Leaf::Target))
    }

    /// What is left of a `collapse` clause that takes one loop: the variables of the loops inside it are private.
    fn inner_variables(&self, construct: &Construct, clause: &Clause) -> String {
        let is_listed = |name: &str| {
            let directives = construct.directives.iter();
            let clauses =
                directives.flat_map(|idx| self.program.unit.directives[*idx].clauses.iter());
            let private = [ClauseName::Private, ClauseName::Lastprivate];
            clauses
                .filter(|clause| private.contains(&clause.name))
                .flat_map(Clause::items)
                .any(|item| self.program.text(item.range) == name)
        };
        let implied = construct.sharing.iter().filter(|sharing| {
            sharing.attribute == SharingAttribute::Private
                && clause.range.contains_range(sharing.at)
        });
        let names: Vec<&str> = implied
            .map(|sharing| self.program.name(sharing.symbol).as_str())
            .filter(|name| !is_listed(name))
            .collect();
        match names.is_empty() {
            true => String::new(),
            false => format!("private({})", names.join(", ")),
        }
    }

    fn dependences(&self, directive: &Directive, words: &mut Vec<(TextRange, String)>) {
        let names_all = |clause: &&Clause| {
            let mut items = clause.items().iter();
            items.any(|item| self.program.text(item.range).trim() == "omp_all_memory")
        };
        let depend = || directive.clauses_named(ClauseName::Depend);
        for clause in depend() {
            words.extend(
                clause
                    .modifiers()
                    .iter()
                    .filter(|kind| self.program.text(kind.word) == "inoutset")
                    .map(|kind| (kind.word, "REX_INOUTSET".to_string())),
            );
        }
        let mut all = depend().filter(names_all);
        let Some(first) = all.next() else { return };
        words.extend(all.map(|clause| (clause.range, String::new())));
        if directive.first() == Some(Leaf::Taskwait) {
            words.push((first.range, String::new()));
            return;
        }
        let at = TextRange::empty(directive.range.start());
        let indent = indent_at(self.program.source(), at.start());
        words.push((at, format!("#pragma omp taskwait\n{indent}")));
        let if_clause = directive.clause(ClauseName::If);
        words.push((first.range, if_clause.map_or("if(0)", |_| "").to_string()));
        words.extend(if_clause.map(|clause| (clause.range, "if(0)".to_string())));
    }

    /// Edits of the directives of a construct, with offsets in the unit: those `wanted`.
    pub(super) fn words_of_directives(
        &self,
        construct: TextRange,
        wanted: impl Fn(&TextRange) -> bool,
    ) -> Vec<(TextRange, String)> {
        let clauses = self.program.unit.directives_in(construct);
        let clauses = clauses.flat_map(|directive| directive.clauses.iter());
        let named = clauses
            .filter_map(|clause| Some((self.construct_word(clause)?, String::new())))
            .chain(self.collapsed_perfectly(construct));
        named.filter(|(range, _)| wanted(range)).collect()
    }

    /// The edits of a statement that is printed elsewhere.
    pub(super) fn newer_words_in(&self, statement: TextRange, edits: &mut EditSet) {
        let replaced: Vec<TextRange> = edits
            .edits()
            .iter()
            .map(|edit| edit.range)
            .filter(|range| !range.is_empty())
            .collect();
        for (range, text) in self.newer_words(statement) {
            let at = range - statement.start();
            if replaced.iter().any(|known| known.contains_range(at)) {
                continue;
            }
            match range.is_empty() {
                true => edits.insert(at.start(), 0, text),
                false => edits.replace(at, text),
            }
        }
    }

    /// The edits of the user's text that no construct replaces.
    pub(super) fn apply_newer_words(&mut self) {
        let whole = TextRange::up_to(rex_syntax::TextSize::of(self.program.source()));
        let replaced: Vec<TextRange> = self
            .edits
            .edits()
            .iter()
            .map(|edit| edit.range)
            .filter(|range| !range.is_empty())
            .collect();
        for (range, text) in self.newer_words(whole) {
            if replaced.iter().any(|known| known.contains_range(range)) {
                continue;
            }
            match (range.is_empty(), text.is_empty()) {
                (true, _) => self.edits.insert(range.start(), 0, text),
                (false, true) => self.edits.delete(self.whole_line(range)),
                (false, false) => self.edits.replace(range, text),
            }
        }
    }

    /// Where a directive around a launch makes every variable be named, the kernel's key is.
    pub(super) fn share_keys(&mut self) {
        let mut shared: Vec<(usize, Vec<String>)> = Vec::new();
        for (_, launch) in self.program.launches.iter() {
            let kernel = &self.program.kernels[launch.kernel];
            if kernel.template.is_some() {
                continue;
            }
            let region = self.program.regions[launch.region].construct;
            for directive in self.naming_directives(region) {
                let key = kernel.names.key().to_string();
                match shared.iter_mut().find(|(known, _)| *known == directive) {
                    Some((_, keys)) => keys.push(key),
                    None => shared.push((directive, vec![key])),
                }
            }
        }
        for (directive, keys) in shared {
            let range = self.program.unit.directives[directive].range;
            let text = format!(" shared({})", keys.join(", "));
            self.edits.insert(range.end(), 0, text);
        }
    }

    /// Directives around a construct whose `default` clause lets nothing outside be used without a word.
    fn naming_directives(&self, construct: ConstructId) -> Vec<usize> {
        let constructs = &self.program.constructs;
        let around = std::iter::successors(constructs[construct].parent, |outer| {
            constructs[*outer].parent
        });
        let names = |idx: &usize| {
            let default = self.program.unit.directives[*idx].clause(ClauseName::Default);
            default.is_some_and(|default| {
                let mut words = default.modifiers().iter();
                words.any(|word| {
                    matches!(
                        self.program.text(word.word),
                        "none" | "private" | "firstprivate"
                    )
                })
            })
        };
        around
            .flat_map(|outer| constructs[outer].directives.iter().copied())
            .filter(names)
            .collect()
    }
}
