//! Every way to reach a server: encrypted, by a socket, as a user, in a database.

use std::fs;

use idem_redis::{ConnectError, RedisBackend};
use idem_runtime::Source;
use idem_tests::{RedisServer, free_port};
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
    fn make() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Named unlike those it signs, which would look as if they had signed themselves.
        params.distinguished_name.push(DnType::CommonName, "the authority");
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let signed = |name: &str| {
            let key = KeyPair::generate().unwrap();
            let params = CertificateParams::new([name.to_owned()]).unwrap();
            (params.signed_by(&key, &authority).unwrap().pem(), key.serialize_pem())
        };
        let (server, client) = (signed("localhost"), signed("a service"));
        let folder = tempfile::tempdir().unwrap();
        for (file, pem) in [("ca", &authority.pem()), ("crt", &server.0), ("key", &server.1)] {
            fs::write(folder.path().join(file), pem).unwrap();
        }
        Self { folder, authority: authority.pem(), client }
    }

    /// A server that speaks encrypted on the port beside, and its address there.
    fn server(&self, asks_clients: bool) -> (RedisServer, String) {
        let file = |name: &str| self.folder.path().join(name).display().to_string();
        let port = free_port();
        let server = RedisServer::start_with(&[
            "--tls-port",
            &port.to_string(),
            "--tls-cert-file",
            &file("crt"),
            "--tls-key-file",
            &file("key"),
            "--tls-ca-cert-file",
            &file("ca"),
            "--tls-auth-clients",
            if asks_clients { "yes" } else { "no" },
        ]);
        (server, format!("rediss://localhost:{port}"))
    }
}

#[tokio::test]
async fn encrypted() {
    let certificates = Certificates::make();
    let (_server, url) = certificates.server(false);
    serves_by(|| RedisBackend::builder(&*url).root_certificate(&*certificates.authority)).await;
    // Whoever signed it is not among those that the system trusts.
    let error = RedisBackend::connect(&url).await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    assert!(error.to_string().contains("certificate"), "{error}");
    // A name that the certificate is not for.
    let other = url.replace("localhost", "127.0.0.1");
    let other = RedisBackend::builder(other).root_certificate(&*certificates.authority);
    let error = other.connect().await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}

#[tokio::test]
async fn encrypted_and_known_by_a_certificate() {
    let certificates = Certificates::make();
    let (_server, url) = certificates.server(true);
    let unknown = || RedisBackend::builder(&*url).root_certificate(&*certificates.authority);
    let error = unknown().connect().await.unwrap_err();
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    let (certificate, key) = &certificates.client;
    serves_by(|| unknown().client_certificate(&**certificate, &**key)).await;
    let garbage = unknown().client_certificate("no certificate", "no key");
    let error = garbage.connect().await.unwrap_err();
    assert!(matches!(error, ConnectError::Setting(_)), "{error}");
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
