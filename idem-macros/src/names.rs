//! The names of the arguments, and what an unknown one was meant to be.

use proc_macro2::Ident;

/// Every argument, in the order in which a reader of the docs meets them.
const NAMES: [&str; 18] = [
    "key",
    "name",
    "lease",
    "ttl",
    "deadline",
    "retention",
    "fingerprint",
    "on_duplicate",
    "on_error",
    "on_lost",
    "on_drop",
    "on_crash",
    "on_outage",
    "codec",
    "version",
    "runtime",
    "crate",
    "allow",
];

/// More slips of the pen than this make another word.
const SLIPS: usize = 2;

/// All arguments, as an error lists them.
pub(crate) fn listed() -> String {
    let (last, others) = NAMES.split_last().expect("there are arguments");
    let others: Vec<_> = others.iter().map(|name| spelled(name)).collect();
    format!("{} and {}", others.join(", "), spelled(last))
}

/// The argument as it is written.
fn spelled(name: &str) -> String {
    match name {
        "allow" => "`allow(blocking)`".to_owned(),
        _ => format!("`{name}`"),
    }
}

/// The argument that `word` was probably meant to be.
pub(crate) fn meant(word: &str) -> Option<&'static str> {
    if word == "timeout" {
        return Some("deadline");
    }
    NAMES
        .into_iter()
        .map(|name| (distance(word, name), name))
        .filter(|(slips, _)| *slips <= SLIPS)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, name)| name)
}

/// What is said at an argument that does not exist.
pub(crate) fn unknown(name: &Ident, meant: Option<&str>) -> syn::Error {
    let listed = listed();
    let message = match meant {
        Some(meant) => format!(
            "did you mean {}? There is no argument `{name}`; the arguments are {listed}",
            spelled(meant)
        ),
        None => format!("there is no argument `{name}`; the arguments are {listed}"),
    };
    syn::Error::new(name.span(), message)
}

/// How many characters have to be put in, left out or exchanged to make `to` of `from`
/// (Levenshtein's distance).
fn distance(from: &str, to: &str) -> usize {
    // How far the part of `from` that was read is from each beginning of `to`.
    let mut row: Vec<usize> = (0..=to.chars().count()).collect();
    for (read, from) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = read + 1;
        for (at, to) in to.chars().enumerate() {
            let exchanged = diagonal + usize::from(from != to);
            diagonal = row[at + 1];
            row[at + 1] = exchanged.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{distance, meant};

    #[test]
    fn distances() {
        for (from, to, expected) in [
            ("key", "key", 0),
            ("kee", "key", 1),
            ("keys", "key", 1),
            ("ey", "key", 1),
            ("kye", "key", 2),
            ("", "key", 3),
            ("key", "", 3),
            ("ondrop", "on_drop", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn the_nearest_is_meant() {
        for (word, expected) in [
            ("kee", Some("key")),
            ("leese", Some("lease")),
            ("on_dorp", Some("on_drop")),
            ("alow", Some("allow")),
            ("timeout", Some("deadline")),
            ("idempotency_key", None),
            ("tenant", None),
        ] {
            assert_eq!(meant(word), expected, "{word}");
        }
    }
}
