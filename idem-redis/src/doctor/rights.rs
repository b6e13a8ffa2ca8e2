//! What the user may do.
//!
//! It is asked by a script, in which a server tells whether it would refuse a command: so no more
//! rights are needed than calls need, nothing is carried out, and nothing is logged as denied.

use redis::{Pipeline, Value};

use crate::check::{Part, Server, reason};
use crate::error::{ConnectError, text};
use crate::scripts::MAY;

use super::finding::Severity::{self, Degrades, Endangers, Notes};
use super::finding::{Finding, Topic};
use super::look::Seen;

/// Stands for a record's name.
const RECORD: &str = "{record}";

/// A command by its name, and what else it takes. They are whole commands: some servers look for a
/// key where one has to be.
type Command = (&'static str, &'static [&'static str]);

pub(super) const INFO: Command = ("info", &[]);

/// Commands that are needed together, and what becomes of calls without one of them.
struct Need {
    commands: &'static [Command],
    severity: Severity,
    without: &'static str,
}

const RECORDS: Need = Need {
    commands: &[
        ("set", &[RECORD, ""]),
        ("get", &[RECORD]),
        ("pttl", &[RECORD]),
        ("setrange", &[RECORD, "0", ""]),
        ("pexpire", &[RECORD, "1"]),
        ("del", &[RECORD]),
    ],
    severity: Endangers,
    without: "calls fail, and what runs cannot be renewed or stored",
};
const SCRIPTS: Need = Need {
    commands: &[("script|load", &[""])],
    severity: Endangers,
    without: "a server that has forgotten the scripts (a restart, `SCRIPT FLUSH`) cannot be given \
              them: calls fail then, and what runs cannot be renewed or stored",
};
const CHANNELS: Need = Need {
    commands: &[
        ("spublish", &[RECORD, ""]),
        ("ssubscribe", &[RECORD]),
        ("sunsubscribe", &[RECORD]),
    ],
    severity: Degrades,
    without: "wake-ups are off: calls that wait hear of an outcome by polling, up to a second later",
};
const TIME: Need = Need {
    commands: &[("time", &[])],
    severity: Degrades,
    without: "no call gets a fence, and the clock and the latency cannot be looked at",
};
const SLOTS: Need = Need {
    commands: &[("cluster|slots", &[])],
    severity: Degrades,
    without: "slots that move, and masters that are replaced, are learned of late",
};
const MOVES: Need = Need {
    commands: &[("asking", &[])],
    severity: Endangers,
    without: "while a slot is on its way to another node, calls of its records fail, and what runs \
              cannot be renewed or stored",
};
const SILENCE: Need = Need {
    commands: &[("ping", &[])],
    severity: Notes,
    without: "connections are asked all the same whether anybody is there, and `ACL LOG` fills",
};
const NEEDS: [&Need; 7] = [&RECORDS, &SCRIPTS, &CHANNELS, &TIME, &SLOTS, &MOVES, &SILENCE];
/// What only the look itself takes.
const LOOKS: [(Command, &str); 3] = [
    (INFO, "memory, persistence, replication"),
    (("config|get", &["save"]), "snapshots, `appendfsync`, the number of replicas to wait for"),
    (("cluster|info", &[]), "the state of the cluster"),
];

/// Whether the user may send a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum May {
    Yes,
    No,
    /// The server has no command of that name.
    Absent,
}

/// What has been found out.
#[derive(Debug)]
pub(super) enum Rights {
    Known(Vec<(&'static str, May)>),
    /// Scripts are refused, by which one asks.
    Unknown(String),
}

impl Default for Rights {
    fn default() -> Self {
        Self::Known(Vec::new())
    }
}

impl Rights {
    /// Whether to try: what could not be found out may be allowed.
    pub(super) fn may(&self, name: &str) -> bool {
        match self {
            Self::Known(_) => self.is(name, May::Yes),
            Self::Unknown(_) => true,
        }
    }

    fn is(&self, name: &str, found: May) -> bool {
        matches!(self, Self::Known(asked) if asked.contains(&(name, found)))
    }
}

/// All that calls and the look send.
pub(super) fn all(part: Part) -> Vec<Command> {
    let needed = NEEDS.into_iter().flat_map(|need| need.commands).copied();
    let looks = LOOKS.into_iter().map(|(command, _)| command);
    let of_clusters = |name: &str| name.starts_with("cluster|") || name == "asking";
    let is_there = |(name, _): &Command| part == Part::Node || !of_clusters(name);
    needed.chain(looks).filter(is_there).collect()
}

/// Asks about these commands on a record of this prefix, or on any key if it is not known.
///
/// # Errors
/// The server is not there.
pub(super) async fn ask(
    server: Server<'_>,
    commands: &[Command],
    prefix: Option<&str>,
) -> Result<Rights, ConnectError> {
    let record = format!("{}:idem.doctor:probe", prefix.unwrap_or_default());
    let mut call = MAY.on_nothing();
    for (name, arguments) in commands {
        let words: Vec<_> = name.split('|').chain(arguments.iter().copied()).collect();
        call.arg(words.len());
        for word in words {
            call.arg(if word == RECORD { &*record } else { word });
        }
    }
    let mut pipeline = Pipeline::new();
    pipeline.add_command(call);
    let replies = server.0.call(&MAY, &pipeline).await;
    match replies.into_iter().next().unwrap_or(Ok(Value::Nil)) {
        Ok(Value::ServerError(error)) => match error.code() {
            "NOPERM" | "NOSCRIPT" | "ERR" => Ok(Rights::Unknown(text(&error))),
            _ => Err(server.unreachable(text(&error))),
        },
        Ok(reply) => {
            let found: Vec<i64> = redis::from_redis_value(reply).unwrap_or_default();
            if found.len() != commands.len() {
                let fault = "the script that asks for rights was answered with something else";
                return Err(server.unreachable(fault.to_owned()));
            }
            let may = found.into_iter().map(|found| match found {
                1 => May::Yes,
                0 => May::No,
                _ => May::Absent,
            });
            Ok(Rights::Known(commands.iter().map(|(name, _)| *name).zip(may).collect()))
        }
        Err(error) => Err(server.unreachable(reason(&error))),
    }
}

/// `prefix`: that of the records, if it is known.
pub(super) fn findings(seen: &Seen, prefix: Option<&str>) -> Vec<Finding> {
    let finding = |severity, what: String, advice: String| {
        Finding::new(severity, Topic::Rights, &seen.address, what, advice)
    };
    if let Rights::Unknown(refusal) = &seen.rights {
        let what = format!(
            "scripts are refused ({refusal}): calls fail, and what runs cannot be renewed or stored"
        );
        let advice = "give the user `+evalsha +script|load`".to_owned();
        return vec![finding(Endangers, what, advice)];
    }
    let mut findings = Vec::new();
    // Where every command on a key of no prefix is denied, it is the key that is.
    let is_scoped =
        prefix.is_none() && denied(&seen.rights, &RECORDS).len() == RECORDS.commands.len();
    if is_scoped {
        let what = "the user may not touch every key: whether it may those of the records, and their \
                    channels, cannot be seen without their prefix";
        let advice = "look again with the prefix of the `Idem`";
        findings.push(finding(Notes, what.to_owned(), advice.to_owned()));
    }
    let of_records = format!("{}:*", prefix.unwrap_or("prefix"));
    for need in NEEDS {
        let absent = names(&seen.rights, need, May::Absent);
        if !absent.is_empty() {
            let what = format!("the server has no {}: {}", list(&absent), need.without);
            let advice = "do not rename the commands that idem needs, or take another server";
            findings.push(finding(need.severity, what, advice.to_owned()));
        }
        let denied: Vec<_> = denied(&seen.rights, need)
            .into_iter()
            .filter(|name| !is_scoped || !is_on_record(need, name))
            .collect();
        if denied.is_empty() {
            continue;
        }
        let patterns = match need.commands[0].0 {
            "set" => format!("`~{of_records}`, "),
            "spublish" => format!("`&{of_records}`, "),
            _ => String::new(),
        };
        let what = format!("the user may not {}: {}", list(&denied), need.without);
        let grants: Vec<_> = denied.iter().map(|name| format!("+{name}")).collect();
        let advice = format!("give it {patterns}`{}`", grants.join(" "));
        findings.push(finding(need.severity, what, advice));
    }
    findings.extend(unseen(&seen.rights).map(|(what, advice)| finding(Notes, what, advice)));
    findings
}

/// What could not be looked at, and what that takes.
fn unseen(rights: &Rights) -> Option<(String, String)> {
    let hidden = LOOKS
        .iter()
        .filter(|((name, _), _)| rights.is(name, May::No) || rights.is(name, May::Absent));
    let (names, topics): (Vec<_>, Vec<_>) = hidden.map(|((name, _), of)| (*name, *of)).unzip();
    let what = format!("not looked at, for lack of {}: {}", list(&names), topics.join(", "));
    let advice = "look as a user that may, or give this one that right for a while";
    (!names.is_empty()).then(|| (what, advice.to_owned()))
}

fn denied(rights: &Rights, need: &Need) -> Vec<&'static str> {
    names(rights, need, May::No)
}

fn names(rights: &Rights, need: &Need, found: May) -> Vec<&'static str> {
    need.commands.iter().map(|(name, _)| *name).filter(|name| rights.is(name, found)).collect()
}

fn is_on_record(need: &Need, name: &str) -> bool {
    // Whoever has subscribed may always end that: it is no question of the channel.
    need.commands
        .iter()
        .any(|(of, arguments)| *of == name && name != "sunsubscribe" && arguments.contains(&RECORD))
}

fn list(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found where all is allowed but these.
    fn told(denied: &[&str], prefix: Option<&str>) -> Vec<(Severity, String, String)> {
        let may = |name| if denied.contains(&name) { May::No } else { May::Yes };
        let asked = all(Part::Node).into_iter().map(|(name, _)| (name, may(name)));
        let seen = Seen { rights: Rights::Known(asked.collect()), ..Seen::default() };
        let told = findings(&seen, prefix).into_iter();
        told.map(|finding| (finding.severity, finding.what, finding.advice)).collect()
    }

    #[test]
    fn each_right_that_is_missing_is_told_with_what_it_costs() {
        assert_eq!(told(&[], None), []);
        for (name, severity, cost) in [
            ("pexpire", Endangers, "renewed or stored"),
            ("script|load", Endangers, "SCRIPT FLUSH"),
            ("ssubscribe", Degrades, "by polling"),
            ("sunsubscribe", Degrades, "by polling"),
            ("time", Degrades, "fence"),
            ("cluster|slots", Degrades, "slots that move"),
            ("asking", Endangers, "on its way"),
            ("ping", Notes, "ACL LOG"),
            ("info", Notes, "memory"),
            ("config|get", Notes, "appendfsync"),
            ("cluster|info", Notes, "state of the cluster"),
        ] {
            for prefix in [None, Some("shop")] {
                let told = told(&[name], prefix);
                let [(found, what, advice)] = &*told else { panic!("{name}: {told:?}") };
                assert!(
                    *found == severity && what.contains(cost) && what.contains(name),
                    "{told:?}"
                );
                assert!(severity == Notes || advice.contains(&format!("+{name}")), "{advice}");
            }
        }
    }

    #[test]
    fn a_user_of_some_keys_is_judged_by_its_prefix_only() {
        let keys: Vec<_> = RECORDS.commands.iter().map(|(name, _)| *name).collect();
        let scoped = [&*keys, &["spublish", "ssubscribe"]].concat();
        let without = told(&scoped, None);
        let [(Notes, what, _)] = &*without else { panic!("{without:?}") };
        assert!(what.contains("without their prefix"));
        let with = told(&scoped, Some("shop"));
        let [(Endangers, _, keys), (Degrades, _, channels)] = &*with else { panic!("{with:?}") };
        assert!(keys.contains("`~shop:*`") && channels.contains("`&shop:*`"), "{with:?}");
    }

    #[test]
    fn a_command_that_was_renamed_is_not_called_a_right() {
        let rights = Rights::Known(vec![("pexpire", May::Absent), ("config|get", May::Absent)]);
        let found = findings(&Seen { rights, ..Seen::default() }, None);
        assert!(found[0].what.starts_with("the server has no `pexpire`"), "{found:?}");
        assert!(found[1].what.contains("`config|get`") && found.len() == 2, "{found:?}");
    }
}
