//! Texts in which each of forty things names the one before it twice: whatever follows names has to remember where it was.
//!
//! A host compiler would not take all of them, as a macro that doubles forty times is a terabyte of text; rex reads them as they stand.

use rex_driver::{Compilation, Compiler, Language, SourceInput};
use rex_syntax::diag::Code;

/// How many things name each other.
const N_THINGS: usize = 40;

/// A text of a head, numbered things and a tail.
struct Shape {
    name: &'static str,
    language: Language,
    head: &'static str,
    /// `@` is the number, `%` the one before it.
    item: &'static str,
    /// `@` is the number of the last.
    tail: &'static str,
}

const SHAPES: &[Shape] = &[
    Shape {
        name: "macros for values",
        language: Language::C,
        head: "#define M0 1\n",
        item: "#define M@ (M% + M%)\n",
        tail: "int main(void) {\n int r = 0, n = M@;\n\
            #pragma omp target teams distribute parallel for num_teams(M@) map(tofrom: r) collapse(M@)\n\
            for (int i = 0; i < M@; i++) r += M@;\n return r;\n}\n",
    },
    Shape {
        name: "macros for statements",
        language: Language::C,
        head: "#define M0(x) x++\n",
        item: "#define M@(x) do { M%(x); M%(x); } while (0)\n",
        tail: "int main(void) {\n int r = 0;\n#pragma omp target map(tofrom: r)\n { M@(r); M@(r) }\n\
            #pragma omp target teams distribute parallel for map(tofrom: r)\n\
            for (int i = 0; i < 3; i++) { M@(r); }\n return r;\n}\n",
    },
    Shape {
        name: "macros for specifiers",
        language: Language::C,
        head: "#define M0 static\n",
        item: "#define M@ M% M%\n",
        tail: "#pragma omp declare target\nM@ int f(int x) { return x; }\n#pragma omp end declare target\n\
            int main(void) {\n int r;\n#pragma omp target map(from: r)\n r = f(2);\n return r;\n}\n",
    },
    Shape {
        name: "macros for clauses",
        language: Language::C,
        head: "#define M0 map(to: a)\n",
        item: "#define M@ M% M%\n",
        tail: "int main(void) {\n int a = 1, r = 0;\n#pragma omp target map(tofrom: r) M@\n r += a;\n return r;\n}\n",
    },
    Shape {
        name: "constants",
        language: Language::Cxx,
        head: "const int c0 = 1;\n",
        item: "const int c@ = c% - c%;\n",
        tail: "int a[c@ + 1];\nint main() {\n int r = 0;\n\
            #pragma omp target teams distribute parallel for num_teams(c@ + 1) map(tofrom: r) collapse(c@ + 1)\n\
            for (int i = 0; i < c@; i++) r += c@ + a[0];\n return r;\n}\n",
    },
    Shape {
        name: "enumerators",
        language: Language::C,
        head: "enum { e0 = 1 };\n",
        item: "enum { e@ = e% - e% };\n",
        tail: "int a[e@ + 1];\nint main(void) {\n int r = 0;\n\
            #pragma omp target teams distribute parallel for map(tofrom: r) collapse(e@ + 1)\n\
            for (int i = 0; i < e@; i++) r += e@ + a[0];\n return r;\n}\n",
    },
    Shape {
        name: "constants of a class template",
        language: Language::Cxx,
        head: "template <int N> struct T {\n static constexpr int c0 = N;\n",
        item: " static constexpr int c@ = c% - c%;\n",
        tail: " int run() {\n int r = 0;\n\
            #pragma omp target teams distribute parallel for num_teams(c@ + 1) map(tofrom: r) collapse(c@)\n\
            for (int i = 0; i < c@; i++) r += c@;\n return r;\n }\n};\nint main() { return T<3>().run(); }\n",
    },
    Shape {
        name: "members",
        language: Language::Cxx,
        head: "struct S0 { int a; };\n",
        item: "struct S@ { S% x, y; };\n",
        tail: "int main() {\n S@ z;\n S@ *p = &z;\n int r = 0;\n\
            #pragma omp declare target\n static S@ kept;\n#pragma omp end declare target\n\
            #pragma omp target firstprivate(z) map(tofrom: r) map(to: p[0:1])\n\
            {\n S@ y = *p;\n r += z.x.x.a;\n\
            #pragma omp parallel private(z) firstprivate(y)\n r += y.x.y.a + z.x.y.a;\n }\n return r;\n}\n",
    },
    Shape {
        name: "members with a destructor and a mapper",
        language: Language::Cxx,
        head: "struct S0 { int n; int *v; ~S0() {} };\n#pragma omp declare mapper(S0 s) map(s.n, s.v[0:s.n])\n",
        item: "struct S@ { S% x, y; };\n",
        tail: "int f(S@ *p) {\n int r = 0;\n#pragma omp target map(tofrom: r, p[0:1])\n r += p->x.x.n;\n return r;\n}\n\
            int g(S@ s) {\n int r = 0;\n#pragma omp target firstprivate(s) map(tofrom: r)\n r += s.x.x.n;\n return r;\n}\n",
    },
    Shape {
        name: "mappers",
        language: Language::C,
        head: "struct v0 { int n; int *p; };\n#pragma omp declare mapper(struct v0 v) map(v.n, v.p[0:v.n])\n",
        item: "struct v@ { struct v% a, b; };\n#pragma omp declare mapper(struct v@ v) map(v.a, v.b)\n",
        tail: "int f(struct v@ *p) {\n int r = 0;\n#pragma omp target map(tofrom: r) map(to: p[0:1])\n r = p->a.a.n;\n return r;\n}\n",
    },
    Shape {
        name: "references to each other",
        language: Language::Cxx,
        head: "struct vec { int n; int *v; };\n#pragma omp declare mapper(vec s) map(s.n, s.v[0:s.n])\nstruct R0 { vec v; };\n",
        item: "struct R@ { R% &x, &y; R@ &own, &other; vec v; };\n",
        tail: "int f(R@ &n) {\n int r = 0;\n#pragma omp target map(tofrom: r, n)\n r += n.v.n;\n return r;\n}\n",
    },
    Shape {
        name: "bases",
        language: Language::Cxx,
        head: "struct B0 { int v; static int s; int f() { return v; } };\n",
        item: "struct L@ : B% {};\nstruct R@ : B% {};\nstruct B@ : L@, R@ {};\n",
        tail: "int f(B@ *p) {\n int r = 0;\n#pragma omp target map(tofrom: r) map(to: p[0:1])\n\
            r += p->v + B@::s + p->f();\n return r;\n}\n",
    },
    Shape {
        name: "types",
        language: Language::Cxx,
        head: "template <class A, class B> struct P { A a; B b; };\nusing t0 = int;\n",
        item: "using t@ = P<t%, t%>;\n",
        tail: "int f(t@ *p) {\n int r = 0;\n auto q = p->a;\n auto &w = q.b;\n\
            #pragma omp target map(tofrom: r) map(to: p[0:1], q)\n {\n r = p->a.b.a != 0;\n auto z = p->a;\n }\n return r;\n}\n",
    },
    Shape {
        name: "functions",
        language: Language::Cxx,
        head: "template <class T> T g0(T x) { return x; }\n",
        item: "template <class T> auto g@(T x) { return g%(x) + g%(x); }\n",
        tail: "int main() {\n int r = 0;\n auto k = g@(1);\n#pragma omp target map(tofrom: r)\n r = g@(1) + k;\n return r;\n}\n",
    },
    Shape {
        name: "deduced types and lambdas",
        language: Language::Cxx,
        head: "int main() {\n auto a0 = 1;\n auto l0 = [](int x) { return x; };\n",
        item: " auto a@ = a% + a%;\n decltype(a@ + a%) d@ = 0;\n auto l@ = [=](int x) { return l%(x) + l%(x); };\n",
        tail: " int r = 0;\n#pragma omp target map(tofrom: r)\n r = a@ + d@ + l@(1);\n return r;\n}\n",
    },
    Shape {
        name: "variants",
        language: Language::C,
        head: "int h0(int x) { return x; }\n",
        item: "int h@(int x);\nint k@(int x) { return h%(x) + h%(x); }\n\
            #pragma omp declare variant(k@) match(construct={target})\nint h@(int x) { return h%(x) + h%(x); }\n",
        tail: "int main(void) {\n int r;\n#pragma omp target map(from: r)\n r = h@(1);\n return r;\n}\n",
    },
];

/// Structs of structs, thousands deep.
const DEEP: &[Shape] = &[
    Shape {
        name: "mappers of members",
        language: Language::C,
        head: "struct v0 { int n, *p; };\n#pragma omp declare mapper(struct v0 v) map(v.n, v.p[0:v.n])\n",
        item: "struct v@ { struct v% a; };\n#pragma omp declare mapper(struct v@ v) map(v.a)\n",
        tail: "int f(struct v@ *p) {\n int r = 0;\n#pragma omp target map(tofrom: r) map(to: p[0:1])\n r = 1;\n return r;\n}\n",
    },
    Shape {
        name: "members with a mapper",
        language: Language::C,
        head: "struct v0 { int n, *p; };\n#pragma omp declare mapper(struct v0 v) map(v.n, v.p[0:v.n])\n",
        item: "struct v@ { struct v% a; };\n",
        tail: "int f(struct v@ *p) {\n int r = 0;\n#pragma omp target map(tofrom: r) map(to: p[0:1])\n r = 1;\n return r;\n}\n",
    },
];

fn text(shape: &Shape, n_things: usize) -> String {
    let mut text = shape.head.to_owned();
    for idx in 1..n_things {
        let item = shape.item.replace('%', &(idx - 1).to_string());
        text.push_str(&item.replace('@', &idx.to_string()));
    }
    text.push_str(&shape.tail.replace('@', &(n_things - 1).to_string()));
    text
}

fn compile(shape: &Shape, n_things: usize) -> Compilation {
    let compiled = Compiler::builder().build().compile(SourceInput {
        name: "a.cpp".into(),
        bytes: text(shape, n_things).into_bytes(),
        language: shape.language,
        expansion: None,
        headers: Vec::new(),
    });
    compiled.unwrap_or_else(|error| panic!("{}: {error}", shape.name))
}

#[test]
fn what_is_named_twice_is_followed_once() {
    for shape in SHAPES {
        let compiled = compile(shape, N_THINGS);
        let is_answered = compiled.artifacts.is_some() || !compiled.diagnostics.is_empty();
        assert!(is_answered, "{}", shape.name);
    }
}

#[test]
fn mappers_of_deep_members_end() {
    for shape in DEEP {
        let compiled = compile(shape, 8000);
        let codes: Vec<Code> = compiled.diagnostics.iter().map(|it| it.code).collect();
        assert_eq!(codes, [Code::MapListItem], "{}", shape.name);
    }
}
