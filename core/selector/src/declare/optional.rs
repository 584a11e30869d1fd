//! Optional values.

/// One overload a line: function, overload, receiver and arguments, result.
pub(super) const TABLE: &str = "\
optional.of optional_of (A) optional(A)
optional.ofNonZeroValue optional_ofNonZeroValue (A) optional(A)
optional.none optional_none () optional(A)
value optional_value optional(A).() A
hasValue optional_hasValue optional(A).() bool
or optional_or_optional optional(A).(optional(A)) optional(A)
orValue optional_orValue_value optional(A).(A) A
_?._ select_optional_field (dyn,string) optional(A)
_[?_] list_optindex_optional_int (list(A),int) optional(A)
_[?_] optional_list_optindex_optional_int (optional(list(A)),int) optional(A)
_[?_] map_optindex_optional_value (map(A,B),A) optional(B)
_[?_] optional_map_optindex_optional_value (optional(map(A,B)),A) optional(B)
_[_] optional_list_index_int (optional(list(A)),int) optional(A)
_[_] optional_map_index_value (optional(map(A,B)),A) optional(B)
last list_last list(A).() optional(A)
first list_first list(A).() optional(A)
optional.unwrap optional_unwrap (list(optional(A))) list(A)
unwrapOpt optional_unwrapOpt list(optional(A)).() list(A)
";
