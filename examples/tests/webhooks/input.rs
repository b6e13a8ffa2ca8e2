//! Where deliveries come from, and lines that are none.

use crate::kit::{Desk, os_error, shown};

/// A line that fits exactly.
fn longest_line() -> String {
    let (head, tail) = (r#"{"id":"fits","data":""#, r#""}"#);
    format!("{head}{}{tail}", "x".repeat((1 << 20) - head.len() - tail.len()))
}

#[test]
fn standard_input_is_read() {
    let said = Desk::new().feed(&[], "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"a\"}");
    said.is_well();
    assert_eq!((said.count("deliveries"), said.count("handled")), (3, 2));
    assert_eq!(said.verdict(), "2 events, 2 ledger lines, no event twice");
}

#[test]
fn a_file_is_read() {
    let desk = Desk::new();
    desk.file("deliveries.jsonl", "{\"id\":\"a\"}\n");
    let said = desk.run(&["deliveries.jsonl"]);
    said.is_well();
    assert_eq!(said.verdict(), "1 events, 1 ledger lines, no event twice");
}

#[test]
fn nothing_is_fine_too() {
    let said = Desk::new().feed(&[], "");
    said.is_well();
    assert_eq!(
        (said.count("deliveries"), said.verdict()),
        (0, "0 events, 0 ledger lines, no event twice")
    );
}

#[test]
fn a_duplicate_waits_for_the_one_under_way() {
    let slow = "{\"id\":\"a\",\"simulate\":{\"slow_ms\":2000}}\n";
    let said = Desk::new().feed(&[], slow.repeat(3));
    said.is_well();
    assert_eq!((said.count("handled"), said.count("waited")), (1, 2));
}

#[test]
fn the_order_of_entries_is_no_other_content() {
    let said = Desk::new().feed(
        &[],
        "{\"id\":\"a\",\"data\":{\"x\":1,\"y\":2}}\n{\"data\":{\"y\":2,\"x\":1},\"id\":\"a\"}\n",
    );
    said.is_well();
    assert_eq!((said.count("handled"), said.count("refused")), (1, 0));
}

#[test]
fn an_id_used_again_for_other_content_is_refused() {
    let said = Desk::new().feed(
        &["--concurrency", "1"],
        "{\"id\":\"a\",\"type\":\"x\"}\n{\"id\":\"a\",\"type\":\"y\"}\n",
    );
    said.is_well();
    assert_eq!((said.count("handled"), said.count("refused")), (1, 1));
    assert!(said.stdout.contains("with an id that was used before for other content"));
}

#[test]
fn unknown_fields_are_kept() {
    let desk = Desk::new();
    desk.feed(
        &[],
        "{\"id\":\"a\",\"livemode\":true,\"created\":\"today\",\"nested\":{\"x\":[1.5,null]}}\n",
    )
    .is_well();
    let line = std::fs::read_to_string(desk.ledger()).expect("a ledger");
    let entry: serde_json::Value = serde_json::from_str(&line).expect("a line");
    let nested = serde_json::json!({"x": [1.5, null]});
    let whole =
        serde_json::json!({"id": "a", "livemode": true, "created": "today", "nested": nested});
    assert_eq!(entry, whole);
}

#[test]
fn crlf_blank_lines_and_a_byte_order_mark_are_fine() {
    let said = Desk::new().feed(&[], "\u{feff}{\"id\":\"a\"}\r\n\r\n  \t\n{\"id\":\"b\"}\r\n");
    said.is_well();
    assert_eq!((said.count("deliveries"), said.count("invalid lines")), (2, 0));
}

#[test]
fn what_is_no_delivery_is_reported_by_line_and_the_rest_goes_on() {
    let mut lines: Vec<Vec<u8>> = [
        r#"{"id":"a"}"#,
        "nope",
        r#"{"type":"x"}"#,
        r#"{"id":5}"#,
        r#"{"id":""}"#,
        "[1]",
        r#"{"id":"b","type":3}"#,
        r#"{"id":"c","id":"d"}"#,
        r#"{"id":"c","simulate":{"x":1}}"#,
        r#"{"id":"c","simulate":3}"#,
        r#"{"id":"c","data":[1,2"#,
        r#"{"id":"z"}"#,
    ]
    .map(|line| line.as_bytes().to_vec())
    .into();
    lines.push(b"{\"id\":\"\xff\"}".to_vec());
    let said = Desk::new().feed(&[], lines.join(&b'\n'));
    assert_eq!(said.code, Some(3));
    assert_eq!(
        said.stderr.lines().collect::<Vec<_>>(),
        [
            "webhooks: line 2: not JSON: expected ident (column 2)",
            "webhooks: line 3: missing field `id` (column 12)",
            "webhooks: line 4: invalid type: integer `5`, expected `id` to be a string (column 7)",
            "webhooks: line 5: `id` is empty (column 9)",
            "webhooks: line 6: invalid type: sequence, expected a JSON object",
            "webhooks: line 7: invalid type: integer `3`, expected `type` to be a string (column 18)",
            "webhooks: line 8: duplicate field `id` (column 14)",
            "webhooks: line 9: unknown field `x`, expected `slow_ms` or `fail` (column 25)",
            "webhooks: line 10: invalid type: integer `3`, \
             expected an object with `slow_ms` or `fail` as `simulate` (column 22)",
            "webhooks: line 11: not JSON: EOF while parsing a list (column 21)",
            "webhooks: line 13: not UTF-8 from its byte 8 on",
        ]
    );
    assert_eq!((said.count("handled"), said.count("invalid lines")), (2, 11));
    assert_eq!(said.verdict(), "2 events, 2 ledger lines, no event twice");
}

#[test]
fn a_line_is_at_most_1_mib() {
    let fits = longest_line();
    let said = Desk::new().feed(&[], format!("{fits}\r\n{fits} \n{fits}\n"));
    assert_eq!(
        (said.code, &*said.stderr),
        (Some(3), "webhooks: line 2: longer than 1048576 bytes\n")
    );
    assert_eq!((said.count("handled"), said.count("deliveries")), (1, 2));
}

#[test]
fn a_line_without_end_is_passed_over() {
    let endless = "x".repeat(50 << 20);
    let said = Desk::new().feed(&[], format!("{endless}\n{{\"id\":\"a\"}}\n{endless}"));
    assert_eq!(
        said.stderr,
        "webhooks: line 1: longer than 1048576 bytes\nwebhooks: line 3: longer than 1048576 bytes\n"
    );
    assert_eq!((said.code, said.count("handled")), (Some(3), 1));
}

#[test]
fn an_id_that_idem_cannot_take_is_refused_and_counted() {
    let said = Desk::new().feed(&[], format!("{{\"id\":\"{}\"}}\n", "k".repeat(70_000)));
    said.is_well();
    assert_eq!((said.count("refused"), said.count("handled")), (1, 0));
    assert!(said.stdout.contains("with an id or data that idem cannot take"));
}

#[test]
fn a_missing_file_is_one_line_and_leaves_no_ledger() {
    let desk = Desk::new();
    desk.run(&["nowhere.jsonl"]).failed(1, &format!("cannot open nowhere.jsonl: {}", os_error(2)));
    assert!(!desk.ledger().exists());
}

#[test]
fn a_directory_is_no_input() {
    Desk::new()
        .run(&["."])
        .failed(1, "cannot read .: it is a directory; give a file, or - for standard input");
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_read_is_one_line_and_what_was_done_is_told() {
    // It opens, and its first read fails, for everybody.
    let said = Desk::new().run(&["/proc/self/mem"]);
    said.failed(1, &format!("cannot read /proc/self/mem: {}", os_error(5)));
    assert_eq!(said.count("deliveries"), 0);
}

#[test]
fn the_ledger_is_not_the_input() {
    let desk = Desk::new();
    let ledger = shown(&desk.file("ledger.jsonl", "{\"id\":\"a\"}\n"));
    let told = format!("the ledger is the input, {ledger}: give --ledger another path");
    desk.run(&[&ledger]).failed(1, &told);
    assert_eq!(desk.booked().len(), 1);
}
