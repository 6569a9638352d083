//! Inputs at random.

use super::random::Random;

/// What an input is.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Kind {
    /// A program with some changes.
    Programs,
    /// A small program with directives of random words.
    Directives,
    /// Bytes.
    Bytes,
}

impl Kind {
    pub(crate) const ALL: [Kind; 4] = [
        // Programs reach most of the compiler.
        Kind::Programs,
        Kind::Programs,
        Kind::Directives,
        Kind::Bytes,
    ];
}

/// Words that directives are made of, and what stands around them.
const WORDS: &[&str] = &[
    "\n#pragma omp ",
    "target",
    " teams",
    " distribute",
    " parallel",
    " for",
    " simd",
    " loop",
    " data",
    " enter",
    " exit",
    " update",
    " declare",
    " end",
    " sections",
    " single",
    " atomic",
    " critical",
    " barrier",
    " map(",
    " tofrom:",
    " to:",
    " always,",
    " reduction(",
    " +:",
    " private(",
    " collapse(2)",
    " if(",
    " num_teams(",
    " defaultmap(",
    " depend(",
    " iterator(",
    "[0:n]",
    "[:]",
    ")",
    "(",
    "{",
    "}",
    "[",
    "]",
    ";",
    "\\\n",
    "/*",
    "*/",
    "//",
    "\"",
    "'",
    "#if 1\n",
    "#else\n",
    "#endif\n",
    "#define M ",
    "_Pragma(\"omp target\")",
    "struct S {",
    "template <class T> ",
    "for (int i = 0; i < n; i++) ",
    "int x = ",
    "auto ",
    "::",
    "->",
    "*",
    "&",
    "\r\n",
    "\0",
    "\u{e9}",
    "0",
    "1",
    "x",
];

/// A program with up to eight changes.
pub(crate) fn mutated(program: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = program.to_vec();
    for _ in 0..=random.below(8) {
        let at = random.below(bytes.len() + 1);
        let end = (at + 1 + random.below(40)).min(bytes.len());
        match random.below(6) {
            0 => drop(bytes.splice(at..at, WORDS[random.below(WORDS.len())].bytes())),
            1 => drop(bytes.drain(at.min(end)..end)),
            2 => {
                let copy = bytes[at.min(end)..end].to_vec();
                let to = random.below(bytes.len() + 1);
                drop(bytes.splice(to..to, copy));
            }
            3 => {
                let from = random.below(other.len());
                let to = (from + random.below(200)).min(other.len());
                drop(bytes.splice(at..at, other[from..to].iter().copied()));
            }
            4 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = u8::try_from(random.below(256)).unwrap_or_default();
                }
            }
            _ => drop(bytes.splice(at.min(end)..end, WORDS[random.below(WORDS.len())].bytes())),
        }
    }
    bytes
}

/// A function with up to six directives, each of up to twenty words, in front of loops and statements.
pub(crate) fn directives(random: &mut Random) -> Vec<u8> {
    const STATEMENTS: &[&str] = &[
        "  for (int i = 0; i < n; i++) a[i] += x;\n",
        "  { x++; a[0] = x; }\n",
        "  ;\n",
        "  a[x] = n;\n",
        "",
    ];
    let mut text = String::from(
        "struct S { int m, *p; } s;\nint g[4];\nvoid f(int n, int *a) {\n  int x = 1;\n",
    );
    for _ in 0..=random.below(6) {
        text.push_str("#pragma omp target");
        for _ in 0..random.below(20) {
            text.push_str(WORDS[random.below(WORDS.len())]);
            text.push_str(OPERANDS[random.below(OPERANDS.len())]);
        }
        text.push('\n');
        text.push_str(STATEMENTS[random.below(STATEMENTS.len())]);
    }
    text.push_str("}\n");
    text.into_bytes()
}

/// What clauses name.
const OPERANDS: &[&str] = &[
    "", "", "", "", "x", "a", "n", "s", "s.p", "g", "i", ":", ", ",
];

/// Up to 4 KiB: of the whole range, or of those that programs are made of.
pub(crate) fn bytes(random: &mut Random) -> Vec<u8> {
    const OFTEN: &[u8] = b"(){}[];:,<>*&#\"'\\/=\n\r \0x0pragmaomptarget";
    let length = random.below(4096);
    let is_any = random.below(2) == 0;
    let byte = |random: &mut Random| match is_any {
        true => u8::try_from(random.below(256)).unwrap_or_default(),
        false => OFTEN[random.below(OFTEN.len())],
    };
    (0..length).map(|_| byte(random)).collect()
}
