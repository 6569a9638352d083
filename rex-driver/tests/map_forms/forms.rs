//! The forms, and why rex's entries differ from clang's where they do.

/// A list item and where it stands.
pub(crate) struct Form {
    pub(crate) group: &'static str,
    pub(crate) language: Language,
    /// Declarations of the variables.
    pub(crate) given: &'static str,
    pub(crate) directive: &'static str,
    /// The statement of the region.
    pub(crate) body: &'static str,
    /// Why the entries differ from clang's; empty where they are equal.
    pub(crate) reason: &'static str,
}

impl Form {
    /// Whether it stands in a member function.
    pub(crate) fn is_member(&self) -> bool {
        self.group == "Members of the own object"
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cxx,
}

/// Types and variables of the forms.
pub(crate) const PRELUDE: &str = "
struct Inner { int k; double *q; };
struct S { int x; double *p; int y; double d[8]; struct Inner in; struct S *next; };
struct Mapped { int n; double *v; };
#pragma omp declare mapper(struct Mapped m) map(m.n, m.v[0 : m.n])
#pragma omp declare mapper(pieces : struct Mapped m) map(to : m.n) map(alloc : m.v[0 : m.n])
struct Holder { int k; struct Mapped m; };
int table[8], scale;
double *rows, *field;
#pragma omp declare target to(scale, field) link(table, rows)
";

pub(crate) const CXX_PRELUDE: &str = "
struct Statics { static int plain; static double array[8]; static double *list; static int own; };
int Statics::plain, Statics::own;
double Statics::array[8], *Statics::list;
#pragma omp declare target to(Statics::own)
struct Base { int b; double *w; };
struct Object : Base {
  int n;
  double *v;
  double fixed[4];
  Object *next;
  /* forms */
};
";

macro_rules! forms {
    ($($group:literal $language:ident { $($given:literal $directive:literal $body:literal $(because $reason:literal)?;)* })*) => {
        pub(crate) const FORMS: &[Form] = &[$($(Form {
            group: $group,
            language: Language::$language,
            given: $given,
            directive: $directive,
            body: $body,
            reason: concat!($($reason)?),
        },)*)*];
    };
}

forms! {
    "Variables" C {
        "int x;" "target map(tofrom : x)" "x = 1;";
        "int x;" "target map(to : x)" "{ int y = x; (void)y; }";
        "int x;" "target map(from : x)" "x = 1;";
        "int x;" "target map(alloc : x)" "x = 1;";
        "int x;" "target" "x = 1;";
        "int x;" "target firstprivate(x)" "x = 1;";
        "int x;" "target defaultmap(tofrom : scalar)" "x = 1;";
        "double a[8];" "target map(tofrom : a)" "a[0] = 1;";
        "double a[8];" "target" "a[0] = 1;";
        "double a[8];" "target firstprivate(a)" "a[0] = 1;";
        "double a[8];" "target defaultmap(to : aggregate)" "a[0] = 1;";
        "struct S s;" "target map(tofrom : s)" "s.x = 1;";
        "struct S s;" "target" "s.x = 1;";
        "struct S s;" "target firstprivate(s)" "s.x = 1;";
        "double *p;" "target" "p[0] = 1;";
        "double *p;" "target map(tofrom : p)" "p[0] = 1;";
        "double *p;" "target firstprivate(p)" "p[0] = 1;";
        "double *p;" "target defaultmap(tofrom : pointer)" "p[0] = 1;";
        "double *p;" "target is_device_ptr(p)" "p[0] = 1;";
        "double a[8];" "target has_device_addr(a)" "a[0] = 1;";
        "int n = 4; double v[n];" "target map(tofrom : v)" "v[0] = 1;" because "the same entries, the variable before its extent";
    }
    "Wide scalars" Cxx {
        "__int128 w;" "target firstprivate(w)" "w = 1;";
        "__int128 w;" "target" "w = 1;";
    }
    "Modifiers" C {
        "double *p; int n = 4;" "target map(always, tofrom : p[0 : n])" "p[0] = 1;";
        "double *p; int n = 4;" "target map(present, to : p[0 : n])" "p[0] = 1;";
        "double *p; int n = 4;" "target map(close, from : p[0 : n])" "p[0] = 1;";
        "double *p; int n = 4;" "target map(ompx_hold, tofrom : p[0 : n])" "p[0] = 1;";
        "double *p; int n = 4;" "target map(always, close, present, tofrom : p[0 : n])" "p[0] = 1;";
    }
    "Sections" C {
        "double *p; int n = 4;" "target map(tofrom : p[0 : n])" "p[0] = 1;";
        "double *p; int n = 4;" "target map(tofrom : p[n : 2 * n])" "p[n] = 1;";
        "double *p;" "target map(tofrom : p[: 0])" "p[0] = 1;";
        "double *p;" "target map(tofrom : p[3])" "p[3] = 1;";
        "double *p;" "target map(tofrom : *p)" "*p = 1;";
        "double *p; int n = 4;" "target map(tofrom : p[-n : n])" "p[-1] = 1;";
        "double a[8];" "target map(tofrom : a[2 :])" "a[2] = 1;";
        "double a[8];" "target map(tofrom : a[: 4])" "a[2] = 1;";
        "double a[4][8];" "target map(tofrom : a[1 : 2][0 : 8])" "a[1][0] = 1;";
        "double a[4][8];" "target map(tofrom : a[1][2 : 3])" "a[1][2] = 1;";
        "double a[4][8][2]; int n = 2;" "target map(tofrom : a[n : n][0 : 8][0 : 2])" "a[2][0][0] = 1;";
        "double (*q)[8]; int n = 4;" "target map(tofrom : q[0 : n])" "q[0][0] = 1;";
        "double (*q)[8]; int n = 4;" "target map(tofrom : q[1 : n][2 : 3])" "q[1][2] = 1;";
        "double (*q)[8];" "target map(tofrom : (*q)[0 : 8])" "(*q)[0] = 1;";
        "double **r; int n = 4;" "target map(tofrom : r[1][0 : n])" "r[1][0] = 1;" because "the pointer `r[1]` is attached; clang also copies it, back as well";
        "double *p;" "target map(tofrom : *(p + 2))" "p[2] = 1;";
        "double **r; int n = 4;" "target map(tofrom : (*r)[0 : n])" "(*r)[0] = 1;" because "the pointer `*r` is attached; clang also copies it, back as well";
        "double ***r; int n = 4;" "target map(tofrom : (**r)[0 : n])" "(**r)[0] = 1;" because "the pointers `*r` and `**r` are attached; clang also copies the first, back as well";
        "int m = 3; double (*q)[m];" "target map(tofrom : q[0 : m])" "q[0][0] = 1;" because "the same entries, the variable before its extent";
        "int m = 3; double (*q)[m];" "target map(tofrom : q[1][0 : m])" "q[1][0] = 1;" because "the same entries, the variable before its extent";
    }
    "Members" C {
        "struct S s;" "target map(tofrom : s.x)" "s.x = 1;";
        "struct S s;" "target map(to : s.x) map(from : s.y)" "s.y = s.x;";
        "struct S s;" "target map(tofrom : s.d[1 : 2])" "s.d[1] = 1;" because "one object needs no entry that spans it";
        "struct S s;" "target map(tofrom : s.in.k)" "s.in.k = 1;";
        "struct S s; int n = 4;" "target map(tofrom : s.p[0 : n])" "s.p[0] = 1;";
        "struct S s; int n = 4;" "target map(to : s.x) map(tofrom : s.p[0 : n])" "s.p[0] = s.x;";
        "struct S s; int n = 4;" "target map(to : s) map(tofrom : s.p[0 : n])" "s.p[0] = s.x;";
        "struct S s; int n = 4;" "target map(tofrom : s.in.q[0 : n])" "s.in.q[0] = 1;" because "the pointer is attached; copying it too would bring nothing";
        "struct S *t;" "target map(tofrom : t->x)" "t->x = 1;";
        "struct S *t;" "target map(tofrom : t->x, t->y)" "t->x = t->y;";
        "struct S *t; int n = 4;" "target map(tofrom : t->p[0 : n])" "t->p[0] = 1;";
        "struct S *t; int n = 4;" "target map(tofrom : t->x, t->p[0 : n])" "t->p[0] = t->x;";
        "struct S *t; int n = 4;" "target map(tofrom : t->next->p[0 : n])" "t->next->p[0] = 1;" because "the array is a member of the struct that holds its pointer";
        "struct S **u; int n = 4;" "target map(tofrom : u[1]->p[0 : n])" "u[1]->p[0] = 1;" because "the array is a member of the struct that holds its pointer, which is attached and need not be copied";
        "struct S *t; int n = 4;" "target map(tofrom : t->next->next->x, t->next->next->d[1 : 2])" "t->next->next->x = 1;" because "one combined entry for the members behind one pointer";
        "struct S a[4]; int i = 1, n = 4;" "target map(tofrom : a[i].p[0 : n])" "a[i].p[0] = 1;";
        "struct S a[4];" "target map(tofrom : a[1].x)" "a[1].x = 1;";
    }
    "Directives with data" C {
        "double *p; int n = 4;" "target data map(tofrom : p[0 : n])" "p[0] = 1;";
        "double *p; int n = 4;" "target data map(tofrom : p[0 : n]) use_device_ptr(p)" "p = p;" because "the address is asked for by an entry of its own";
        "double *p; int n = 4;" "target data map(tofrom : p[0 : n]) use_device_addr(p[0 : n])" ";" because "the address is asked for by an entry of its own";
        "double *p;" "target data use_device_ptr(p)" "p = p;";
        "double a[8];" "target data map(tofrom : a) use_device_addr(a)" ";" because "the address is asked for by an entry of its own";
        "double a[8];" "target data use_device_addr(a)" ";";
        "int x;" "target data map(tofrom : x) use_device_addr(x)" ";" because "the address is asked for by an entry of its own";
        "double *p; int n = 4;" "target enter data map(to : p[0 : n])" "";
        "double *p; int n = 4;" "target enter data map(alloc : p[0 : n])" "";
        "double *p; int n = 4;" "target data map(present, ompx_hold, to : p[0 : n])" "p[0] = 1;";
        "double *p; int n = 4;" "target exit data map(from : p[0 : n])" "";
        "double *p; int n = 4;" "target exit data map(always, from : p[0 : n])" "";
        "double *p; int n = 4;" "target exit data map(release : p[0 : n])" "";
        "double *p; int n = 4;" "target exit data map(delete : p[0 : n])" "";
        "struct S s; int n = 4;" "target enter data map(to : s.x, s.p[0 : n])" "";
        "struct S s; int n = 4;" "target exit data map(release : s.x) map(from : s.p[0 : n])" "";
        "double *p; int n = 4;" "target update to(p[0 : n])" "";
        "double *p; int n = 4;" "target update from(present : p[0 : n])" "";
        "struct S s;" "target update from(s.x)" "";
        "struct S s; int n = 4;" "target update to(s.p[0 : n])" "" because "an update moves what is mapped and attaches nothing";
        "double a[8];" "target update from(a[0 : 4 : 2])" "" because "one contiguous piece after the other; clang 19 moves the whole section, strides or not";
        "double a[4][8];" "target update from(a[1 : 2][3 : 4])" "" because "one contiguous piece after the other; LLVM 19 and 22 move wrong bytes for sections of this type";
    }
    "Declare target" C {
        "" "target" "scale = 1;";
        "" "target map(tofrom : scale)" "scale = 1;" because "the kernel also receives the address";
        "" "target map(always, to : scale)" "scale = 1;" because "the kernel also receives the address";
        "" "target map(tofrom : table)" "table[0] = 1;" because "the kernel also receives the address";
        "" "target" "table[0] = 1;" because "the kernel also receives the address";
        "" "target enter data map(to : table)" "";
        "int n = 4;" "target map(tofrom : field[0 : n])" "field[0] = 1;" because "the kernel also receives the address";
        "int n = 4;" "target enter data map(to : field[0 : n])" "";
        "int n = 4;" "target exit data map(delete : field[0 : n])" "";
        "" "target update to(table[0 : 4])" "" because "an update moves what is mapped and attaches nothing";
    }
    "Static data members" Cxx {
        "" "target map(tofrom : Statics::plain)" "Statics::plain = 1;";
        "" "target" "Statics::plain = 1;";
        "" "target" "Statics::array[0] = 1;";
        "" "target map(tofrom : Statics::array[1 : 2])" "Statics::array[1] = 1;";
        "" "target" "Statics::own = 1;";
        "" "target map(always, to : Statics::own)" "Statics::own = 1;" because "the kernel also receives the address";
        "" "target update to(Statics::own)" "";
        "int n = 4;" "target enter data map(to : Statics::list[0 : n])" "" because "the pointer is not mapped, so that there is none to attach";
    }
    "Mappers and iterators" C {
        "struct Mapped m;" "target map(tofrom : m)" "m.v[0] = 1;" because "the mapper is written out: no call per element, and LLVM 22 leaks what mapper functions map";
        "struct Mapped m;" "target enter data map(to : m)" "" because "the mapper is written out: no call per element, and LLVM 22 leaks what mapper functions map";
        "struct Mapped m[4]; int n = 4;" "target enter data map(to : m[0 : n])" "" because "the mapper is written out: no call per element, and LLVM 22 leaks what mapper functions map";
        "struct Holder h;" "target map(tofrom : h)" "h.m.v[0] = h.k;" because "the mapper is written out: no call per element, and LLVM 22 leaks what mapper functions map";
        "struct Mapped m;" "target map(mapper(pieces), present, to : m)" "m.n = 1;" because "the mapper is written out: no call per element, and LLVM 22 leaks what mapper functions map";
        "struct Mapped m;" "target update from(m)" "" because "the mapper is written out: no call per element, and LLVM 22 leaks what mapper functions map";
    }
    "References" Cxx {
        "int x; int &r = x;" "target map(tofrom : r)" "r = 1;";
        "int x; int &r = x;" "target" "r = 1;";
        "double a[8]; double (&r)[8] = a;" "target map(tofrom : r)" "r[0] = 1;";
        "double a[8]; double (&r)[8] = a;" "target" "r[0] = 1;";
        "double *p; double *&r = p; int n = 4;" "target map(tofrom : r[0 : n])" "r[0] = 1;";
        "S s; S &r = s;" "target map(tofrom : r.x)" "r.x = 1;";
        "S s; S &r = s; int n = 4;" "target map(tofrom : r.p[0 : n])" "r.p[0] = 1;";
        "double *p; double *&r = p;" "target is_device_ptr(r)" "r[0] = 1;";
        "double a[8]; double (&r)[8] = a; int n = 4;" "target map(tofrom : r[0 : n])" "r[0] = 1;";
        "double a[4][8]; double (&r)[4][8] = a;" "target map(tofrom : r[1 : 2][0 : 8])" "r[1][0] = 1;";
        "struct T { double (&r)[8]; } ; double a[8]; T t{a};" "target map(tofrom : t.r[0 : 4])" "t.r[0] = 1;";
        "S s; auto o = s; int n = 4;" "target map(tofrom : o.x, o.p[0 : n])" "o.p[0] = o.x;";
        "S s; auto &o = s; int n = 4;" "target map(tofrom : o.x, o.p[0 : n])" "o.p[0] = o.x;";
    }
    "Members of the own object" Cxx {
        "" "target" "n = 1;";
        "" "target map(tofrom : n)" "n = 1;";
        "" "target map(tofrom : this->n)" "n = 1;";
        "" "target map(tofrom : v[0 : 4])" "v[0] = 1;";
        "" "target map(tofrom : this[0 : 1])" "n = 1;";
        "" "target map(tofrom : this[0 : 1], this->v[0 : 4])" "v[0] = n;";
        "" "target map(tofrom : fixed)" "fixed[0] = 1;";
        "" "target map(tofrom : fixed[1 : 2])" "fixed[1] = 1;" because "one object needs no entry that spans it";
        "" "target map(tofrom : b)" "b = 1;" because "clang also maps the base class, which no clause names";
        "" "target map(tofrom : n, w[0 : 4])" "w[0] = n;" because "clang also maps the base class, which no clause names";
        "" "target map(tofrom : this->next->v[0 : 4])" "next->v[0] = 1;" because "the array is a member of the struct that holds its pointer";
        "" "target enter data map(to : n, v[0 : 4])" "";
        "" "target update from(fixed)" "";
    }
}
