//! Names of records in Redis: `prefix:operation:key`, readable in `redis-cli` and never ambiguous.

use idem_runtime::RecordKey;

/// A key longer than this, in bytes, is replaced by its hash.
const LONGEST_KEY: usize = 200;

/// The name under which a record is stored, and of the channel on which its changes are told.
///
/// Bytes outside printable ASCII, `%`, `{` and `}` are percent-encoded: names stay readable, and no
/// brace becomes a hash tag. A long key appears as `%blake3-` and its hash; no short key looks like
/// that, since encoded `%` is followed by two hex digits.
pub(crate) fn record_name(key: &RecordKey) -> String {
    let text = key.key();
    let mut name = String::with_capacity(
        key.prefix().len() + key.operation().len() + text.len().min(LONGEST_KEY) + 2,
    );
    // Neither contains a colon where it was checked; encoding one makes that certain.
    encode(key.prefix(), Some(b':'), &mut name);
    name.push(':');
    encode(key.operation(), Some(b':'), &mut name);
    name.push(':');
    if text.len() > LONGEST_KEY {
        name.push_str("%blake3-");
        name.push_str(&blake3::hash(text.as_bytes()).to_hex());
    } else {
        encode(text, None, &mut name);
    }
    name
}

fn encode(text: &str, beside: Option<u8>, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let is_plain = |byte: u8| {
        matches!(byte, b' '..=b'~') && !matches!(byte, b'%' | b'{' | b'}') && Some(byte) != beside
    };
    // Nearly every one: copied at once.
    if text.bytes().all(is_plain) {
        return out.push_str(text);
    }
    for byte in text.bytes() {
        if is_plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use idem_runtime::Key;
    use proptest::prelude::*;

    use super::*;

    fn name(prefix: &str, operation: &'static str, key: &str) -> String {
        let key = Key::of(key).expect("a key");
        record_name(&RecordKey::new(Arc::from(prefix), operation.into(), key))
    }

    #[test]
    fn names_read_well() {
        assert_eq!(name("shop", "payments.charge", "order 17"), "shop:payments.charge:order 17");
        assert_eq!(name("", "ship", "a/b-c_d.e"), ":ship:a/b-c_d.e");
        // The key's own escape stands before its colon.
        assert_eq!(name("shop", "ship", "a:b"), "shop:ship:a\\:b");
    }

    #[test]
    fn braces_percent_and_what_is_not_printable_are_encoded() {
        assert_eq!(name("s", "o", "{a}%\n\0\u{7f}ü"), "s:o:%7Ba%7D%25%0A%00%7F%C3%BC");
        assert_eq!(name("s", "o", "%25"), "s:o:%2525");
    }

    #[test]
    fn a_long_key_is_its_hash_and_no_short_key_is_that_name() {
        let kept = "k".repeat(LONGEST_KEY);
        assert_eq!(name("s", "o", &kept), format!("s:o:{kept}"));
        let long = "k".repeat(LONGEST_KEY + 1);
        let hashed = name("s", "o", &long);
        assert_eq!(hashed, format!("s:o:%blake3-{}", blake3::hash(long.as_bytes()).to_hex()));
        let same_text = hashed.strip_prefix("s:o:").expect("the key's part");
        assert_ne!(name("s", "o", same_text), hashed);
    }

    #[test]
    fn colons_of_a_prefix_made_by_hand_do_not_move_the_border() {
        assert_ne!(name("a:b", "c", "k"), name("a", "b:c", "k"));
    }

    /// What a name was made of, read back from it: so no two records share one.
    fn read_back(name: &str) -> Option<[String; 3]> {
        let mut parts = name.splitn(3, ':').map(|part| {
            let (mut bytes, mut rest) = (Vec::new(), part.as_bytes());
            while let [first, others @ ..] = rest {
                rest = others;
                if *first == b'%' {
                    let (hex, others) = rest.split_at_checked(2)?;
                    bytes.push(u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()?);
                    rest = others;
                } else {
                    bytes.push(*first);
                }
            }
            String::from_utf8(bytes).ok()
        });
        Some([parts.next()??, parts.next()??, parts.next()??])
    }

    proptest! {
        #[test]
        fn a_name_says_all_it_was_made_of(
            prefix in "[a-z:%]{0,4}",
            operation in "[a-z:%]{1,4}",
            key in "([:%{}\\\\a-c7B \u{80}]|\\PC|\n){1,60}",
        ) {
            let key = Key::of(&key).expect("a key");
            prop_assume!(key.as_str().len() <= LONGEST_KEY);
            let record = RecordKey::new(Arc::from(&*prefix), operation.clone().into(), key.clone());
            let name = record_name(&record);
            prop_assert!(name.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{}", name);
            prop_assert!(!name.contains(['{', '}']), "{}", name);
            prop_assert_eq!(read_back(&name), Some([prefix, operation, key.as_str().to_owned()]));
        }
    }
}
