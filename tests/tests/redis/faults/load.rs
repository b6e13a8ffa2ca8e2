//! Callers of two processes that make the same calls while something goes wrong: each action runs once,
//! and everybody has its outcome.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use idem_runtime::Error;
use idem_runtime::testing::Runs;
use idem_tests::eventually;

use crate::kit::Process;

const CALLERS: usize = 6;

/// What came of it.
#[derive(Default)]
pub(super) struct Load {
    runs: Runs,
    ran: AtomicU64,
    /// The value of each key, as whoever came first was told.
    told: Mutex<HashMap<String, u64>>,
    ended: AtomicBool,
}

impl Load {
    /// Resolves when the callers have had the outcomes of so many more keys.
    pub(super) async fn goes_on_for(&self, keys: usize) {
        let told = || self.told.lock().unwrap().len();
        let enough = told() + keys;
        eventually("the load goes on", || told() >= enough).await;
    }

    /// Lets the callers of all processes call, one key after the other, until `trouble` has ended.
    pub(super) async fn until(&self, processes: [&Process; 2], trouble: impl Future<Output = ()>) {
        let callers =
            processes.into_iter().flat_map(|process| std::iter::repeat_n(process, CALLERS));
        let callers = join_all(callers.map(async |process| {
            for nth in 0.. {
                if self.ended.load(Ordering::SeqCst) {
                    return;
                }
                self.call(process, &format!("key {nth}")).await;
            }
        }));
        let trouble = async {
            trouble.await;
            self.ended.store(true, Ordering::SeqCst);
        };
        tokio::join!(callers, trouble);
    }

    async fn call(&self, process: &Process, key: &str) {
        let action = |_| async {
            let _run = self.runs.start(key);
            let value = self.ran.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok::<_, Error>(value)
        };
        let outcome = process.idem.call("charge").key(key).run(action).await;
        let outcome = outcome.unwrap_or_else(|error| panic!("{key}: {error}"));
        assert!(!outcome.lapsed, "{key}");
        let told = *self.told.lock().unwrap().entry(key.to_owned()).or_insert(outcome.value);
        assert_eq!(outcome.value, told, "{key}: two outcomes");
        assert_eq!(self.runs.total(key), 1, "{key} ran more than once");
    }

    /// Whoever calls afterwards is told the same.
    pub(super) async fn is_remembered_by(&self, process: &Process) {
        let told = self.told.lock().unwrap().clone();
        for (key, value) in told {
            let again = process.call(&key, u64::MAX).await.unwrap();
            assert_eq!(again.value, value, "{key}: the outcome was lost");
        }
    }
}
