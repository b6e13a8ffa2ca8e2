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

/// How long the name of `path` is: every `::` becomes one dot, every other character one byte.
#[must_use]
pub const fn name_len(path: &str) -> usize {
    let path = path.as_bytes();
    let (mut read, mut len) = (0, 0);
    while read < path.len() {
        read += width(path, read);
        len += 1;
    }
    len
}

/// The name of `path`, as long as [`name_len`] says.
///
/// # Panics
/// While compiling, if the name begins with `idem.`, which is kept for operations of idem's own.
#[must_use]
pub const fn name_bytes<const N: usize>(path: &str) -> [u8; N] {
    let path = path.as_bytes();
    let mut name = [b'_'; N];
    let (mut read, mut write) = (0, 0);
    while read < path.len() {
        name[write] = match path[read] {
            b':' => b'.',
            // What `name = "…"` allows, too; other letters (`mod zahlungen_für_später`) are legal in a path.
            byte @ (b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'/') => byte,
            _ => b'_',
        };
        read += width(path, read);
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

/// The number of bytes that the character, or the `::`, at `at` takes up.
const fn width(path: &[u8], at: usize) -> usize {
    match path[at] {
        b':' => 2,
        0x00..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xff => 4,
    }
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
    fn each_foreign_character_becomes_one_underscore() {
        assert_eq!(named!("shop::für_später::zähle_漢字"), "shop.f_r_sp_ter.z_hle___");
    }

    #[test]
    fn the_macro_names_the_module_it_stands_in() {
        assert!(crate::__private_v1::operation_name!("charge").ends_with(".name.tests.charge"));
    }
}
