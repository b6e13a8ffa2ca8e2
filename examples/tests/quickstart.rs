//! The program that the README opens with, run as a person would.

use std::process::Command;

#[test]
fn twelve_calls_run_twice() {
    let output = Command::new(env!("CARGO_BIN_EXE_quickstart")).output().expect("quickstart runs");
    let stdout = String::from_utf8(output.stdout).expect("it writes UTF-8");
    let count = |what| stdout.lines().filter(|line| line.ends_with(what)).count();

    assert!(output.status.success(), "{stdout}");
    assert!(output.stderr.is_empty());
    assert_eq!(count("the card of order 17 is charged"), 1, "{stdout}");
    assert_eq!(count("the card of order 18 is charged"), 1, "{stdout}");
    assert_eq!(count("receipt R-17 over 4200 cents: Fresh"), 1, "{stdout}");
    assert_eq!(count("receipt R-17 over 4200 cents: Replayed"), 1, "{stdout}");
    assert_eq!(count("receipt R-18 over 4200 cents: Fresh"), 1, "{stdout}");
    // A task that the machine starts late finds the outcome stored.
    let others = count("receipt R-18 over 4200 cents: Waited")
        + count("receipt R-18 over 4200 cents: Replayed");
    assert_eq!(others, 9, "{stdout}");
}
