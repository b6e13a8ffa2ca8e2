//! What comes after an attack: others ask again, and what stands then is looked at.

use std::time::Duration;

use idem_runtime::{Ran, RunId, RunStatus};
use idem_tests::RedisServer;
use tokio::time::{Instant, sleep};

use super::die_anywhere::{HOLD, QUEUE_TIMEOUT};
use super::{PATIENCE, dispatch};
use crate::kit::{Queue, receipt_record, work};
use crate::processes::Process;

/// Another process on the server, and the queue that the runs went to.
pub(super) struct Settling<'a> {
    pub(super) what: String,
    pub(super) server: &'a RedisServer,
    pub(super) process: &'a Process,
    pub(super) queue: &'a Queue,
}

impl Settling<'_> {
    /// Asks again, and hands out again what the queue has, until there is a result.
    pub(super) async fn settle(&self) {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let dispatch = dispatch(&self.process.idem, HOLD, QUEUE_TIMEOUT);
            let receipt = self.queue.take(dispatch).await;
            for run in self.queue.runs() {
                // It may lapse on a slow machine, or be another's.
                let _ = work(&self.process.idem, run, 2).await;
            }
            if let Ok(receipt) = receipt
                && receipt.result::<u64>().await.is_ok()
            {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
        panic!("{}: no result in the end; {:?}", self.what, self.runs().await);
    }

    /// One run has succeeded, the receipt names it, and of the others none can run any more. Gives that
    /// run and its value.
    pub(super) async fn check(&self) -> (RunId, u64) {
        let asked = self.queue.runs().len();
        let dispatch = dispatch(&self.process.idem, HOLD, QUEUE_TIMEOUT);
        let receipt = self.queue.take(dispatch).await.unwrap();
        assert!(receipt.is_replay() && self.queue.runs().len() == asked, "{}", self.what);
        let record: Vec<u8> = self.server.ask(&["GET", &receipt_record("a")]);
        assert_eq!(record[1], 1, "{}: it is completed", self.what);
        let mut left = self.others_than(receipt.id()).await;
        let until = Instant::now() + PATIENCE;
        while !left.is_empty() && Instant::now() < until {
            sleep(Duration::from_millis(20)).await;
            left = self.others_than(receipt.id()).await;
        }
        assert!(left.is_empty(), "{}: left beside {}: {left:?}", self.what, receipt.id());
        for run in self.queue.cancelled() {
            let status = self.process.idem.run(run).status().await.unwrap();
            assert_eq!(status, RunStatus::Cancelled, "{}", self.what);
        }
        let value = receipt.result::<u64>().await;
        (receipt.id(), value.unwrap_or_else(|error| panic!("{}: {error}", self.what)))
    }

    /// The runs beside `standing` that somebody would still have to give up. A worker that gets one does
    /// not start it, and whatever it is, its record ends.
    async fn others_than(&self, standing: RunId) -> Vec<(RunId, RunStatus)> {
        let mut left = Vec::new();
        for (run, status) in self.runs().await {
            if run == standing {
                assert_eq!(status, RunStatus::Succeeded, "{}", self.what);
                continue;
            }
            assert_ne!(status, RunStatus::Succeeded, "{}: {run} beside {standing}", self.what);
            let ran = work(&self.process.idem, run, 3).await;
            assert!(matches!(ran, Ok(Ran::NotStarted(_))), "{}: {ran:?}", self.what);
            let status = self.process.idem.run(run).status().await.unwrap();
            // Its process died before it could start it, and nobody else has its body: it expires.
            if status != RunStatus::Accepted && !status.has_ended() {
                left.push((run, status));
            }
        }
        left
    }

    /// All runs that there are records of.
    async fn runs(&self) -> Vec<(RunId, RunStatus)> {
        let records: Vec<String> = self.server.ask(&["KEYS", "shop:idem.run:*"]);
        let mut runs = Vec::new();
        for record in records {
            assert_ne!(self.server.ask::<i64>(&["PTTL", &record]), -1, "a record without an end");
            let run: RunId = record.rsplit(':').next().unwrap().parse().unwrap();
            runs.push((run, self.process.idem.run(run).status().await.unwrap()));
        }
        runs
    }
}
