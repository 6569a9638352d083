use super::*;

const TEXT: &str = r#"# 0 "m.c"
# 0 "<built-in>"
#define __x86_64__ 1
# 0 "<command-line>"
# 1 "m.c"
#define FIRST 1
# 1 "/usr/include/stdio.h" 1 3 4
#define EOF (-1)
int printf(const char *, ...);
# 13 "m.c" 2
# 1 "own.h" 1
#undef FIRST
int own;
# 15 "m.c" 2

int main() {
# 30 "m.c"
}
"#;

#[test]
fn an_include_brings_words_or_only_macros() {
    let text = "# 1 \"a.c\"\nvoid f() {\n# 1 \"m.h\" 1\n#define X 1\n# 3 \"a.c\" 2\n# 1 \"k.h\" 1\nx = 1;\n# 4 \"a.c\" 2\n}\n";
    let expansion = Expansion::parse(text.into(), "a.c");
    assert_eq!(expansion.words_included_at(2).count(), 0);
    assert_eq!(
        expansion.words_included_at(3).collect::<Vec<_>>(),
        ["x", "=", "1;"]
    );
}

#[test]
fn an_include_may_have_blank_lines_behind_it() {
    let text = "# 1 \"a.c\"\n# 1 \"k.h\" 1\nx = 1;\n# 2 \"a.c\" 2\n# 15 \"a.c\"\nint y;\n";
    let expansion = Expansion::parse(text.into(), "a.c");
    assert_eq!(
        expansion.words_included_at(1).collect::<Vec<_>>(),
        ["x", "=", "1;"]
    );
}

#[test]
fn lines_of_the_main_file_are_evidence() {
    let expansion = Expansion::parse(TEXT.into(), "m.c");
    let active: Vec<u32> = (0..40)
        .filter(|&line| expansion.is_active(line) == Activity::Active)
        .collect();
    assert_eq!(active, [1, 12, 14, 16, 30]);
}

#[test]
fn defines_know_the_include_that_brought_them() {
    let expansion = Expansion::parse(TEXT.into(), "other-name.c");
    let found: Vec<_> = expansion
        .defines()
        .iter()
        .map(|define| {
            (
                lex::slice(TEXT, define.rest),
                define.place,
                define.main_line,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("__x86_64__ 1", Place::System, 0),
            ("FIRST 1", Place::Main, 1),
            ("EOF (-1)", Place::System, 12),
            ("FIRST", Place::User, 14),
        ]
    );
}

#[test]
fn a_header_can_be_the_main_file() {
    let text =
        "# 1 \"m.c\"\n#define A 1\n# 1 \"own.h\" 1\n#define B A\nint own;\n# 3 \"m.c\" 2\nint x;\n";
    let expansion = Expansion::parse(text.into(), "own.h");
    assert_eq!(expansion.is_active(2), Activity::Active);
    assert_eq!(expansion.is_active(3), Activity::Inactive);
    let lines: Vec<u32> = expansion
        .defines()
        .iter()
        .map(|define| define.main_line)
        .collect();
    assert_eq!(lines, [0, 1]);
}
