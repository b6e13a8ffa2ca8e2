//! Every way to reach a server: encrypted, by a socket, as a user, in a database.

use std::fs;

use idem_redis::{ConnectError, RedisBackend};
use idem_runtime::Source;
use idem_tests::{RedisCluster, RedisServer, free_port};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;

use crate::kit::{connect_to, process_with};

/// Whether calls work there: one runs, and is replayed by a process that connects anew.
async fn serves(url: &str) {
    serves_by(|| RedisBackend::builder(url)).await;
}

async fn serves_by(builder: impl Fn() -> idem_redis::RedisBuilder) {
    let first = process_with(builder().connect().await.unwrap(), |builder| builder);
    assert_eq!(first.call("a", 1).await.unwrap().source, Source::Fresh);
    let second = process_with(builder().connect().await.unwrap(), |builder| builder);
    assert_eq!(second.call("a", 2).await.unwrap().value, 1);
}

/// An authority, and what it has signed, as files in PEM.
struct Certificates {
    folder: TempDir,
    authority: String,
    client: (String, String),
}

impl Certificates {
    /// For a server of these names.
    fn of(names: &[&str]) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Named unlike those it signs, which would look as if they had signed themselves.
        params.distinguished_name.push(DnType::CommonName, "the authority");
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let signed = |names: &[&str]| {
            let key = KeyPair::generate().unwrap();
            let names: Vec<_> = names.iter().map(ToString::to_string).collect();
            let params = CertificateParams::new(names).unwrap();
            (params.signed_by(&key, &authority).unwrap().pem(), key.serialize_pem())
        };
        let (server, client) = (signed(names), signed(&["a service"]));
        let folder = tempfile::tempdir().unwrap();
        for (file, pem) in [("ca", &authority.pem()), ("crt", &server.0), ("key", &server.1)] {
            fs::write(folder.path().join(file), pem).unwrap();
        }
        Self { folder, authority: authority.pem(), client }
    }

    /// Settings of a server that speaks encrypted on the port beside.
    fn settings(&self, port: u16) -> Vec<String> {
        let file = |name: &str| self.folder.path().join(name).display().to_string();
        let settings = [
            ("--tls-port", port.to_string()),
            ("--tls-cert-file", file("crt")),
            ("--tls-key-file", file("key")),
            ("--tls-ca-cert-file", file("ca")),
            ("--tls-auth-clients", "no".to_owned()),
        ];
        settings.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
    }

    /// A server that speaks encrypted, and its port for that.
    fn server(&self, more: &[&str]) -> (RedisServer, u16) {
        let port = free_port();
        let settings = self.settings(port);
        let settings = settings.iter().map(String::as_str).chain(more.iter().copied());
        (RedisServer::start_with(&settings.collect::<Vec<_>>()), port)
    }
}

fn encrypted_port(server: &RedisServer) -> u16 {
    let (_, port): (String, u16) = server.ask(&["CONFIG", "GET", "tls-port"]);
    port
}

#[tokio::test]
async fn encrypted() {
    let certificates = Certificates::of(&["localhost"]);
    let (_server, port) = certificates.server(&[]);
    let url = format!("rediss://localhost:{port}");
    serves_by(|| RedisBackend::builder(&*url).root_certificate(&*certificates.authority)).await;
    // Whoever signed it is not among those that the system trusts.
    let error = RedisBackend::connect(&url).await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("set `root_certificate`"), "{error}");
    // A name that the certificate is not for.
    let other = url.replace("localhost", "127.0.0.1");
    let other = RedisBackend::builder(other).root_certificate(&*certificates.authority);
    let error = other.connect().await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[tokio::test]
async fn encrypted_and_known_by_a_certificate() {
    let certificates = Certificates::of(&["localhost"]);
    let (_server, port) = certificates.server(&["--tls-auth-clients", "yes"]);
    let url = format!("rediss://localhost:{port}");
    let unknown = || RedisBackend::builder(&*url).root_certificate(&*certificates.authority);
    let error = unknown().connect().await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("set `client_certificate`"), "{error}");
    let (certificate, key) = &certificates.client;
    serves_by(|| unknown().client_certificate(&**certificate, &**key)).await;
    let garbage = unknown().client_certificate("no certificate", "no key");
    let error = garbage.connect().await.unwrap_err();
    assert!(matches!(error, ConnectError::Setting(_)), "{error}");
}

/// Old servers, and what stands before some, speak nothing newer.
#[tokio::test]
async fn encrypted_by_an_older_version() {
    let certificates = Certificates::of(&["localhost"]);
    let (_server, port) = certificates.server(&["--tls-protocols", "TLSv1.2"]);
    let url = format!("rediss://localhost:{port}");
    serves_by(|| RedisBackend::builder(&*url).root_certificate(&*certificates.authority)).await;
}

/// Nodes that are learned from others are held to the same certificates.
#[tokio::test]
async fn a_cluster_encrypted() {
    let certificates = Certificates::of(&["127.0.0.1"]);
    let cluster = RedisCluster::start_with(|| {
        let mut settings = certificates.settings(free_port());
        settings.extend(["--tls-cluster", "yes", "--tls-replication", "yes"].map(String::from));
        settings
    });
    let url = format!("rediss-cluster://127.0.0.1:{}", encrypted_port(&cluster.nodes()[0]));
    let connect = || RedisBackend::builder(&*url).root_certificate(&*certificates.authority);
    let process = process_with(connect().connect().await.unwrap(), |builder| builder);
    for nth in 0..12 {
        assert!(process.call(&format!("key {nth}"), nth).await.unwrap().stored);
    }
    let clients =
        |node: &RedisServer| -> String { node.ask(&["CLIENT", "LIST", "TYPE", "normal"]) };
    let encrypted = |node: &RedisServer| {
        let port = format!("laddr=127.0.0.1:{}", encrypted_port(node));
        clients(node).lines().any(|client| client.contains(&port))
    };
    assert!(cluster.nodes()[..3].iter().all(encrypted), "all masters by encrypted connections");
    let error = RedisBackend::connect(&url).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}

/// The master that sentinels name is held to the same certificates as they are.
#[tokio::test]
async fn sentinels_encrypted() {
    let certificates = Certificates::of(&["127.0.0.1"]);
    let (_master, port) = certificates.server(&["--bind", "127.0.0.1", "127.0.0.2"]);
    let (sentinel, sentinels_port) =
        certificates.server(&["--sentinel", "--tls-replication", "yes"]);
    let port = port.to_string();
    let _: String = sentinel.ask(&["SENTINEL", "MONITOR", "shop", "127.0.0.1", &port, "1"]);
    let url = format!("rediss-sentinel://127.0.0.1:{sentinels_port}?master=shop");
    serves_by(|| RedisBackend::builder(&*url).root_certificate(&*certificates.authority)).await;
    let error = RedisBackend::connect(&url).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
    // The same master by an address that its certificate is not for.
    let _: String = sentinel.ask(&["SENTINEL", "REMOVE", "shop"]);
    let _: String = sentinel.ask(&["SENTINEL", "MONITOR", "shop", "127.0.0.2", &port, "1"]);
    let other = RedisBackend::builder(&*url).root_certificate(&*certificates.authority);
    let error = other.connect().await.unwrap_err().to_string();
    assert!(error.contains("certificate not valid for name"), "{error}");
}

#[tokio::test]
async fn certificates_that_would_not_be_heeded() {
    for (url, pem) in [
        ("redis://localhost", "-----BEGIN CERTIFICATE-----"),
        ("rediss://localhost", "no certificate"),
        ("redis-cluster://localhost", "-----BEGIN CERTIFICATE-----"),
    ] {
        let error = RedisBackend::builder(url).root_certificate(pem).connect().await.unwrap_err();
        assert!(matches!(error, ConnectError::Setting(_)), "{url}: {error}");
        assert!(error.to_string().contains("certificate"), "{url}: {error}");
    }
}

#[tokio::test]
async fn by_a_socket() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("redis.sock").display().to_string();
    let server = RedisServer::start_with(&["--unixsocket", &socket]);
    serves(&format!("unix://{socket}")).await;
    serves(&format!("redis+unix://{socket}?db=4&protocol=resp3")).await;
    let keyspace: String = server.ask(&["INFO", "keyspace"]);
    assert!(keyspace.contains("db0:keys=1") && keyspace.contains("db4:keys=1"), "{keyspace}");
}

#[tokio::test]
async fn as_a_user_and_in_a_database() {
    let server = RedisServer::start();
    let _: String = server.ask(&["ACL", "SETUSER", "idem", "on", ">s@cr/t", "~*", "&*", "+@all"]);
    let port = server.port();
    serves(&format!("redis://idem:s%40cr%2Ft@127.0.0.1:{port}/7")).await;
    let keyspace: String = server.ask(&["INFO", "keyspace"]);
    assert!(keyspace.contains("db7:keys=1") && !keyspace.contains("db0"), "{keyspace}");
    let none = format!("redis://127.0.0.1:{port}/99");
    let error = RedisBackend::connect(&none).await.unwrap_err();
    assert!(error.to_string().contains("DB index is out of range"), "{error}");
    // Each database is a store of its own.
    let elsewhere = process_with(connect_to(&server.url()).await, |builder| builder);
    assert_eq!(elsewhere.call("a", 3).await.unwrap().source, Source::Fresh);
}
