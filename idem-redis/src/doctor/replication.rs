//! What becomes of records when a replica takes over.

use super::finding::Severity::{Degrades, Endangers, Notes};
use super::finding::{Finding, Topic};
use super::look::{Fields, Seen};

/// A replica that has not been heard of for longer, in seconds, is behind; the lag that
/// `min-replicas-max-lag` has unless set.
const LONGEST_LAG: u64 = 10;

/// `fails_over`: whether somebody is there to make a replica the master.
pub(super) fn findings(seen: &Seen, fails_over: bool) -> Vec<Finding> {
    let Some(info) = &seen.info else { return Vec::new() };
    let finding = |severity, what: String, advice: &str| {
        Finding::new(severity, Topic::Replication, &seen.address, what, advice)
    };
    // Since it was connected to, another has been made the master.
    if info.is("role", "slave") {
        let what = "the server is a read replica now: it refuses to write, so nothing begins, is \
                    renewed or stored";
        return vec![finding(Endangers, what.to_owned(), "have the address name the master")];
    }
    let Some(replicas) = info.number::<u64>("connected_slaves") else { return Vec::new() };
    let mut findings = Vec::new();
    // The server counts them only where it asks for some.
    let in_time: Option<u64> = info.number("min_slaves_good_slaves");
    let needed = seen.config.as_ref().and_then(|config| config.number("min-replicas-to-write"));
    match in_time {
        Some(in_time) if in_time < needed.unwrap_or(1) => {
            let what = format!(
                "{in_time} replicas are in time, fewer than `min-replicas-to-write` asks for: the \
                 server refuses to write, so nothing begins, is renewed or stored"
            );
            findings.push(finding(Endangers, what, "bring the replicas back, or add some"));
        }
        None if replicas > 0 => {
            let what = "there are replicas, and writes are taken without them \
                        (`min-replicas-to-write 0`): a master that is cut off goes on taking them, and \
                        all of that is lost when a replica takes over";
            let advice = "have two replicas or more, and set `min-replicas-to-write 1` and \
                          `min-replicas-max-lag 10`";
            findings.push(finding(Endangers, what.to_owned(), advice));
        }
        // The new master would count on the old one.
        Some(_) if replicas == 1 && fails_over => {
            let what = "there is one replica, and `min-replicas-to-write` asks for it: when that takes \
                        over it has none, and refuses to write until the old master is back";
            findings.push(finding(Notes, what.to_owned(), "add a replica"));
        }
        _ => {}
    }
    if replicas == 0 && fails_over && in_time.is_none() {
        let what =
            "the master has no replica: when it is lost, its records are away until it is back";
        findings.push(finding(Degrades, what.to_owned(), "add a replica"));
    }
    for Replica { host, port, state, lag } in replicas_of(info) {
        if state != "online" || lag > LONGEST_LAG {
            let what = format!(
                "its replica {host}:{port} is behind ({state}, heard of {lag} s ago): should it take \
                 over, what it has not received is lost"
            );
            findings.push(finding(Degrades, what, "look at the replica, and the network between"));
        }
    }
    findings
}

/// A replica as its master knows it.
pub(super) struct Replica {
    pub(super) host: String,
    pub(super) port: u16,
    state: String,
    lag: u64,
}

/// The replicas that are connected.
pub(super) fn replicas_of(info: &Fields) -> Vec<Replica> {
    (0..).map_while(|nth: usize| info.text(&format!("slave{nth}"))).filter_map(read).collect()
}

/// Reads `ip=…,port=…,state=…,offset=…,lag=…`.
fn read(replica: &str) -> Option<Replica> {
    let field = |name: &str| {
        let fields = replica.split(',').filter_map(|field| field.split_once('='));
        fields.into_iter().find_map(|(key, value)| (key == name).then_some(value))
    };
    Some(Replica {
        host: field("ip")?.to_owned(),
        port: field("port")?.parse().ok()?,
        state: field("state")?.to_owned(),
        lag: field("lag")?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPLICA: &str = "slave0:ip=::1,port=7001,state=online,offset=9,lag=1";

    fn severities(info: &str, fails_over: bool) -> Vec<super::super::Severity> {
        let found = findings(&Seen::of_info(info), fails_over);
        found.into_iter().map(|finding| finding.severity).collect()
    }

    #[test]
    fn replicas_want_to_be_waited_for() {
        let one = format!("connected_slaves:1\n{REPLICA}");
        assert_eq!(severities(&one, true), [Endangers]);
        let asked_for = format!("{one}\nmin_slaves_good_slaves:1");
        assert_eq!(severities(&asked_for, false), []);
        // One that takes over has none itself.
        assert_eq!(severities(&asked_for, true), [Notes]);
        let two = asked_for.replace("connected_slaves:1", "connected_slaves:2");
        assert_eq!(severities(&two, true), []);
        assert_eq!(severities("connected_slaves:0", false), []);
        assert_eq!(severities("connected_slaves:0", true), [Degrades]);
        // Writes are refused: the one thing to tell.
        assert_eq!(severities("connected_slaves:0\nmin_slaves_good_slaves:0", true), [Endangers]);
    }

    #[test]
    fn as_many_replicas_are_in_time_as_are_needed() {
        let needs = |count| {
            let config = Some(Fields::of(&[("min-replicas-to-write", count)]));
            let info = format!("connected_slaves:1\n{REPLICA}\nmin_slaves_good_slaves:1");
            findings(&Seen { config, ..Seen::of_info(&info) }, false).len()
        };
        assert_eq!((needs("1"), needs("2")), (0, 1));
    }

    #[test]
    fn a_replica_that_is_behind_is_named() {
        for behind in ["state=wait_bgsave,offset=0,lag=0", "state=online,offset=9,lag=11"] {
            let info = format!(
                "connected_slaves:2\nmin_slaves_good_slaves:1\n{REPLICA}\nslave1:ip=a,port=1,{behind}"
            );
            let found = findings(&Seen::of_info(&info), true);
            assert_eq!((found.len(), found[0].severity), (1, Degrades));
            assert!(found[0].what.contains("a:1"), "{}", found[0].what);
        }
    }
}
