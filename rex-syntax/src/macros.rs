//! Macro definitions: which one a name has at a place, and what hides in it.
//!
//! Definitions of the main file come from its text; those of headers and of the compiler from the [`Expansion`], if there is one.

mod changes;
mod expand;
mod language;
mod pieces;
mod render;

use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use text_size::{TextRange, TextSize};

use crate::expansion::{DefineLine, Expansion, HeaderOrigin, Place};
use crate::layout::Layout;
use crate::lex::{self, Token, TokenKind, significant_tokens, slice};
use crate::pragma;

/// One macro definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MacroDef {
    /// The name.
    pub name: SmolStr,
    /// The parameters of a function-like macro.
    pub parameters: Option<Vec<SmolStr>>,
    /// Whether the last parameter takes all further arguments. `...` is called `__VA_ARGS__` here.
    pub variadic: bool,
    /// The replacement on one line, comments and continuations replaced by a blank.
    pub body: String,
    /// Which kind of file defines it.
    pub origin: HeaderOrigin,
    /// The `#define` line in the file of the table; `None` for definitions from elsewhere.
    pub range: Option<TextRange>,
}

impl MacroDef {
    /// Reads what stands after the word `define`.
    pub fn parse(rest: &str, origin: HeaderOrigin) -> Option<MacroDef> {
        let mut tokens = significant_tokens(rest, lex::whole(rest)).peekable();
        let name = tokens
            .next()
            .filter(|token| token.kind == TokenKind::Identifier)?;
        let mut parameters = None;
        let mut variadic = false;
        let mut body_start = name.range.end();
        let opens = tokens
            .peek()
            .is_some_and(|token| token.range.start() == body_start && token.text(rest) == "(");
        if opens {
            let mut names: Vec<SmolStr> = Vec::new();
            tokens.next();
            for token in tokens.by_ref() {
                match token.text(rest) {
                    ")" => {
                        body_start = token.range.end();
                        break;
                    }
                    "," => {}
                    "..." => {
                        variadic = true;
                        // GNU: `args...` names the rest; it follows its name without a comma.
                        let follows_comma = names.is_empty() || {
                            let before = rest.get(..usize::from(token.range.start()));
                            before.is_some_and(|before| before.trim_end().ends_with(','))
                        };
                        if follows_comma {
                            names.push("__VA_ARGS__".into());
                        }
                    }
                    word => names.push(word.into()),
                }
            }
            parameters = Some(names);
        }
        Some(MacroDef {
            name: name.text(rest).into(),
            parameters,
            variadic,
            body: one_line(rest, TextRange::new(body_start, TextSize::of(rest))),
            origin,
            range: None,
        })
    }

    /// Whether the name is a parameter.
    pub fn is_parameter(&self, name: &str) -> bool {
        self.parameters
            .as_ref()
            .is_some_and(|names| names.iter().any(|parameter| parameter == name))
    }
}

/// Every macro definition of a translation unit.
#[derive(Clone, Debug, Default)]
pub struct MacroTable {
    events: FxHashMap<SmolStr, Vec<Event>>,
    expansion: Option<Arc<Expansion>>,
    system: SystemMacros,
    /// Sorted, disjoint.
    inactive: Vec<TextRange>,
    /// Whether any definition mentions `_Pragma`.
    any_pragma: bool,
    /// The habits of the text, which expansions follow.
    layout: Layout,
}

/// Whether the table holds every definition there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SystemMacros {
    /// Headers and compiler are covered: a name without a definition is no macro.
    Known,
    /// Only the main file is covered.
    #[default]
    Unread,
}

/// A definition or its end, effective from `at` in the main file.
#[derive(Clone, Debug)]
struct Event {
    at: TextSize,
    source: EventSource,
    def: OnceLock<Option<MacroDef>>,
}

#[derive(Clone, Copy, Debug)]
enum EventSource {
    Undef,
    /// In the main text, already read.
    Main,
    /// An index into the expansion's list.
    Header(usize),
}

impl MacroTable {
    /// How long the preprocessor's text of the unit is, in bytes; 0 without one.
    pub(crate) fn expanded_len(&self) -> usize {
        self.expansion
            .as_ref()
            .map_or(0, |expansion| expansion.code().len())
    }

    /// Reads the definitions of a text and of the headers it includes.
    ///
    /// `inactive` are the ranges of the text that the preprocessor skips; `offset_of_line` tells where in the text a line of the
    /// expansion's main file begins.
    pub fn read(
        text: &str,
        inactive: &[TextRange],
        expansion: Option<Arc<Expansion>>,
        offset_of_line: impl Fn(u32) -> TextSize,
    ) -> MacroTable {
        let mut table = MacroTable {
            system: match expansion {
                Some(_) => SystemMacros::Known,
                None => SystemMacros::Unread,
            },
            expansion,
            inactive: inactive.to_vec(),
            layout: Layout::detect(text),
            ..MacroTable::default()
        };
        table.read_headers(offset_of_line);
        table.read_text(text);
        table
    }

    fn read_headers(&mut self, offset_of_line: impl Fn(u32) -> TextSize) {
        let Some(expansion) = self.expansion.clone() else {
            return;
        };
        let mut last_line = (0, TextSize::new(0));
        for (idx, define) in expansion.defines().iter().enumerate() {
            if define.place == Place::Main {
                continue;
            }
            if define.main_line != last_line.0 {
                last_line = (define.main_line, offset_of_line(define.main_line));
            }
            let Some(name) = define.name(expansion.text()) else {
                continue;
            };
            self.any_pragma =
                self.any_pragma || slice(expansion.text(), define.rest).contains("_Pragma");
            let source = match define.is_undef {
                true => EventSource::Undef,
                false => EventSource::Header(idx),
            };
            self.push(name.into(), last_line.1, source, OnceLock::new());
        }
    }

    fn read_text(&mut self, text: &str) {
        for line in pragma::directives(text) {
            let is_undef = match line.name(text) {
                "define" => false,
                "undef" => true,
                _ => continue,
            };
            if self.skips(line.range.start()) {
                continue;
            }
            let Some(mut def) = MacroDef::parse(slice(text, line.rest), HeaderOrigin::Main) else {
                continue;
            };
            self.any_pragma |= def.body.contains("_Pragma");
            let name = def.name.clone();
            def.range = Some(line.range);
            let (source, def) = match is_undef {
                true => (EventSource::Undef, OnceLock::new()),
                false => (EventSource::Main, OnceLock::from(Some(def))),
            };
            self.push(name, line.range.start(), source, def);
        }
    }

    fn push(
        &mut self,
        name: SmolStr,
        at: TextSize,
        source: EventSource,
        def: OnceLock<Option<MacroDef>>,
    ) {
        let events = self.events.entry(name).or_default();
        let idx = events.partition_point(|event| event.at <= at);
        events.insert(idx, Event { at, source, def });
    }

    /// The definition of a name that is in force at an offset of the main file.
    pub fn lookup_at(&self, name: &str, offset: TextSize) -> Option<&MacroDef> {
        let events = self.events.get(name)?;
        let after = events.partition_point(|event| event.at <= offset);
        let event = events.get(after.checked_sub(1)?)?;
        match event.source {
            EventSource::Undef => None,
            EventSource::Main => event.def.get()?.as_ref(),
            EventSource::Header(idx) => event.def.get_or_init(|| self.header_def(idx)).as_ref(),
        }
    }

    fn header_def(&self, idx: usize) -> Option<MacroDef> {
        let expansion = self.expansion.as_ref()?;
        let define = expansion.defines().get(idx)?;
        let origin = expansion.origin(define.place, define.file);
        MacroDef::parse(slice(expansion.text(), define.rest), origin)
    }

    /// Whether a name is a macro of the program's own files at an offset of the main file.
    pub fn is_own_at(&self, name: &str, offset: TextSize) -> bool {
        let def = self.lookup_at(name, offset);
        def.is_some_and(|def| def.origin != HeaderOrigin::System)
    }

    /// Whether a name is a macro at any place.
    pub fn is_ever_defined(&self, name: &str) -> bool {
        let is_definition = |event: &Event| !matches!(event.source, EventSource::Undef);
        self.events
            .get(name)
            .is_some_and(|events| events.iter().any(is_definition))
    }

    /// The names that the program and its own headers give to macros, in no order.
    pub fn names_of_program(&self) -> impl Iterator<Item = &SmolStr> {
        let expansion = self.expansion.as_deref();
        let is_own = move |event: &Event| match event.source {
            EventSource::Undef => false,
            EventSource::Main => true,
            EventSource::Header(idx) => expansion
                .and_then(|expansion| expansion.defines().get(idx))
                .is_some_and(|define| define.place == Place::User),
        };
        let events = self.events.iter();
        events
            .filter(move |(_, events)| events.iter().any(&is_own))
            .map(|(name, _)| name)
    }

    /// Whether a name without a definition is known to be no macro.
    pub fn is_complete(&self) -> bool {
        self.system == SystemMacros::Known
    }

    /// The preprocessed text that the table was read from, if any.
    pub(crate) fn expansion(&self) -> Option<&Expansion> {
        self.expansion.as_deref()
    }

    /// Whether the preprocessor skips this place.
    pub(crate) fn skips(&self, at: TextSize) -> bool {
        let idx = self.inactive.partition_point(|range| range.end() <= at);
        self.inactive
            .get(idx)
            .is_some_and(|range| range.contains(at))
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn skips_anything(&self) -> bool {
        !self.inactive.is_empty()
    }

    /// Whether any macro bears a pragma of any kind.
    pub(crate) fn any_pragma(&self) -> bool {
        self.any_pragma
    }

    /// Whether the name is a macro at any place.
    pub(crate) fn is_macro_somewhere(&self, name: &str) -> bool {
        self.events.contains_key(name)
    }

    /// Every name that may appear when this macro is expanded: the identifiers of its body and, through other macros, of theirs.
    ///
    /// Parameters are left out, and so are the names of macros that are expanded further. The name of a macro with parameters is both
    /// where the body does not call it.
    pub fn names_used_by(&self, name: &str, offset: TextSize) -> Vec<SmolStr> {
        let mut names = Vec::new();
        let mut seen: FxHashSet<SmolStr> = FxHashSet::default();
        let mut waiting: Vec<&MacroDef> = self.lookup_at(name, offset).into_iter().collect();
        let mut expanding: FxHashSet<&str> = waiting.iter().map(|def| def.name.as_str()).collect();
        while let Some(def) = waiting.pop() {
            for token in body_identifiers(&def.body) {
                let word = token.text(&def.body);
                if def.is_parameter(word) {
                    continue;
                }
                let inner = self.lookup_at(word, offset);
                let rest = &def.body[usize::from(token.range.end())..];
                let is_expanded = inner.is_some_and(|inner| {
                    inner.parameters.is_none() || rest.trim_start().starts_with('(')
                });
                let is_new = !expanding.contains(word);
                if let Some(inner) = inner.filter(|_| is_new) {
                    expanding.insert(&inner.name);
                    waiting.push(inner);
                }
                if !(is_expanded && is_new) && seen.insert(word.into()) {
                    names.push(word.into());
                }
            }
        }
        names
    }

    /// Whether the expansion of a macro of the program holds a word, through other such macros or its own body.
    pub fn leads_to(&self, name: &str, offset: TextSize, word: &str) -> bool {
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        let mut waiting: Vec<&MacroDef> = self.lookup_at(name, offset).into_iter().collect();
        while let Some(def) = waiting.pop() {
            // What the system's macros ask for is their own matter.
            if def.origin == HeaderOrigin::System || !seen.insert(&def.name) {
                continue;
            }
            let words = || body_identifiers(&def.body).map(|token| token.text(&def.body));
            if words().any(|inner| inner == word) {
                return true;
            }
            waiting.extend(words().filter_map(|inner| self.lookup_at(inner, offset)));
        }
        false
    }

    /// Whether a macro, or one that its body names, may make names of its arguments: pastes tokens together, or qualifies words.
    pub(crate) fn makes_names(&self, name: &str, offset: TextSize) -> bool {
        let mut seen: FxHashSet<&str> = FxHashSet::default();
        let mut waiting: Vec<&MacroDef> = self.lookup_at(name, offset).into_iter().collect();
        while let Some(def) = waiting.pop() {
            if def.body.contains("##") || def.body.contains("::") {
                return true;
            }
            if seen.insert(&def.name) {
                let words = body_identifiers(&def.body).map(|token| token.text(&def.body));
                waiting.extend(words.filter_map(|word| self.lookup_at(word, offset)));
            }
        }
        false
    }

    /// Whether any definition of this name has `_Pragma("omp ..")` in its body, directly or through other macros.
    pub fn bears_pragma(&self, name: &str) -> bool {
        if !self.any_pragma || !self.is_macro_somewhere(name) {
            return false;
        }
        let mut seen: FxHashSet<SmolStr> = FxHashSet::default();
        let mut waiting = vec![SmolStr::from(name)];
        while let Some(name) = waiting.pop() {
            if seen.contains(&name) {
                continue;
            }
            for event in self.events.get(&name).map_or(&[][..], Vec::as_slice) {
                let Some(def) = self.lookup_at(&name, event.at) else {
                    continue;
                };
                if def.body.contains("_Pragma") && has_omp_pragma(&def.body) {
                    return true;
                }
                let words = body_identifiers(&def.body).map(|token| token.text(&def.body).into());
                waiting.extend(words.filter(|word| self.events.contains_key(word)));
            }
            seen.insert(name);
        }
        false
    }
}

impl DefineLine {
    /// The macro's name.
    pub(crate) fn name<'t>(&self, text: &'t str) -> Option<&'t str> {
        let rest = slice(text, self.rest).trim_start();
        let end = rest
            .bytes()
            .position(|byte| !lex::is_identifier_byte(byte) && !byte.is_ascii_digit())
            .unwrap_or(rest.len());
        (end > 0).then(|| &rest[..end])
    }
}

fn body_identifiers(body: &str) -> impl Iterator<Item = Token> {
    significant_tokens(body, lex::whole(body)).filter(|token| token.kind == TokenKind::Identifier)
}

/// Whether a body calls `_Pragma` with an omp directive, or with something that only expansion can tell.
fn has_omp_pragma(body: &str) -> bool {
    let tokens: Vec<Token> = significant_tokens(body, lex::whole(body)).collect();
    tokens.windows(3).any(|window| {
        window[0].text(body) == "_Pragma"
            && match window[2].kind {
                TokenKind::String => {
                    pragma::is_omp_string(&pragma::destringize(window[2].text(body)))
                }
                _ => true,
            }
    })
}

/// The text of a range on one line: comments, continuations and runs of blanks become one blank.
fn one_line(text: &str, range: TextRange) -> String {
    let mut out = String::new();
    let mut last_end = range.start();
    for token in significant_tokens(text, range) {
        if token.range.start() > last_end && !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&token.spelling(text));
        last_end = token.range.end();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> MacroTable {
        MacroTable::read(text, &[], None, |_| TextSize::new(0))
    }

    #[test]
    fn definitions_are_read() {
        let def = MacroDef::parse(" F(a, b...) a /* c */ + \\\n  b", HeaderOrigin::Main)
            .expect("a macro");
        assert_eq!(
            def.parameters.as_deref(),
            Some(&["a".into(), "b".into()][..])
        );
        assert!(def.variadic);
        assert_eq!(def.body, "a + b");
        let def = MacroDef::parse("G(...) f(__VA_ARGS__)", HeaderOrigin::Main).expect("a macro");
        assert_eq!(def.parameters.as_deref(), Some(&["__VA_ARGS__".into()][..]));
        let def = MacroDef::parse("H (x)", HeaderOrigin::Main).expect("a macro");
        assert_eq!((def.parameters, &*def.body), (None, "(x)"));
    }

    #[test]
    fn redefinition_and_undef_count_from_their_line() {
        let text = "a\n#define N 1\nb\n#undef N\nc\n#define N 2\nd";
        let table = table(text);
        let at = |what: &str| {
            let offset = text.find(what).expect("present");
            let offset = TextSize::try_from(offset).expect("small");
            table.lookup_at("N", offset).map(|def| def.body.as_str())
        };
        assert_eq!((at("a\n"), at("b\n"), at("c\n")), (None, Some("1"), None));
        assert_eq!(
            table
                .lookup_at("N", TextSize::of(text))
                .map(|def| &*def.body),
            Some("2")
        );
    }

    #[test]
    fn names_are_found_through_nested_macros() {
        let text = "#define img(b,y,x) img[(b)*IW+(y)+(x)]\n#define IW img_w\n";
        let names = table(text).names_used_by("img", TextSize::of(text));
        assert_eq!(names, ["img", "img_w"]);

        // A macro with parameters is called only where a parenthesis follows it.
        let text = "#define v(x) x + inner\n#define lane (v)\n";
        let names = table(text).names_used_by("lane", TextSize::of(text));
        assert_eq!(names, ["v", "inner"]);
    }

    #[test]
    fn headers_define_from_their_include_on() {
        let expansion = "# 1 \"m.c\"\n# 1 \"h.h\" 1\n#define N 3\n# 3 \"m.c\" 2\nint n = 3;\n";
        let expansion = Arc::new(Expansion::parse(expansion.into(), "m.c"));
        let text = "int a;\n#include \"h.h\"\nint n = N;\n";
        let lines = [0, 0, 7, 22];
        let table = MacroTable::read(text, &[], Some(expansion), |line| {
            lines[line as usize].into()
        });
        assert!(table.lookup_at("N", 3.into()).is_none());
        let def = table.lookup_at("N", 30.into()).expect("included");
        assert_eq!(def.origin, HeaderOrigin::User { file: "h.h".into() });
    }

    #[test]
    fn pragmas_are_found_through_macros() {
        let table = table(
            "#define P _Pragma(\"omp target\") {}\n#define Q P\n#define R _Pragma(\"once\")\n",
        );
        assert!(table.bears_pragma("P") && table.bears_pragma("Q"));
        assert!(!table.bears_pragma("R") && !table.bears_pragma("S"));
    }
}
