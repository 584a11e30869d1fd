//! The list, set and comprehension extensions.

/// One overload a line: function, overload, receiver and arguments, result.
pub(super) const TABLE: &str = "\
slice list_slice list(A).(int,int) list(A)
flatten list_flatten list(list(A)).() list(A)
flatten list_flatten_int list(dyn).(int) list(dyn)
sort list_int_sort list(int).() list(int)
sort list_uint_sort list(uint).() list(uint)
sort list_double_sort list(double).() list(double)
sort list_bool_sort list(bool).() list(bool)
sort list_google.protobuf.Duration_sort list(duration).() list(duration)
sort list_google.protobuf.Timestamp_sort list(timestamp).() list(timestamp)
sort list_string_sort list(string).() list(string)
sort list_bytes_sort list(bytes).() list(bytes)
@sortByAssociatedKeys list_int_sortByAssociatedKeys list(A).(list(int)) list(A)
@sortByAssociatedKeys list_uint_sortByAssociatedKeys list(A).(list(uint)) list(A)
@sortByAssociatedKeys list_double_sortByAssociatedKeys list(A).(list(double)) list(A)
@sortByAssociatedKeys list_bool_sortByAssociatedKeys list(A).(list(bool)) list(A)
@sortByAssociatedKeys list_google.protobuf.Duration_sortByAssociatedKeys list(A).(list(duration)) list(A)
@sortByAssociatedKeys list_google.protobuf.Timestamp_sortByAssociatedKeys list(A).(list(timestamp)) list(A)
@sortByAssociatedKeys list_string_sortByAssociatedKeys list(A).(list(string)) list(A)
@sortByAssociatedKeys list_bytes_sortByAssociatedKeys list(A).(list(bytes)) list(A)
lists.range lists_range (int) list(int)
reverse list_reverse list(A).() list(A)
distinct list_distinct list(A).() list(A)
sets.contains list_sets_contains_list (list(A),list(A)) bool
sets.equivalent list_sets_equivalent_list (list(A),list(A)) bool
sets.intersects list_sets_intersects_list (list(A),list(A)) bool
cel.@mapInsert @mapInsert_map_key_value (map(A,B),A,B) map(A,B)
cel.@mapInsert @mapInsert_map_map (map(A,B),map(A,B)) map(A,B)
";
