//! The default name of an operation: the function's path, put together while the user's crate compiles.
//!
//! A macro does not know the module it is used in, only `module_path!()` does, and that speaks Rust's `::`. So the
//! attribute emits `operation_name!("charge")`, and the functions below turn `shop::payments::charge` into
//! `shop.payments.charge`, without anything left to do at run time.

/// `operation_name!("charge")` in `mod shop::payments` is the constant `"shop.payments.charge"`.
#[doc(hidden)]
#[macro_export]
macro_rules! __idem_operation_name {
    ($function:literal) => {{
        const PATH: &str = ::core::concat!(::core::module_path!(), "::", $function);
        const NAME: [u8; $crate::__private_v1::name_len(PATH)] =
            $crate::__private_v1::name_bytes(PATH);
        const { $crate::__private_v1::name_str(&NAME) }
    }};
}

/// How long the name of `path` is: every `::` becomes one dot.
#[must_use]
pub const fn name_len(path: &str) -> usize {
    let path = path.as_bytes();
    let (mut read, mut len) = (0, 0);
    while read < path.len() {
        read += width(path[read]);
        len += 1;
    }
    len
}

/// The name of `path`, as long as [`name_len`] says.
///
/// # Panics
/// While compiling, if the path has characters that a name has not: writing others in their place
/// would give two functions one name. And if the name begins with `idem.`, which is kept for
/// operations of idem's own.
#[must_use]
pub const fn name_bytes<const N: usize>(path: &str) -> [u8; N] {
    let path = path.as_bytes();
    let mut name = [0; N];
    let (mut read, mut write) = (0, 0);
    while read < path.len() {
        name[write] = match path[read] {
            b':' => b'.',
            byte @ (b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_') => byte,
            _ => panic!(
                "this function's path has characters that an operation's name has not: \
                 set `name = \"…\"` on it"
            ),
        };
        read += width(path[read]);
        write += 1;
    }
    assert!(
        !matches!(name.first_chunk(), Some(b"idem.")),
        "names that begin with `idem.` are kept for idem itself: set `name = \"…\"` on this function"
    );
    name
}

/// The same bytes as text.
///
/// # Panics
/// Never for what [`name_bytes`] gave, which is ASCII.
#[must_use]
pub const fn name_str(name: &[u8]) -> &str {
    match core::str::from_utf8(name) {
        Ok(name) => name,
        Err(_) => panic!("an operation's name is ASCII"),
    }
}

/// The number of bytes that a character, or the `::` that it begins, takes up.
const fn width(byte: u8) -> usize {
    if byte == b':' { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::{name_bytes, name_len, name_str};

    macro_rules! named {
        ($path:literal) => {{
            const NAME: [u8; name_len($path)] = name_bytes($path);
            name_str(&NAME)
        }};
    }

    #[test]
    fn separators_become_dots() {
        assert_eq!(named!("shop::payments::charge"), "shop.payments.charge");
        assert_eq!(named!("charge"), "charge");
    }

    #[test]
    #[should_panic(expected = "set `name = ")]
    fn foreign_characters_are_refused_and_not_replaced() {
        let _: [u8; 16] = name_bytes("shop::z\u{e4}hle");
    }

    #[test]
    fn the_macro_names_the_module_it_stands_in() {
        assert!(crate::__private_v1::operation_name!("charge").ends_with(".name.tests.charge"));
    }
}
