//! What becomes of records when the server ends.

use super::finding::Severity::{Degrades, Endangers};
use super::finding::{Finding, Topic};
use super::look::{Fields, Seen};

const TURN_ON: &str = "set `appendonly yes` with `appendfsync everysec` or `always`";

pub(super) fn findings(seen: &Seen) -> Vec<Finding> {
    let Some(info) = &seen.info else { return Vec::new() };
    let finding = |severity, what: String, advice: &str| {
        Finding::new(severity, Topic::Persistence, &seen.address, what, advice)
    };
    let config = seen.config.as_ref();
    let mut findings = Vec::new();
    if info.is("aof_enabled", "0") {
        findings.push(finding(Endangers, without_log(config), TURN_ON));
    }
    if info.is("aof_last_write_status", "err") {
        let what = "the append-only file cannot be written: the server refuses to write, so nothing \
                    begins, is renewed or stored";
        findings.push(finding(Endangers, what.to_owned(), "repair the server's disk"));
    }
    if info.is("rdb_last_bgsave_status", "err") {
        findings.push(if refuses_without_snapshot(config) {
            let what = "the last snapshot failed, after which the server refuses to write: nothing \
                        begins, is renewed or stored";
            finding(Endangers, what.to_owned(), "repair the server's disk, and `BGSAVE`")
        } else {
            let what = "the last snapshot failed; records do not depend on it here";
            finding(Degrades, what.to_owned(), "repair the server's disk, and `BGSAVE`")
        });
    }
    if info.is("aof_enabled", "1") && config.is_some_and(|config| config.is("appendfsync", "no")) {
        let what = "`appendfsync no` leaves it to the system when the append-only file reaches the \
                    disk: a crash of the machine forgets half a minute of outcomes and reservations";
        findings.push(finding(Degrades, what.to_owned(), "set `appendfsync everysec` or `always`"));
    }
    findings
}

/// What a crash costs without an append-only file, as far as the user may know.
fn without_log(config: Option<&Fields>) -> String {
    let forgets = match config.and_then(|config| config.text("save")) {
        Some("") => "nor snapshots: a restart forgets every outcome and reservation".to_owned(),
        Some(save) => format!(
            "and snapshots come seldom (`save {save}`): a crash forgets what was stored since the \
             last one"
        ),
        None => {
            "and at best there are snapshots: a crash forgets what was stored since the last one"
                .to_owned()
        }
    };
    format!("no append-only file, {forgets}, and such calls run again")
}

/// Whether a snapshot that failed keeps the server from writing; unless told otherwise, it does.
fn refuses_without_snapshot(config: Option<&Fields>) -> bool {
    config.is_none_or(|config| {
        !config.is("save", "") && !config.is("stop-writes-on-bgsave-error", "no")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(info: &str, config: Option<&[(&str, &str)]>) -> Vec<(super::super::Severity, String)> {
        let seen = Seen { config: config.map(Fields::of), ..Seen::of_info(info) };
        findings(&seen).into_iter().map(|finding| (finding.severity, finding.what)).collect()
    }

    #[test]
    fn without_a_log_it_says_what_is_left() {
        let what = |config: Option<&[(&str, &str)]>| {
            let told = told("aof_enabled:0", config);
            assert_eq!((told.len(), told[0].0), (1, Endangers));
            told[0].1.clone()
        };
        assert!(what(Some(&[("save", "")])).contains("a restart forgets every"));
        assert!(what(Some(&[("save", "3600 1")])).contains("`save 3600 1`"));
        assert!(what(None).contains("at best"));
    }

    #[test]
    fn with_a_log_only_its_faults_are_told() {
        let healthy = "aof_enabled:1\naof_last_write_status:ok\nrdb_last_bgsave_status:ok";
        for fsync in ["everysec", "always"] {
            assert_eq!(told(healthy, Some(&[("appendfsync", fsync)])), []);
        }
        assert_eq!(told(healthy, Some(&[("appendfsync", "no")]))[0].0, Degrades);
        assert_eq!(told("aof_enabled:1\naof_last_write_status:err", None)[0].0, Endangers);
    }

    #[test]
    fn a_failed_snapshot_matters_where_it_stops_writes() {
        let failed = "aof_enabled:1\nrdb_last_bgsave_status:err";
        let severity = |config: Option<&[(&str, &str)]>| told(failed, config)[0].0;
        assert_eq!(severity(None), Endangers);
        assert_eq!(severity(Some(&[("save", "60 1")])), Endangers);
        assert_eq!(severity(Some(&[("save", "")])), Degrades);
        let goes_on = [("save", "60 1"), ("stop-writes-on-bgsave-error", "no")];
        assert_eq!(severity(Some(&goes_on)), Degrades);
    }
}
