//! Addresses: one that can be used, or what is wrong with it, without the password in it.

use idem_fuzzing::{Judged, fuzz};
use proptest::prelude::*;

use crate::address::Address;
use crate::error::ConnectError;

/// Stands in no address by chance.
const PASSWORD: &str = "pAsSwOrD";

fn scheme() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "(redis|rediss|valkey)(-cluster|-sentinel|)",
        1 => "(unix|smtp|http|REDIS|redis\\+unix)(-cluster|-sentinel|)",
        1 => "[a-z+:/ -]{0,8}",
    ]
}

fn host() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{1,6}(:[0-9]{1,5})?",
        1 => "\\[::[0-9]{0,2}\\](:[0-9]{1,5})?",
        1 => "[a-z:@/\\[\\]%\u{e9}]{0,6}",
    ]
}

fn addresses() -> impl Strategy<Value = String> {
    let login = prop::option::of(prop_oneof![
        4 => "[a-z]{0,4}:pAsSwOrD@",
        1 => "[a-z%]{0,3}:[/#?:@%]?pAsSwOrD[/#?:@%]?@",
    ]);
    let hosts = prop::collection::vec(host(), 0..4).prop_map(|hosts| hosts.join(","));
    let tail = prop_oneof![
        2 => Just(String::new()),
        2 => "/[0-9]{0,3}",
        3 => "(/[0-9])?\\?master=[a-z]{0,4}(&sentinel_password=pAsSwOrD)?",
        1 => "\\?(protocol=resp[23]|db=1|master|[a-z=&%]{0,6})",
        1 => "[/?#&=%a-z0-9]{0,8}",
    ];
    let separator = prop_oneof![20 => Just("://"), 1 => Just(":"), 1 => Just("")];
    (scheme(), separator, login, hosts, tail).prop_map(|(scheme, separator, login, hosts, tail)| {
        format!("{scheme}{separator}{}{hosts}{tail}", login.unwrap_or_default())
    })
}

#[test]
fn addresses_by_chance() {
    let judge = |address: String| -> Judged {
        match Address::parse(&address) {
            Ok(Address::Server(_)) => Ok("one server"),
            Ok(Address::Sentinels { sentinels, master, .. }) => {
                prop_assert!(!sentinels.is_empty() && !master.is_empty());
                Ok("sentinels")
            }
            Ok(Address::Cluster { seeds, login, .. }) => {
                prop_assert!(!seeds.is_empty() && login.db() == 0);
                Ok("a cluster")
            }
            Err(ConnectError::Setting(why)) => {
                prop_assert!(!why.contains(PASSWORD), "{}", why);
                Ok([
                    ("begins with", "refused: scheme"),
                    ("a host is missing", "refused: no host"),
                    ("has no setting", "refused: setting"),
                    ("`?master=`", "refused: no master"),
                    ("database", "refused: database"),
                    ("after a `#`", "refused: fragment"),
                ]
                .into_iter()
                .find_map(|(words, kind)| why.contains(words).then_some(kind))
                .unwrap_or("refused: otherwise"))
            }
            Err(other) => Err(TestCaseError::fail(other.to_string())),
        }
    };
    let kinds = [
        "one server",
        "sentinels",
        "a cluster",
        "refused: scheme",
        "refused: no host",
        "refused: setting",
        "refused: no master",
        "refused: database",
        "refused: fragment",
        "refused: otherwise",
    ];
    let inputs = prop_oneof![9 => addresses().boxed(), 1 => any::<String>().boxed()];
    fuzz("addresses", &kinds, 8_000, &inputs, judge);
}
