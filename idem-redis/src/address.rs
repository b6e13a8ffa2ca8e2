//! Addresses: `redis://…` for one server, `redis-sentinel://…` for the master that sentinels name,
//! `redis-cluster://…` for a cluster.

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo};
use url::Url;

use crate::error::ConnectError;

const CLUSTER: &str = "-cluster";
const SENTINEL: &str = "-sentinel";
/// Where sentinels listen unless told otherwise; servers listen on 6379.
const SENTINEL_PORT: u16 = 26379;

const SCHEMES: &str = "an address begins with `redis://`, `unix://`, `redis-sentinel://` or \
                       `redis-cluster://`, or with `rediss` in place of `redis`";

const IN_A_PASSWORD: &str =
    "; in a password, write `/` as `%2F`, `@` as `%40`, `#` as `%23`, `?` as `%3F`";

/// What an address names.
#[derive(Debug)]
pub(crate) enum Address {
    Server(ConnectionInfo),
    Sentinels {
        sentinels: Vec<ConnectionInfo>,
        /// The name under which they watch it.
        master: String,
        /// Who the service is to the master.
        login: RedisConnectionInfo,
        encrypted: bool,
    },
    Cluster {
        /// Some of its nodes, from which the others are learned.
        seeds: Vec<(String, u16)>,
        /// Who the service is to all of them.
        login: RedisConnectionInfo,
        encrypted: bool,
    },
}

impl Address {
    /// # Errors
    /// What is wrong, without the address itself: it may hold a password.
    pub(crate) fn parse(text: &str) -> Result<Self, ConnectError> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(unusable(SCHEMES));
        };
        if let Some(scheme) = scheme.strip_suffix(CLUSTER) {
            Self::cluster(&hosts(scheme, rest, &["protocol"])?)
        } else if let Some(scheme) = scheme.strip_suffix(SENTINEL) {
            let known = ["protocol", "master", "sentinel_user", "sentinel_password"];
            Self::sentinels(hosts(scheme, rest, &known)?)
        } else {
            checked_scheme(scheme)?;
            Self::server(scheme, text)
        }
    }

    fn server(scheme: &str, text: &str) -> Result<Self, ConnectError> {
        let info = info(text)?;
        let url = Url::parse(text).map_err(|error| unusable(&error.to_string()))?;
        let known: &[&str] = match scheme {
            "unix" | "redis+unix" | "valkey+unix" => &["db", "user", "pass", "protocol"],
            _ => &["protocol"],
        };
        match unknown(&url, known) {
            Some(name) if name == "master" => Err(unusable(
                "a master is named by an address that begins with `redis-sentinel://`",
            )),
            Some(name) => Err(no_setting(&url, &name)),
            None => Ok(Self::Server(info)),
        }
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        match self {
            Self::Server(info) => matches!(info.addr(), ConnectionAddr::TcpTls { .. }),
            Self::Sentinels { encrypted, .. } | Self::Cluster { encrypted, .. } => *encrypted,
        }
    }

    fn cluster(hosts: &[Url]) -> Result<Self, ConnectError> {
        let (login, encrypted) = login(&hosts[0])?;
        if login.db() != 0 {
            return Err(unusable("a cluster has the database 0 only"));
        }
        let seed = |host: &Url| match info(host.as_str())?.addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                Ok((host.clone(), *port))
            }
            _ => Err(unusable("the nodes of a cluster are named by host and port")),
        };
        Ok(Self::Cluster {
            seeds: hosts.iter().map(seed).collect::<Result<_, _>>()?,
            login,
            encrypted,
        })
    }

    fn sentinels(mut hosts: Vec<Url>) -> Result<Self, ConnectError> {
        let first = &hosts[0];
        let of_query = |name| {
            let found = first.query_pairs().find(|(key, _)| key == name);
            found.map(|(_, value)| value.into_owned())
        };
        let Some(master) = of_query("master").filter(|master| !master.is_empty()) else {
            return Err(unusable(
                "the address of sentinels ends in `?master=` and the master's name",
            ));
        };
        let mut of_sentinels = RedisConnectionInfo::default();
        if let Some(user) = of_query("sentinel_user") {
            of_sentinels = of_sentinels.set_username(user);
        }
        if let Some(password) = of_query("sentinel_password") {
            of_sentinels = of_sentinels.set_password(password);
        }
        let (login, encrypted) = login(first)?;
        let sentinel = |host: &mut Url| {
            if host.port().is_none() {
                let _ = host.set_port(Some(SENTINEL_PORT));
            }
            Ok(info(host.as_str())?.set_redis_settings(of_sentinels.clone()))
        };
        let sentinels = hosts.iter_mut().map(sentinel).collect::<Result<_, ConnectError>>()?;
        Ok(Self::Sentinels { sentinels, master, login, encrypted })
    }
}

/// One address for each host of `user:password@host:port,host:port/database?query`.
fn hosts(scheme: &str, rest: &str, known: &[&str]) -> Result<Vec<Url>, ConnectError> {
    checked_scheme(scheme)?;
    if !matches!(scheme, "redis" | "rediss" | "valkey" | "valkeys") {
        return Err(unusable(
            "an address of several hosts begins with `redis`, or `rediss` for encrypted connections",
        ));
    }
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if tail.contains('#') {
        return Err(unusable("an address of several hosts has no part after a `#`"));
    }
    let (login, hosts) = match authority.rsplit_once('@') {
        Some((login, hosts)) => (format!("{login}@"), hosts),
        None => (String::new(), authority),
    };
    // In forms a plus is a space; in passwords it is a plus.
    let tail = tail.replace('+', "%2B");
    let one = |host: &str| {
        if host.is_empty() {
            return Err(unusable("a host is missing"));
        }
        Url::parse(&format!("{scheme}://{login}{host}{tail}"))
            .map_err(|error| unusable(&error.to_string()))
    };
    let hosts = hosts.split(',').map(one).collect::<Result<Vec<_>, _>>()?;
    match unknown(&hosts[0], known) {
        Some(name) => Err(no_setting(&hosts[0], &name)),
        None => Ok(hosts),
    }
}

/// A setting that there is not: a name that is misspelt would be one that is left out.
fn unknown(url: &Url, known: &[&str]) -> Option<String> {
    let found = url.query_pairs().find(|(name, _)| !known.contains(&&**name));
    found.map(|(name, _)| name.into_owned())
}

/// Behind a question mark in a password stands the rest of it, and the host: that is not repeated.
fn no_setting(url: &Url, name: &str) -> ConnectError {
    let behind = [url.query(), url.fragment()];
    if url.fragment().is_some() || behind.iter().flatten().any(|text| text.contains('@')) {
        return unusable(&format!("an address has no such setting{IN_A_PASSWORD}"));
    }
    unusable(&format!("an address has no setting `{name}` here"))
}

/// Who the service is to each server, and whether connections are encrypted.
fn login(host: &Url) -> Result<(RedisConnectionInfo, bool), ConnectError> {
    let info = info(host.as_str())?;
    let encrypted = matches!(info.addr(), ConnectionAddr::TcpTls { .. });
    Ok((info.redis_settings().clone(), encrypted))
}

fn checked_scheme(scheme: &str) -> Result<(), ConnectError> {
    if !matches!(
        scheme,
        "redis" | "rediss" | "valkey" | "valkeys" | "unix" | "redis+unix" | "valkey+unix"
    ) {
        return Err(unusable(SCHEMES));
    }
    if cfg!(not(feature = "tls")) && matches!(scheme, "rediss" | "valkeys") {
        return Err(unusable("encryption needs the feature `tls` of idem-redis"));
    }
    Ok(())
}

fn info(url: &str) -> Result<ConnectionInfo, ConnectError> {
    // The library's errors about addresses never repeat the address.
    url.into_connection_info().map_err(|error| {
        let fault = error.to_string();
        // Where a slash in a password ends the host, what follows is neither port nor number.
        let is_cut = fault.contains("did not parse") || fault.contains("database number");
        let advice = if is_cut { IN_A_PASSWORD } else { "" };
        unusable(&format!("{fault}{advice}"))
    })
}

fn unusable(fault: &str) -> ConnectError {
    ConnectError::Setting(fault.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(infos: &[ConnectionInfo]) -> Vec<String> {
        infos.iter().map(|info| info.addr().to_string()).collect()
    }

    #[test]
    fn one_server() {
        let address = Address::parse("redis://idem:secret@host:6380/2?protocol=resp3");
        let Ok(Address::Server(info)) = address else { panic!("{address:?}") };
        assert_eq!(info.addr().to_string(), "host:6380");
        assert_eq!(
            (info.redis_settings().username(), info.redis_settings().db()),
            (Some("idem"), 2)
        );
        assert!(matches!(Address::parse("unix:///run/redis.sock"), Ok(Address::Server(_))));
    }

    #[test]
    fn the_nodes_of_a_cluster_share_a_login() {
        let address = Address::parse("redis-cluster://idem:s%40crt@one:7000,two,[::1]:7002");
        let Ok(Address::Cluster { seeds, login, encrypted }) = address else {
            panic!("{address:?}")
        };
        let at = |host: &str, port| (host.to_owned(), port);
        assert_eq!(seeds, [at("one", 7000), at("two", 6379), at("::1", 7002)]);
        assert_eq!((login.password(), encrypted), (Some("s@crt"), false));
    }

    #[test]
    fn sentinels_have_a_login_of_their_own() {
        let address = Address::parse(
            "redis-sentinel://idem:secret@one,two:5000/3?master=shop&sentinel_password=o+h%26r",
        );
        let Ok(Address::Sentinels { sentinels, master, login, encrypted }) = address else {
            panic!("{address:?}")
        };
        assert_eq!(addresses(&sentinels), ["one:26379", "two:5000"]);
        assert_eq!((&*master, login.db(), login.password()), ("shop", 3, Some("secret")));
        assert!(!encrypted);
        let of_sentinels = sentinels[1].redis_settings();
        assert_eq!((of_sentinels.password(), of_sentinels.username()), (Some("o+h&r"), None));
        assert_eq!(of_sentinels.db(), 0);
    }

    #[test]
    fn what_is_wrong_is_told_without_the_password() {
        for (address, fault) in [
            ("localhost", "begins with"),
            ("http://:secret@host", "begins with"),
            ("redis+cluster://:secret@host", "begins with"),
            ("redis://:sec/ret@host", "write `/` as `%2F`"),
            ("redis://:secret@host?master=shop", "`redis-sentinel://`"),
            ("redis://:secret@host?protocl=resp3", "no setting `protocl`"),
            ("redis://host?:secret@host", "write `/` as `%2F`"),
            ("redis-cluster://idem:?secret@one", "write `/` as `%2F`"),
            ("redis-cluster://:secret@one/1", "database 0"),
            ("redis-cluster://:secret@one,,two", "a host is missing"),
            ("redis-cluster://:secret@", "a host is missing"),
            ("redis-sentinel://:secret@one", "?master="),
            ("redis-sentinel://:secret@one?master=", "?master="),
            ("redis-cluster://:secret@one:port", "port"),
            ("smtp-cluster://:secret@one", "begins with"),
            ("unix-cluster:///run/secret", "begins with"),
            ("redis-cluster://:secret@one#insecure", "after a `#`"),
            ("redis-cluster://:secret@one?db=1", "no setting `db`"),
            (
                "redis-sentinel://one?master=m&sentinel_pasword=secret",
                "no setting `sentinel_pasword`",
            ),
        ] {
            let told = Address::parse(address).expect_err(address).to_string();
            assert!(told.contains(fault) && !told.contains("secret"), "{address}: {told}");
        }
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn encryption_names_its_feature() {
        for address in ["rediss://host", "rediss-cluster://host", "rediss-sentinel://h?master=m"] {
            let told = Address::parse(address).expect_err(address).to_string();
            assert!(told.contains("feature `tls`"), "{told}");
        }
    }

    #[test]
    fn what_stands_behind_a_question_mark_in_a_password_is_not_repeated() {
        for address in
            ["redis://a:?secret@host", "redis://a:?secret#2@host", "redis://?secret#@host"]
        {
            let Err(error) = Address::parse(address).map_err(|error| error.to_string()) else {
                panic!("{address} was taken")
            };
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
