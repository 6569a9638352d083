//! `uses_allocators` and `allocate`: which allocators a region has, and how its private variables are aligned.
//!
//! Where a private variable lies is not what a program can observe: those of a team are in shared memory already, those of a thread are its own. Its alignment is.

use rex_syntax::TextRange;
use rex_syntax::lex;
use rex_syntax::omp::clause::{Argument, Clause, ClauseName, Modifier};
use rex_syntax::omp::directive::Leaf;
use smol_str::format_smolstr;

use super::Builder;
use super::constructs::{split_top_level, sub_range};
use crate::region::{Alignment, ConstructId, DataSharing, SharingAttribute, UsedAllocator};
use crate::symbol::SymbolId;

/// The allocators that every program has (OpenMP 5.2, table 6.3). Headers may declare them as variables.
const PREDEFINED: [&str; 8] = [
    "omp_default_mem_alloc",
    "omp_large_cap_mem_alloc",
    "omp_const_mem_alloc",
    "omp_high_bw_mem_alloc",
    "omp_low_lat_mem_alloc",
    "omp_cgroup_mem_alloc",
    "omp_pteam_mem_alloc",
    "omp_thread_mem_alloc",
];

impl Builder<'_> {
    /// The allocators of a `uses_allocators` clause that are variables. Predefined ones need nothing.
    pub(super) fn used_allocators(&self, clause: &Clause) -> Vec<UsedAllocator> {
        let Argument::Raw(whole) = clause.argument else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (start, end) in split_top_level(self.text(whole), ';') {
            let group = sub_range(whole, start, end);
            let colon = split_top_level(self.text(group), ':');
            let [modifiers, list] = colon.as_slice() else {
                let items = split_top_level(self.text(group), ',');
                found.extend(items.into_iter().filter_map(|(start, end)| {
                    let item = sub_range(group, start, end);
                    let (at, argument) = self.word_and_argument(item)?;
                    self.used_allocator(at, argument, None)
                }));
                continue;
            };
            let modifiers = sub_range(group, modifiers.0, modifiers.1);
            let (mut traits, mut memory_space) = (None, None);
            for (start, end) in split_top_level(self.text(modifiers), ',') {
                if let Some((at, argument)) =
                    self.word_and_argument(sub_range(modifiers, start, end))
                {
                    match self.text(at) {
                        "traits" => traits = argument,
                        "memspace" => memory_space = argument,
                        _ => {}
                    }
                }
            }
            let item = sub_range(group, list.0, list.1);
            if let Some((at, _)) = self.word_and_argument(item) {
                found.extend(self.used_allocator(at, traits, memory_space));
            }
        }
        found
    }

    fn used_allocator(
        &self,
        at: TextRange,
        traits: Option<TextRange>,
        memory_space: Option<TextRange>,
    ) -> Option<UsedAllocator> {
        if PREDEFINED.contains(&self.text(at)) {
            return None;
        }
        Some(UsedAllocator {
            allocator: self.variable_at(at)?,
            traits: traits.and_then(|traits| {
                let name = lex::identifiers(self.source, traits).next()?;
                Some((self.variable_at(name)?, name))
            }),
            memory_space,
            at,
        })
    }

    fn variable_at(&self, at: TextRange) -> Option<SymbolId> {
        self.scopes
            .resolve(&self.symbols, self.text(at), at)
            .filter(|symbol| self.symbols[*symbol].kind.is_variable())
    }

    /// `word` or `word(argument)`
    fn word_and_argument(&self, item: TextRange) -> Option<(TextRange, Option<TextRange>)> {
        let word = lex::identifiers(self.source, item).next()?;
        let rest = TextRange::new(word.end(), item.end());
        let text = self.text(rest);
        let argument = text
            .find('(')
            .zip(text.rfind(')'))
            .filter(|(open, close)| open < close)
            .map(|(open, close)| sub_range(rest, open + 1, close));
        Some((word, argument))
    }

    /// An allocator is private to the region, and its traits are copied into it.
    pub(super) fn share_allocators(&self, clause: &Clause, sharing: &mut Vec<DataSharing>) {
        for used in self.used_allocators(clause) {
            if let Some((symbol, at)) = used.traits {
                sharing.push(DataSharing {
                    symbol,
                    attribute: SharingAttribute::Firstprivate,
                    on: Leaf::Target,
                    is_on_target: true,
                    at,
                });
            }
            sharing.push(DataSharing {
                symbol: used.allocator,
                attribute: SharingAttribute::Private,
                on: Leaf::Target,
                is_on_target: true,
                at: used.at,
            });
        }
    }

    /// The allocators of a region.
    pub(super) fn allocators_of(&self, construct: ConstructId) -> Vec<UsedAllocator> {
        let directives = self.constructs[construct].directives.iter();
        directives
            .flat_map(|idx| self.unit.directives[*idx].clauses_named(ClauseName::UsesAllocators))
            .flat_map(|clause| self.used_allocators(clause))
            .collect()
    }

    /// What `allocate(align(64): x)`, or the traits of the allocator in `allocate(mine: x)`, says about private variables.
    pub(super) fn alignments_of(&self, directives: &[usize]) -> Vec<Alignment> {
        let clauses = directives
            .iter()
            .flat_map(|idx| self.unit.directives[*idx].clauses_named(ClauseName::Allocate));
        let mut found = Vec::new();
        for clause in clauses {
            let modifier = clause
                .modifiers()
                .iter()
                .find(|modifier| self.text(modifier.word) == "align");
            let value = modifier.and_then(|modifier| modifier.argument);
            let Some(value) = value.or_else(|| self.alignment_of_traits(clause, directives)) else {
                continue;
            };
            found.extend(clause.items().iter().filter_map(|item| {
                let symbol = self.variable_at(lex::identifiers(self.source, item.range).next()?)?;
                Some(Alignment { symbol, value })
            }));
        }
        found
    }

    /// The alignment among the traits of the allocator that an `allocate` clause names.
    fn alignment_of_traits(&self, clause: &Clause, directives: &[usize]) -> Option<TextRange> {
        let named = |modifier: &Modifier| match self.text(modifier.word) {
            "allocator" => modifier.argument.map(|argument| self.text(argument).trim()),
            word => Some(word),
        };
        let allocator = clause.modifiers().iter().find_map(named)?;
        let used = directives
            .iter()
            .flat_map(|idx| self.unit.directives[*idx].clauses_named(ClauseName::UsesAllocators))
            .flat_map(|clause| self.used_allocators(clause))
            .find(|used| self.symbols[used.allocator].name == allocator)?;
        let traits = self.symbols[used.traits?.0].initializer?;
        let mut tokens = lex::significant_tokens(self.source, traits)
            .skip_while(|token| token.text(self.source) != "omp_atk_alignment")
            .skip(2)
            .take_while(|token| token.text(self.source) != "}");
        let value = tokens.next()?.range;
        let bytes: u64 = self.text(value).parse().ok()?;
        // Smaller ones the types of most variables have by themselves.
        (bytes >= 16 && tokens.next().is_none()).then_some(value)
    }

    /// What an `allocate` directive with `align` says about a variable of device code.
    pub(super) fn read_aligned_declarations(&mut self) {
        let unit = self.unit;
        for directive in &unit.directives {
            let (Some(Leaf::Allocate), Some(list)) = (directive.first(), directive.argument) else {
                continue;
            };
            let value = directive
                .clause(ClauseName::Align)
                .and_then(Clause::expression);
            let Some(value) = value else { continue };
            for name in lex::identifiers(self.source, list).collect::<Vec<_>>() {
                let symbol = self.variable_at(name);
                let declaration = symbol.and_then(|symbol| self.symbols[symbol].declaration);
                if let Some(declaration) = declaration {
                    let at = TextRange::empty(declaration.start());
                    if !self.alignments.contains(&(at, value)) {
                        self.alignments.push((at, value));
                        let word = format_smolstr!("alignas({}) ", self.text(value).trim());
                        self.conversions.push((at, word));
                    }
                }
            }
        }
    }
}
