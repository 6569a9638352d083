//! What nvcc refuses in device code because it exists for the host only, in rex's words.
//!
//! nvcc names the function with all that its type says, and the kernel by its symbol; it says the same thing twice.

use std::collections::{BTreeMap, BTreeSet};

use rex_syntax::diag::{Code, Diagnostic};
use rex_syntax::source::{FileId, FileRange, Language, SourceFile, SourceMap};
use rex_syntax::{TextRange, TextSize};

use crate::render::{Color, MessageFormat, render};

/// A call of a function of the host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct HostCall<'t> {
    path: &'t str,
    line: usize,
    callee: String,
    /// Who calls it. Empty if it is an object that is used.
    caller: &'t str,
}

/// What to write instead of parts of the library, by what the names of their functions hold.
const HELP: &[(&[&str], &str)] = &[
    (
        &[
            "basic_ostream",
            "basic_ofstream",
            "basic_stringstream",
            "basic_ostringstream",
            "std::endl",
        ],
        "print with `printf`",
    ),
    (
        &[
            "basic_istream",
            "basic_ifstream",
            "basic_istringstream",
            "filesystem",
            "basic_regex",
            "locale",
        ],
        "move the call out of the target region",
    ),
    (
        &["basic_string"],
        "use an array of `char`; with -std=c++20, strings of the library are for the device, too",
    ),
    (
        &["std::vector"],
        "use an array or `std::array`, or map the data of a vector of the host; with -std=c++20, vectors are for the device, too",
    ),
    (
        &[
            "std::deque",
            "std::list",
            "std::forward_list",
            "std::map",
            "std::set",
            "std::multi",
            "std::unordered_",
            "std::stack",
            "std::queue",
            "std::priority_queue",
            "std::valarray",
            "std::pmr",
        ],
        "use an array or `std::array`, or map the data of a container of the host",
    ),
    (
        &[
            "mutex",
            "lock_guard",
            "unique_lock",
            "scoped_lock",
            "condition_variable",
            "call_once",
            "std::barrier",
            "std::latch",
        ],
        "use `#pragma omp critical`, `atomic` or `barrier`",
    ),
    (
        &[
            "std::thread",
            "std::jthread",
            "std::async",
            "std::future",
            "std::promise",
        ],
        "use `#pragma omp parallel` or `task`",
    ),
    (&["std::ranges::views", "std::views"], "write the loop out"),
    (
        &["std::ranges"],
        "call the algorithm of `std` that takes iterators",
    ),
    (&["std::chrono"], "measure time with `omp_get_wtime`"),
    (
        &[
            "_engine",
            "_distribution",
            "std::random_device",
            "std::shuffle",
            "std::generate_canonical",
        ],
        "draw the numbers on the host, or write the generator as a function of the program",
    ),
    (
        &["std::function", "std::any", "std::move_only_function"],
        "use a lambda that a template parameter takes, or `std::variant`",
    ),
    (&["std::bitset"], "use an unsigned integer and its bits"),
    (
        &["std::atomic", "std::__atomic"],
        "use `#pragma omp atomic`",
    ),
    (
        &["unique_ptr", "shared_ptr", "make_unique", "weak_ptr"],
        "use a pointer with `new` and `delete`",
    ),
    (
        &["std::"],
        "move the call out of the target region; with -std=c++20, more of the library is for the device",
    ),
    (
        &[""],
        "define it in this file or in a header that it includes, so that rex makes a device version of it",
    ),
];

/// What nvcc printed, with calls of functions of the host as diagnostics.
pub(super) fn explained(messages: &str) -> String {
    let mut calls = BTreeSet::new();
    let mut rest = Vec::new();
    for line in messages.lines() {
        match host_call(line) {
            Some(call) => {
                calls.insert(call);
            }
            None => rest.push(line),
        }
    }
    for line in &rest {
        calls.extend(host_object(line).filter(|object| {
            !calls
                .iter()
                .any(|call: &HostCall<'_>| call.path == object.path && call.line == object.line)
        }));
    }
    if calls.is_empty() {
        return messages.to_owned();
    }
    // What the library calls in turn has no meaning for who calls the library.
    let all_calls = calls.clone();
    if calls.iter().any(|call| !is_of_library(call.path)) {
        calls.retain(|call| !is_of_library(call.path));
    }
    // It is said again that the function is not for the device, and how many errors there are.
    let is_told = |line: &str| {
        line.contains("is undefined in device code")
            && place(line).is_some_and(|(path, number, _)| {
                all_calls
                    .iter()
                    .any(|call| call.path == path && call.line == number)
            })
    };
    rest.retain(|line| !is_told(line));
    if !rest.iter().any(|line| line.contains("): error")) {
        rest.retain(|line| !line.contains("detected in the compilation of"));
    }
    rest.dedup_by(|one, other| one.is_empty() && other.is_empty());
    let mut text = shown(&calls);
    if rest.iter().any(|line| !line.is_empty()) {
        text.extend(rest.iter().flat_map(|line| [*line, "\n"]));
    }
    text
}

fn shown(calls: &BTreeSet<HostCall<'_>>) -> String {
    let mut sources = SourceMap::new();
    let mut files: BTreeMap<&str, FileId> = BTreeMap::new();
    let mut diagnostics = Vec::new();
    for call in calls {
        let file = *files.entry(call.path).or_insert_with(|| {
            let bytes = std::fs::read(call.path).unwrap_or_default();
            sources.add(SourceFile::new(call.path, Language::Cxx, bytes))
        });
        let range = range_of(sources.file(file).text(), call);
        let verb = if call.caller.is_empty() {
            "uses"
        } else {
            "calls"
        };
        let headline = format!(
            "device code {verb} `{}`, which nvcc has for the host only",
            call.callee
        );
        let place = FileRange { file, range };
        let mut diagnostic = Diagnostic::new(Code::CallWithoutDefinition, place, headline);
        if let Some((function, line)) = region_of(call.caller) {
            diagnostic = diagnostic.with_note(format!(
                "the target region is the one at line {line}, in `{function}`"
            ));
        } else if !call.caller.is_empty() {
            let caller = readable(call.caller);
            diagnostic = diagnostic.with_note(format!("`{caller}` is a device function"));
        }
        let help = HELP
            .iter()
            .find(|(parts, _)| parts.iter().any(|part| call.callee.contains(part)));
        if let Some((_, help)) = help {
            diagnostic = diagnostic.with_help(*help);
        }
        diagnostics.push(diagnostic);
    }
    render(&sources, &diagnostics, MessageFormat::Human, Color::Off)
}

fn is_of_library(path: &str) -> bool {
    path.contains("/include/c++/") || path.contains("/c++/v1/")
}

/// `path(line): error: text`
fn place(line: &str) -> Option<(&str, usize, &str)> {
    let (place, text) = line.split_once("): error: ")?;
    let (path, number) = place.rsplit_once('(')?;
    Some((path, number.parse().ok()?, text))
}

fn host_call(line: &str) -> Option<HostCall<'_>> {
    let (path, line, text) = place(line)?;
    let text = text.strip_prefix("calling a __host__ function(\"")?;
    let (callee, rest) = text.split_once("\") from a ")?;
    let caller = rest
        .split_once("function(\"")?
        .1
        .split_once("\") is not")?
        .0;
    Some(HostCall {
        path,
        line,
        callee: readable(callee),
        caller,
    })
}

fn host_object(line: &str) -> Option<HostCall<'_>> {
    let (path, line, text) = place(line)?;
    let name = text.strip_prefix("identifier \"")?;
    let name = name.strip_suffix("\" is undefined in device code")?;
    Some(HostCall {
        path,
        line,
        callee: readable(name),
        caller: "",
    })
}

/// The name in a function's description: without what it returns, its parameters and the arguments of templates.
fn readable(function: &str) -> String {
    let operator = function.find("operator ").map(|at| {
        let symbol = function[at + "operator ".len()..].trim_start();
        let end = symbol
            .char_indices()
            .find(|(at, c)| {
                *at > 0
                    && (c.is_whitespace() || c.is_alphanumeric() || "(_<".contains(*c) && *at > 1)
            })
            .map_or(symbol.len(), |(at, _)| at);
        (at, symbol[..end].to_owned())
    });
    let head = match &operator {
        Some((at, _)) => &function[..*at],
        None => without_parameters(function),
    };
    let mut name = last_name(head.trim_end());
    if let Some((_, symbol)) = operator {
        name = format!("{name}operator{symbol}");
    }
    name.trim_start_matches("::")
        .replace("__cxx11::", "")
        .replace("_V2::", "")
}

fn without_parameters(function: &str) -> &str {
    let Some(end) = function.rfind(')') else {
        return function;
    };
    let mut depth = 0_usize;
    for (at, c) in function[..=end].char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return &function[..at];
        }
    }
    function
}

/// The last name of a text, read from its end: `std::vector<int> ::size` gives `std::vector::size`.
fn last_name(text: &str) -> String {
    let mut depth = 0_usize;
    let mut reversed = Vec::new();
    let mut chars = text.chars().rev().peekable();
    while let Some(c) = chars.next() {
        match c {
            '>' | ')' => depth += 1,
            '<' | '(' => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            // One blank stands in front of a member, more or a word in front of the whole name.
            ' ' if chars.peek() == Some(&'>') => {}
            ' ' => break,
            '&' | '*' => break,
            _ => reversed.push(c),
        }
    }
    reversed.into_iter().rev().collect()
}

/// The function and the line of the region whose kernel has this symbol.
fn region_of(caller: &str) -> Option<(String, &str)> {
    let symbol = caller.split('(').next()?.split_whitespace().last()?;
    let inner = symbol.strip_prefix("OUT__")?.strip_suffix("__kernel__")?;
    let (_, inner) = inner.split_once("__")?;
    let (_, inner) = inner.split_once("__")?;
    let (function, line) = inner.rsplit_once("__")?;
    line.parse::<usize>().ok()?;
    Some((function.to_owned(), line))
}

/// The callee's last word in the line of the call, else the whole line.
fn range_of(text: &str, call: &HostCall<'_>) -> TextRange {
    let mut start = 0;
    for (idx, line) in text.split_inclusive('\n').enumerate() {
        if idx + 1 == call.line {
            let mut words = call.callee.rsplit("::").filter(|word| !word.is_empty());
            let found = words.find_map(|word| Some((line.find(word)?, word.len())));
            let content = line.trim();
            let indentation = line.len() - line.trim_start().len();
            let (at, length) = found.unwrap_or((indentation, content.len()));
            let offset = |at: usize| TextSize::try_from(at).unwrap_or_default();
            return TextRange::new(offset(start + at), offset(start + at + length));
        }
        start += line.len();
    }
    TextRange::empty(TextSize::new(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_readable() {
        let check = |function: &str, expected: &str| assert_eq!(readable(function), expected);
        check(
            "std::bitset<(unsigned long)64ul> ::set(unsigned long, bool)",
            "std::bitset::set",
        );
        check(
            "void  ::std::stable_sort<int *> (T1, T1)",
            "std::stable_sort",
        );
        check(
            "std::shared_ptr<   ::std::enable_if<!std::is_array<T1> ::value, T1> ::type>   ::std::make_shared<int, int > (T2 &&...)",
            "std::make_shared",
        );
        check(
            "std::basic_ostream<char, T1>  &  ::std::operator <<<    ::std::char_traits<char> > (    ::std::basic_ostream<char, T1>  &, const char *)",
            "std::operator<<",
        );
        check(
            "std::map<int, int,     ::std::less<int> > ::operator [](int &&)",
            "std::map::operator[]",
        );
        check(
            "std::chrono::_V2::steady_clock::now()",
            "std::chrono::steady_clock::now",
        );
        check("dbl(int)", "dbl");
    }

    #[test]
    fn regions_are_known_by_their_kernels() {
        let found = region_of("OUT__1__d3de74de__my__main__5__kernel__");
        assert_eq!(found, Some(("my__main".to_owned(), "5")));
        assert_eq!(region_of("f(int)"), None);
    }

    #[test]
    fn calls_of_the_host_are_told_once_and_other_errors_stay() {
        let messages = "a.cpp(7): error: calling a __host__ function(\"dbl(int)\") from a __global__ function(\"OUT__1__0__f__5__kernel__\") is not allowed\n\
                        \n\
                        a.cpp(7): error: identifier \"dbl\" is undefined in device code\n\
                        \n\
                        2 errors detected in the compilation of \"rex_nvidia.cu\".\n";
        let text = explained(messages);
        assert!(
            text.contains("error[REX0302]: device code calls `dbl`"),
            "{text}"
        );
        assert!(text.contains("at line 5, in `f`"), "{text}");
        assert!(
            !text.contains("undefined in device code") && !text.contains("detected"),
            "{text}"
        );
        let other =
            "a.cpp(9): error: expected a \";\"\n\n1 error detected in the compilation of \"x\".\n";
        assert_eq!(explained(other), other);
        let both = explained(&format!("{messages}{other}"));
        assert!(
            both.contains("expected a") && both.contains("1 error detected"),
            "{both}"
        );
    }
}
