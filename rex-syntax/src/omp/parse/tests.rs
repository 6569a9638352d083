use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;
use crate::omp::clause::{Argument, ListItem, Locator, Step};

/// Parses one pragma and prints everything found.
fn check(text: &str, expected: Expect) {
    let line = crate::pragma::scan(text)[0];
    let mut diagnostics = Diagnostics::new();
    let directive = parse_directive(text, &line, FileId(0), &mut diagnostics);
    let mut out = directive.name().to_string();
    if let Some(argument) = directive.argument {
        write!(out, " <{}>", slice(text, argument)).expect("a string takes text");
    }
    out.push('\n');
    for clause in &directive.clauses {
        assert!(directive.range.contains_range(clause.range));
        write!(out, "  {:?}", clause.name).expect("a string takes text");
        if let Some(to) = &clause.applies_to {
            let words: Vec<&str> = to.leaves.iter().map(|leaf| leaf.spelling()).collect();
            write!(out, " ({})", words.join(" ")).expect("a string takes text");
        }
        for modifier in clause.modifiers() {
            write!(out, " {}", slice(text, modifier.word)).expect("a string takes text");
            if let Some(argument) = modifier.argument {
                write!(out, "<{}>", slice(text, argument)).expect("a string takes text");
            }
            out.push(':');
        }
        if let Some(expression) = clause.expression() {
            write!(out, " `{}`", slice(text, expression)).expect("a string takes text");
        }
        for item in clause.items() {
            write!(out, " {}", show_item(text, item)).expect("a string takes text");
        }
        if let Argument::Raw(range) = clause.argument {
            write!(out, " raw `{}`", slice(text, range)).expect("a string takes text");
        }
        out.push('\n');
    }
    for diagnostic in diagnostics.iter() {
        let at = slice(text, diagnostic.primary.at.range);
        writeln!(
            out,
            "{} `{at}` {}",
            diagnostic.code.number(),
            diagnostic.headline
        )
        .expect("a string takes text");
        for help in &diagnostic.help {
            writeln!(out, "    {help}").expect("a string takes text");
        }
    }
    expected.assert_eq(&out);
}

fn show_item(text: &str, item: &ListItem) -> String {
    let part = |range: Option<TextRange>| range.map_or("", |range| slice(text, range)).to_owned();
    match &item.locator {
        Locator::Expression(range) => format!("expr({})", slice(text, *range)),
        Locator::SectionOf(range, section) => format!(
            "expr({}){}",
            slice(text, *range),
            slice(text, section.range)
        ),
        Locator::Path(path) => {
            let mut out = slice(text, path.root).to_owned();
            for step in &path.steps {
                match step {
                    Step::Member(name) => write!(out, ".{}", slice(text, *name)),
                    Step::Arrow(name) => write!(out, "->{}", slice(text, *name)),
                    Step::Index(index) => write!(out, "[{}]", slice(text, *index)),
                    Step::Deref => write!(out, ".*"),
                    Step::Shape(extents) => {
                        let extents: Vec<&str> =
                            extents.iter().map(|extent| slice(text, *extent)).collect();
                        write!(out, ".shape({})", extents.join(", "))
                    }
                    Step::Section(section) => write!(
                        out,
                        "[{}|{}|{}]",
                        part(section.lower),
                        part(section.length),
                        part(section.stride)
                    ),
                }
                .expect("a string takes text");
            }
            out
        }
    }
}

#[test]
fn combined_directives_are_leaf_lists() {
    check(
        "#pragma omp target teams distribute parallel for simd collapse(2) nowait",
        expect![[r#"
            target teams distribute parallel for simd
              Collapse `2`
              Nowait
        "#]],
    );
    check(
        "#pragma omp target_enter_data map(to: a)",
        expect![[r#"
        target enter data
          Map to: a
    "#]],
    );
    check(
        "#pragma omp ordered simd",
        expect![[r#"
        ordered
          Simd
    "#]],
    );
    check(
        "#pragma omp cancel parallel if(x)",
        expect![[r#"
        cancel <parallel>
          If `x`
    "#]],
    );
}

#[test]
fn sections_and_paths() {
    check(
        "#pragma omp target map(tofrom: a[0:n], b[:], s.p[0:n].q, p->q[i].r[1:n:2], *p, (*p)[0:n], this->x, ([n][m])p, *(p + i * (n - 1)), (p + 1)->x.y, a[0::2], A::b[N::m], *p->q)",
        expect![[r#"
            target
              Map tofrom: a[0|n|] b[||] s.p[0|n|].q p->q[i].r[1|n|2] p.* p.*[0|n|] this->x p.shape(n, m) p[i * (n - 1)] p[1].x.y a[0||2] A::b[N::m] p->q.*
        "#]],
    );
}

#[test]
fn map_modifiers() {
    check(
        "#pragma omp target map(always, close tofrom: x) map(mapper(m), iterator(i=0:n) present to: y) map(z)",
        expect![[r#"
        target
          Map always: close: tofrom: x
          Map mapper<m>: iterator<i=0:n>: present: to: y
          Map z
    "#]],
    );
    check(
        "#pragma omp target map(tofrm: x)",
        expect![[r#"
        target
          Map tofrm: x
        REX0103 `tofrm` `tofrm` means nothing to clause `map`
            did you mean `tofrom`?
    "#]],
    );
}

#[test]
fn reductions() {
    check(
        "#pragma omp parallel for reduction(+:a,b) reduction(inscan, max: c) reduction(ns::add : d) reduction(&&: e)",
        expect![[r#"
        parallel for
          Reduction +: a b
          Reduction inscan: max: c
          Reduction ns::add: d
          Reduction &&: e
    "#]],
    );
}

#[test]
fn expressions_with_modifiers() {
    check(
        "#pragma omp target if(target: n > 0 ? a : b) device(ancestor: 1) num_teams(2:n*8) schedule(nonmonotonic: dynamic, 4) schedule(static) depend(iterator(i=0:n), in: a[i]) depend(source)",
        expect![[r#"
            target
              If (target) `n > 0 ? a : b`
              Device ancestor: `1`
              NumTeams 2: `n*8`
              Schedule nonmonotonic: dynamic: `4`
              Schedule static:
              Depend iterator<i=0:n>: in: a[i]
              Depend source:
            REX0104 `num_teams` `target` takes no clause `num_teams`
                leave `num_teams` out, or write it on one of these directives
            REX0104 `schedule` `target` takes no clause `schedule`
                leave `schedule` out, or write it on one of these directives
            REX0104 `schedule` `target` takes no clause `schedule`
                leave `schedule` out, or write it on one of these directives
            REX0105 `schedule(static)` clause `schedule` may appear once on a directive
                keep one of the two
        "#]],
    );
}

#[test]
fn linear_and_aligned() {
    check(
        "#pragma omp simd linear(i, j: 2*n) linear(val(x): 3) linear(y: val, step(2)) aligned(p, q: 64)",
        expect![[r#"
        simd
          Linear 2*n: i j
          Linear val: 3: x
          Linear val: step<2>: y
          Aligned 64: p q
    "#]],
    );
}

#[test]
fn comments_and_continuations_are_skipped() {
    check(
        "#pragma omp target /* c */ map(to: /* d */ a) \\\r\n map(from: b) // e",
        expect![[r#"
            target
              Map to: a
              Map from: b
        "#]],
    );
}

#[test]
fn mistakes_are_reported_and_parsing_goes_on() {
    check(
        "#pragma omp target mpa(a) pirvate(b) private(c,,d) private() nowait nowait collapse(",
        expect![[r#"
            target
              Unknown raw `a`
              Unknown raw `b`
              Private c d
              Private raw ``
              Nowait
              Nowait
              Collapse raw ``
            REX0102 `mpa` `mpa` is no OpenMP clause
                did you mean `map`?
            REX0102 `pirvate` `pirvate` is no OpenMP clause
                did you mean `private`?
            REX0103 `c` a list item is missing beside this comma
                remove the comma or write the item
            REX0103 `` the parentheses of `private` are empty
                write an argument between them, or leave the clause out
            REX0103 `(` this parenthesis is never closed
                close it on the line of the directive; lines that go on end with `\`
            REX0103 `` the parentheses of `collapse` are empty
                write an argument between them, or leave the clause out
            REX0104 `collapse` `target` takes no clause `collapse`
                leave `collapse` out, or write it on one of these directives
            REX0105 `nowait` clause `nowait` may appear once on a directive
                keep one of the two
        "#]],
    );
    check(
        "#pragma omp tarket map(a)",
        expect![[r#"
            target
              Map a
            REX0101 `tarket` `tarket` is no OpenMP directive
                did you mean `target`?
        "#]],
    );
    check(
        "#pragma omp for parallel",
        expect![[r#"
            for
              Unknown
            REX0102 `parallel` `parallel` is no OpenMP clause
                write it on a line of its own
        "#]],
    );
    check(
        "#pragma omp",
        expect![[r#"

            REX0101 `#pragma omp` `#pragma omp` names no directive
                write the name of a directive behind `omp`, or remove the line
        "#]],
    );
    check(
        "#pragma omp target + x",
        expect![[r#"
            target
              Unknown
            REX0103 `+` expected a clause, found `+`
                remove it, or write the clause that is meant
            REX0102 `x` `x` is no OpenMP clause
                remove `x`, or write the clause that is meant
        "#]],
    );
}

#[test]
fn clauses_of_other_directives_are_reported() {
    check(
        "#pragma omp target nowait schedule(static)",
        expect![[r#"
            target
              Nowait
              Schedule static:
            REX0104 `schedule` `target` takes no clause `schedule`
                leave `schedule` out, or write it on one of these directives
        "#]],
    );
    check(
        "#pragma omp parallel for nowait",
        expect![[r#"
            parallel for
              Nowait
            REX0104 `nowait` `parallel for` takes no clause `nowait`
                leave `nowait` out, or write it on one of these directives
        "#]],
    );
    check(
        "#pragma omp target parallel for nowait copyin(x)",
        expect![[r#"
            target parallel for
              Nowait
              Copyin x
            REX0104 `copyin` `target parallel for` takes no clause `copyin`
                leave `copyin` out, or write it on one of these directives
        "#]],
    );
    check(
        "#pragma omp requires ext_vendor unified_address",
        expect![[r#"
            requires
              Unknown
              UnifiedAddress
        "#]],
    );
}

#[test]
fn directives_with_arguments() {
    check(
        "#pragma omp critical (name) hint(3)",
        expect![[r#"
        critical <name>
          Hint `3`
    "#]],
    );
    check(
        "#pragma omp flush acq_rel (a, b)",
        expect![[r#"
            flush <a, b>
              AcqRel
        "#]],
    );
    check(
        "#pragma omp declare reduction(f : T : omp_out += omp_in) initializer(omp_priv = 0)",
        expect![[r#"
        declare reduction <f : T : omp_out += omp_in>
          Initializer raw `omp_priv = 0`
    "#]],
    );
    check(
        "#pragma omp declare target to(a, f) device_type(any)",
        expect![[r#"
        declare target
          To a f
          DeviceType any:
    "#]],
    );
    check(
        "#pragma omp metadirective when(device={kind(gpu)}: parallel for) default(single)",
        expect![[r#"
        metadirective
          When raw `device={kind(gpu)}: parallel for`
          Default raw `single`
    "#]],
    );
}

#[test]
fn misspelt_words_of_a_name_are_put_right() {
    check(
        "#pragma omp target paralel for map(a)",
        expect![[r#"
        target parallel for
          Map a
        REX0101 `paralel` `paralel` is no OpenMP directive
            did you mean `parallel`?
    "#]],
    );
    check(
        "#pragma omp target teams distribut parallel for",
        expect![[r#"
        target teams distribute parallel for
        REX0101 `distribut` `distribut` is no OpenMP directive
            did you mean `distribute`?
    "#]],
    );
    check(
        "#pragma omp target entr data map(to: a)",
        expect![[r#"
        target enter data
          Map to: a
        REX0101 `entr` `entr` is no OpenMP directive
            did you mean `enter`?
    "#]],
    );
    check(
        "#pragma omp targte teams loop",
        expect![[r#"
        target teams loop
        REX0101 `targte` `targte` is no OpenMP directive
            did you mean `target`?
    "#]],
    );
    check(
        "#pragma omp parallel for smid nowait",
        expect![[r#"
            parallel for simd
              Nowait
            REX0101 `smid` `smid` is no OpenMP directive
                did you mean `simd`?
            REX0104 `nowait` `parallel for simd` takes no clause `nowait`
                leave `nowait` out, or write it on one of these directives
        "#]],
    );
    check(
        "#pragma omp for colapse(2)",
        expect![[r#"
        for
          Unknown raw `2`
        REX0102 `colapse` `colapse` is no OpenMP clause
            did you mean `collapse`?
    "#]],
    );
    check(
        "#pragma omp target private(a)",
        expect![[r#"
        target
          Private a
    "#]],
    );
}

#[test]
fn data_directives_need_their_clauses() {
    check(
        "#pragma omp target update if(x)",
        expect![[r#"
            target update
              If `x`
            REX0107 `target update` `target update` needs a clause `to` or `from`
                add the clause, or remove the directive
        "#]],
    );
    check(
        "#pragma omp target data device(0)",
        expect![[r#"
            target data
              Device `0`
            REX0107 `target data` `target data` needs a clause `map` or `use_device_ptr` or `use_device_addr`
                add the clause, or remove the directive
        "#]],
    );
    check(
        "#pragma omp target enter data",
        expect![[r#"
            target enter data
            REX0107 `target enter data` `target enter data` needs a clause `map`
                add the clause, or remove the directive
        "#]],
    );
    check(
        "#pragma omp target enter data map(from: a) map(to: b) map(c)",
        expect![[r#"
            target enter data
              Map from: a
              Map to: b
              Map c
            REX0104 `from` `target enter data` takes no map type `from`
                write one of these, or leave the type out where it has a default
        "#]],
    );
    check(
        "#pragma omp target exit data map(always, to: a)",
        expect![[r#"
            target exit data
              Map always: to: a
            REX0104 `to` `target exit data` takes no map type `to`
                write one of these, or leave the type out where it has a default
        "#]],
    );
    check(
        "#pragma omp target data use_device_ptr(p)",
        expect![[r#"
        target data
          UseDevicePtr p
    "#]],
    );
}

#[test]
fn directive_names_say_what_a_clause_is_for() {
    check(
        "#pragma omp target teams distribute parallel for firstprivate(teams: x) private(for: t) if(target: n) num_teams(teams: 4) schedule(simd: static) map(target, to: a) default(parallel: none) reduction(task, +: s)",
        expect![[r#"
            target teams distribute parallel for
              Firstprivate (teams) x
              Private (for) t
              If (target) `n`
              NumTeams (teams) `4`
              Schedule simd: static:
              Map (target) to: a
              Default (parallel) none:
              Reduction task: +: s
        "#]],
    );
    check(
        "#pragma omp target data map(tofrom: a) if(target_data: n) nowait(target data: 1)",
        expect![[r#"
            target data
              Map tofrom: a
              If (target data) `n`
              Nowait (target data) `1`
        "#]],
    );
    check(
        "#pragma omp target parallel for private(teams: x) collapse(parallel: 2) reduction(loop: y)",
        expect![[r#"
            target parallel for
              Private (teams) x
              Collapse (parallel) `2`
              Reduction loop: y
            REX0103 `teams` `teams` is no construct of `target parallel for`
                name a construct that the directive is made of, or none for all of them
            REX0104 `collapse` `parallel` takes no clause `collapse`
                leave `collapse` out, or write it on one of these directives
        "#]],
    );
}
