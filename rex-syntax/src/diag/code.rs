//! The table of diagnostic codes.
//!
//! Codes are never reused. 00 input, 01 pragma syntax, 02 clauses and maps, 03 regions, 04 lifecycle, 09 unsupported.
//! Each has a page `explain/REXnnnn.md`: what, why, example, fix.

use super::Severity;

macro_rules! codes {
    ($($variant:ident $number:literal $name:literal $severity:ident;)*) => {
        /// A diagnostic code: one per cause.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = concat!("`", $number, "` ", $name, ".")] $variant,)*
        }

        impl Code {
            /// Every code, in numeric order.
            pub const ALL: &[Code] = &[$(Code::$variant,)*];

            /// The stable number, `REXnnnn`.
            pub fn number(self) -> &'static str {
                match self { $(Code::$variant => $number,)* }
            }

            /// The stable kebab-case name.
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// The severity this code has unless the caller says otherwise.
            pub fn severity(self) -> Severity {
                match self { $(Code::$variant => Severity::$severity,)* }
            }

            /// Whether it names a limit of rex rather than a mistake in the input.
            pub fn is_limit(self) -> bool {
                self.number().starts_with("REX09")
            }

            /// The page `rex-driver explain` prints, in Markdown.
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$variant => include_str!(concat!("explain/", $number, ".md")),)* }
            }
        }
    };
}

codes! {
    DamagedConstruct "REX0001" "damaged-construct" Error;
    NoPreprocessor "REX0002" "no-preprocessor" Warning;
    UnknownDirective "REX0101" "unknown-directive" Error;
    UnknownClause "REX0102" "unknown-clause" Error;
    ClauseSyntax "REX0103" "clause-syntax" Error;
    ClauseNotAllowed "REX0104" "clause-not-allowed" Error;
    DuplicateClause "REX0105" "duplicate-clause" Error;
    MissingStatement "REX0106" "missing-statement" Error;
    MissingClause "REX0107" "missing-clause" Error;
    MapOfUnknownVariable "REX0201" "map-of-unknown-variable" Error;
    UnknownType "REX0202" "unknown-type" Error;
    PointerNeedsLength "REX0203" "pointer-needs-length" Error;
    MapListItem "REX0204" "map-list-item" Error;
    ReductionOperand "REX0205" "reduction-operand" Error;
    UndeterminedVariable "REX0206" "undetermined-variable" Error;
    UnknownMapper "REX0207" "unknown-mapper" Error;
    DuplicateMapper "REX0208" "duplicate-mapper" Error;
    MapperCycle "REX0209" "mapper-cycle" Error;
    SharingConflict "REX0210" "sharing-conflict" Error;
    NotCanonicalLoop "REX0301" "not-canonical-loop" Error;
    CallWithoutDefinition "REX0302" "call-without-definition" Error;
    HostOnlyObject "REX0303" "host-only-object" Error;
    BranchOutOfConstruct "REX0304" "branch-out-of-construct" Error;
    MisplacedConstruct "REX0305" "misplaced-construct" Error;
    UnsupportedDirective "REX0901" "unsupported-directive" Error;
    UnsupportedClause "REX0902" "unsupported-clause" Error;
    UnsupportedCapture "REX0903" "unsupported-capture" Error;
    UnsupportedStatement "REX0904" "unsupported-statement" Error;
    SynchronousNowait "REX0905" "synchronous-nowait" Note;
    HostLongDouble "REX0906" "host-long-double" Note;
    LostFlag "REX0907" "lost-flag" Warning;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_complete_page() {
        for code in Code::ALL {
            let page = code.explanation();
            assert!(page.starts_with(&format!("# {} {}\n", code.number(), code.name())));
            for heading in ["\n## Why\n", "\n## Example\n", "\n## Fix\n"] {
                assert!(
                    page.contains(heading),
                    "{} lacks {heading:?}",
                    code.number()
                );
            }
        }
    }

    #[test]
    fn codes_are_in_order_and_unique() {
        let numbers: Vec<&str> = Code::ALL.iter().map(|code| code.number()).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b));
    }
}
