//! Programs that no compiler takes: rex says what it can about them, and never fails itself.

use rex_driver::{Compiler, Language, SourceInput};

fn check(language: Language, text: &str) {
    let input = SourceInput {
        name: "damaged".into(),
        bytes: text.as_bytes().to_vec(),
        language,
        expansion: None,
        headers: Vec::new(),
    };
    let compiled = Compiler::builder().build().compile(input);
    assert!(compiled.is_ok(), "{text}: {:?}", compiled.err());
}

#[test]
fn a_template_ends_without_its_brace() {
    check(
        Language::Cxx,
        "template <typename T> target() {\n#pragma omp target\n;\n",
    );
}

#[test]
fn main_ends_without_its_brace() {
    check(
        Language::C,
        "void f() {\n#pragma omp target\n;\n}\nint main() {",
    );
}

#[test]
fn a_declarative_directive_stands_in_a_region() {
    check(
        Language::C,
        "int main() {\n#pragma omp target\n#pragma omp declare target\n;\n}\n",
    );
    check(
        Language::C,
        "int main() {\n#pragma omp target\n{\n#pragma omp declare target\n}\n}\n",
    );
}

#[test]
fn a_region_hides_in_sections_of_another() {
    check(
        Language::C,
        "int main() {
#pragma omp target
  {
    int v = 9;
#pragma omp parallel
    {
#pragma omp sections lastprivate(v)
#pragma omp target
      ;
    }
  }
}
",
    );
}

#[test]
fn a_brace_closes_before_a_type_begins() {
    check(
        Language::C,
        "int f[} struct] x;\nint main() {\n#pragma omp target\n;\n}\n",
    );
}

#[test]
fn initializers_name_their_own_variables() {
    check(
        Language::Cxx,
        "#define M a\nint main() {\nint x = 0;\n#pragma omp target teams map(x)\n{\nint a = M;\nfor (int i = i; i < 3; i++) {\n#pragma omp parallel\nx += a + i;\n}\n}\n}\n",
    );
}

#[test]
fn a_region_begins_inside_a_broken_statement() {
    check(
        Language::Cxx,
        "other(){\n#pragma omp target\n 1000(*{\n#pragma omp target\n(20;}return;}\n",
    );
}

#[test]
fn a_capture_list_is_not_closed() {
    check(
        Language::Cxx,
        "#pragma omp declare target\nint local{none=[{;};}\n#pragma omp end declare target\n",
    );
}

#[test]
fn a_class_holds_itself() {
    check(
        Language::C,
        "struct s { int a; struct s b, c[2]; };
int main(void) {
  struct s s;
  int o = 0;
#pragma omp target map(tofrom : o)
  o = s.a + s.b.a;
  return o;
}
",
    );
    check(
        Language::Cxx,
        "struct s { int f() { s t; return t.b.a; } int a; s b, c; };
int main() {
  s o;
#pragma omp target firstprivate(o)
  {
    s p = o;
    p.f();
  }
#pragma omp target teams
  {
    s p;
#pragma omp parallel
    p.a = 1;
  }
}
",
    );
}

#[test]
fn two_members_have_one_definition() {
    check(
        Language::Cxx,
        "#pragma omp declare target
template <class T> struct box { static T first, second; };
template <class T> T box<T>::first = 2, class U> T box<T>::second = {3};
#pragma omp end declare target
int main() {
  int r = 0;
#pragma omp target map(tofrom : r)
  r = box<int>::first + box<int>::second;
}
",
    );
}

#[test]
fn a_function_of_a_template_loses_its_type() {
    check(
        Language::Cxx,
        "template<class T>dot(){{}T*a=;\n#pragma omp target\n  ms()\nfrom\n#endif\n}",
    );
}

#[test]
fn functions_stand_where_text_is_left_out() {
    check(
        Language::Cxx,
        "struct Host{static std:ed{[]{rnt i}};};main(){Host h ;\n#pragma omp target()map(h)\n  std}",
    );
    check(
        Language::Cxx,
        "struct Kind{static auto by_copy=[]{{}int base{int value ;\n#pragma omp target ()\n    return}}}",
    );
    check(
        Language::Cxx,
        "struct Pair{namespace work{template<int N>class{void shift()middle*from{T value;
#pragma omp target()map(value)
    return}}}twice x{
  #pragma omp target()
    ;}}",
    );
    check(
        Language::C,
        "typedef struct{union value{out map(to p[WIDTH]};}cell;int main{\"\")ll c=count
#pragma omp target()map(c)
  return}",
    );
    check(
        Language::Cxx,
        "class Matrix{Matrix(store{template class Box{T*data}void(Box&box{
#pragma omp target ([])
  for ;}class{friend int ::run}run(Cell){
#pragma omp target()
  cell}}}",
    );
}

#[test]
fn classes_are_bases_of_themselves() {
    check(
        Language::Cxx,
        "struct A : A { int a; };
struct B; struct C : B { int c; }; struct B : C { int b; };
void f(A *a, B *b, int n) {
#pragma omp target map(a->a, b->missing)
  n = a->other + b->missing;
  auto x = b->missing;
#pragma omp target
  x++;
}
",
    );
}
