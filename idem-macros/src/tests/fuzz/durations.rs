//! Durations: what is accepted is what a second, simpler reading says.

use idem_fuzzing::{Judged, fuzz};
use proptest::prelude::*;
use quote::ToTokens;
use syn::LitStr;

use crate::duration::Duration;

/// In milliseconds, one character after the other; `None` for what is none or over ten years.
fn read(text: &str) -> Option<u64> {
    let (mut number, mut digits, mut rest) = (0_u128, 0, text);
    while let Some(digit) = rest.chars().next().and_then(|first| first.to_digit(10)) {
        number = number.saturating_mul(10).saturating_add(digit.into());
        (digits, rest) = (digits + 1, &rest[1..]);
    }
    let unit = match rest {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let ms = number.saturating_mul(unit);
    (digits > 0 && ms <= 3_650 * 86_400_000).then(|| u64::try_from(ms).expect("ten years"))
}

#[test]
fn durations() {
    let number = prop_oneof![
        any::<u16>().prop_map(|number| number.to_string()),
        any::<u64>().prop_map(|number| number.to_string()),
        (3_640..3_660_u64).prop_map(|number| number.to_string()),
        "0{0,3}[0-9]{0,40}",
    ];
    let unit = prop_oneof![4 => "ms|s|m|h|d", 1 => "min|sec|S|H|w|y|us| s|", 1 => any::<String>()];
    let text = prop_oneof![
        8 => (number, unit).prop_map(|(number, unit)| number + &unit),
        1 => "[+-]?[0-9]{1,3}([.,_][0-9])?(ms|s| s|s )",
        1 => "[0-9\u{660}\u{661}\u{ff11}]{1,3}s",
    ];
    let judge = |text: String| -> Judged {
        let literal = LitStr::new(&text, proc_macro2::Span::call_site());
        let parsed = syn::parse2::<Duration>(literal.into_token_stream());
        prop_assert_eq!(parsed.as_ref().ok().map(|duration| duration.ms), read(&text));
        Ok(match parsed {
            Ok(_) => "a duration",
            Err(error) if error.to_string().contains("longer than") => "refused: too long",
            Err(_) => "refused: no duration",
        })
    };
    let kinds = ["a duration", "refused: too long", "refused: no duration"];
    fuzz("durations", &kinds, 5_000, &text, judge);
}
