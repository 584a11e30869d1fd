//! Codes of reasons: one word each that stays the same in all versions, with what it means and what to do about it.
//!
//! Invariant: a code, its meaning and the advice stand at one place, in the table of its enum, and `docs/reasons.md` is made of these
//! tables.

/// A code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code {
    /// The word.
    pub name: &'static str,
    /// What it means, in a sentence.
    pub meaning: &'static str,
    /// What to do about it.
    pub advice: &'static str,
}

/// Gives each variant of an enum its code, and names the list of all of them. `fn name(Enum)` makes a function for an enum that
/// another crate owns.
#[macro_export]
macro_rules! codes {
    ($type:ident, $list:ident: $($pattern:pat => $code:literal: $meaning:literal, $advice:literal;)*) => {
        $crate::codes!(@list $list: $($code: $meaning, $advice;)*);

        impl $type {
            /// The code, which is the same in all versions.
            #[must_use]
            pub fn code(&self) -> &'static str {
                use $type::*;
                match self { $($pattern => $code),* }
            }
        }
    };
    (fn $function:ident($type:ident), $list:ident: $($pattern:pat => $code:literal: $meaning:literal, $advice:literal;)*) => {
        $crate::codes!(@list $list: $($code: $meaning, $advice;)*);

        /// The code, which is the same in all versions.
        fn $function(of: &$type) -> &'static str {
            use $type::*;
            match of { $($pattern => $code),* }
        }
    };
    (@list $list:ident: $($code:literal: $meaning:literal, $advice:literal;)*) => {
        const $list: &[$crate::code::Code] = &[
            $($crate::code::Code { name: $code, meaning: $meaning, advice: $advice }),*
        ];
    };
}
