//! What observers are told of receipts and runs: what happened, and no key as it is.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use idem_runtime::{Error, Event, Observer};
use idem_tests::World;
use tokio::time::sleep;

/// All that is told, as text.
#[derive(Clone, Debug, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Observer for Told {
    fn observe(&self, event: &Event<'_>) {
        self.0.lock().unwrap().push(format!("{event:?}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_run_is_told_with_its_reasons_and_without_its_key() {
    let told = Told::default();
    let process = World::new().process_with(|builder| builder.observer(told.clone()));
    let dispatch = || process.idem.dispatch("reports.render").key("confidential");
    let failing = dispatch().spawn(async { Err::<u64, _>("no paper") }).await.unwrap();
    while !failing.status().await.unwrap().has_ended() {
        sleep(Duration::from_millis(10)).await;
    }
    for _ in 0..2 {
        dispatch().spawn(std::future::pending::<Result<u64, Error>>()).await.unwrap();
    }
    let told = told.0.lock().unwrap().join("\n");
    for part in [
        "RunMoved { state: Failed }",
        "ReceiptReclaimed { verdict: Ended, discarded: true, next: Started }",
        "ReceiptReplayed { verdict: Live }",
    ] {
        assert!(told.contains(part), "{part}:\n{told}");
    }
    assert!(!told.contains("confidential"), "{told}");
}

/// Who has an id can look at its run and cancel it: the ids of a process do not follow each other.
#[tokio::test(start_paused = true)]
async fn a_runs_id_says_nothing_of_the_next() {
    let process = World::new().process();
    let mut ids = Vec::new();
    for key in 0..8_u32 {
        let dispatch = process.idem.dispatch("reports.render").key(&key);
        let receipt = dispatch.spawn(async { Ok::<_, Error>(0_u64) }).await.unwrap();
        ids.push(u128::from_str_radix(&receipt.id().to_string(), 16).unwrap());
    }
    for pair in ids.windows(2) {
        assert!(pair[0].abs_diff(pair[1]) > 1 << 64, "{pair:x?}");
    }
}
