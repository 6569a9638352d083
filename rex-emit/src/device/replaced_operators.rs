//! Functions that allocate memory, where the program defines its own in place of the library's.
//!
//! C++ says that the library's other forms call these: `new int[3]` calls `operator new[]`, which calls the `operator new` of the program. Devices have
//! forms of their own that do not.

use rex_ir::item::Function;
use rex_ir::program::Program;
use rex_syntax::{TextRange, lex};

/// A form of the library, and the one that it calls.
struct Form {
    name: &'static str,
    parameters: &'static [&'static str],
    calls: (&'static str, &'static [&'static str]),
    definition: &'static str,
}

const FORMS: [Form; 4] = [
    Form {
        name: "operator new[]",
        parameters: &["size"],
        calls: ("operator new", &["size"]),
        definition: "void *operator new[](size_t bytes) { return ::operator new(bytes); }",
    },
    Form {
        name: "operator delete",
        parameters: &["pointer", "size"],
        calls: ("operator delete", &["pointer"]),
        definition: "void operator delete(void *object, size_t) noexcept { ::operator delete(object); }",
    },
    Form {
        name: "operator delete[]",
        parameters: &["pointer"],
        calls: ("operator delete", &["pointer"]),
        definition: "void operator delete[](void *object) noexcept { ::operator delete(object); }",
    },
    Form {
        name: "operator delete[]",
        parameters: &["pointer", "size"],
        calls: ("operator delete[]", &["pointer"]),
        definition: "void operator delete[](void *object, size_t) noexcept { ::operator delete[](object); }",
    },
];

/// The library's forms that call functions of the program, in an order in which each is there before it is called.
pub(super) fn forms(program: &Program) -> Vec<&'static str> {
    let devices = program.device_code.functions.iter();
    let mut known: Vec<(String, Vec<&'static str>)> = devices
        .map(|device| &program.functions[device.function])
        .filter(|function| function.class.is_none() && function.namespaces.is_empty())
        .filter_map(|function| Some((name_of(function)?, parameters(program, function)?)))
        .collect();
    let mut lines = Vec::new();
    for form in FORMS {
        let has = |known: &[(String, Vec<&str>)], name: &str, parameters: &[&str]| {
            known
                .iter()
                .any(|(other, others)| other == name && others == parameters)
        };
        let (called, arguments) = form.calls;
        if has(&known, called, arguments) && !has(&known, form.name, form.parameters) {
            known.push((form.name.to_owned(), form.parameters.to_vec()));
            lines.push(form.definition);
        }
    }
    lines
}

/// `operator new[]`, however it is written.
fn name_of(function: &Function) -> Option<String> {
    let symbol = function.name.strip_prefix("operator")?;
    let symbol: String = symbol.split_whitespace().collect();
    matches!(&*symbol, "new" | "new[]" | "delete" | "delete[]")
        .then(|| format!("operator {symbol}"))
}

/// What the parameters of such a function are; nothing for others than those of the library's usual forms.
fn parameters(program: &Program, function: &Function) -> Option<Vec<&'static str>> {
    let head = program.text(TextRange::new(
        function.range.start(),
        function.body.start(),
    ));
    let (_, behind) = head.split_once("operator")?;
    let (_, inside) = behind.split_once('(')?;
    let (inside, _) = inside.split_once(')')?;
    inside
        .split(',')
        .map(|parameter| {
            let mut words = lex::significant_tokens(parameter, lex::whole(parameter))
                .map(|token| token.text(parameter));
            let is_size = words.any(|word| matches!(word, "size_t" | "long" | "__SIZE_TYPE__"));
            match parameter.contains('*') {
                true => Some("pointer"),
                false => is_size.then_some("size"),
            }
        })
        .collect()
}
