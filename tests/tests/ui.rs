//! What the attribute refuses, word for word, and what it takes. See `ui/fail` and `ui/pass`.

#[test]
fn ui() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/fail/*.rs");
    cases.pass("ui/pass/*.rs");
}
