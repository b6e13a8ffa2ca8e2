//! The commands and scripts against the protocol's own functions: whatever stands under a key, each
//! operation answers and changes what the function of its name does.

use std::time::Duration;

use idem_redis::RedisBackend;
use idem_runtime::backend::Renewal;
use idem_runtime::protocol::transition::{self, Change, Entry, FenceReply};
use idem_runtime::record::{Head, Owner, Record, Standing, State};
use idem_runtime::{Backend, Fingerprint, RecordKey};
use idem_tests::RedisServer;

use crate::kit::{connect, outcome, record_key, reservation};

/// Lives and retentions far apart, so that the time a step takes confuses none of them.
const LIVES: [Duration; 3] =
    [Duration::from_secs(1_000), Duration::from_secs(10_000), Duration::from_secs(100_000)];
const RETENTIONS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_secs(500),
    Duration::from_secs(5_000),
    Duration::from_secs(50_000),
    Duration::MAX,
];
/// What the life of a record may have lost between two steps of a test.
const MARGIN: Duration = Duration::from_secs(100);
const NAME: &str = "shop:charge:a";

/// What may stand under a key: nothing, every kind of record of two owners, what cannot be read.
fn standings([one, other]: [Owner; 2]) -> Vec<Option<Vec<u8>>> {
    let mut all = vec![None, Some(Vec::new()), Some(b"x".to_vec())];
    for owner in [one, other] {
        for retention in RETENTIONS {
            let record = reservation(owner).remembered_for(retention);
            all.push(Some(record.to_bytes()));
            all.push(Some(Record { fence: 1_700_000_000_000_123, ..record }.to_bytes()));
        }
        let done = Record { fingerprint: Fingerprint::from_bytes([9; 16]), ..outcome(owner, b"v") };
        all.push(Some(done.to_bytes()));
        all.push(Some(done.clone().remembered_for(RETENTIONS[3]).to_bytes()));
        // A record that begins like mine: of another version, of another state, cut off.
        for (at, byte) in [(0, 2), (1, 2)] {
            let mut bytes = reservation(owner).to_bytes();
            bytes[at] = byte;
            all.push(Some(bytes));
        }
        all.push(Some(reservation(owner).to_bytes()[..67].to_vec()));
        all.push(Some(done.to_bytes()[..18].to_vec()));
    }
    all
}

/// The server with one key, and what is expected of it.
struct Bench {
    server: redis::Connection,
    backend: RedisBackend,
    key: RecordKey,
}

/// What stands, and for how long.
struct Stands(Option<(Standing, Vec<u8>, Duration)>);

impl Bench {
    async fn new(server: &RedisServer) -> Self {
        let client = redis::Client::open(server.url()).unwrap();
        let key = record_key("a");
        Self { server: client.get_connection().unwrap(), backend: connect(server).await, key }
    }

    fn plant(&mut self, bytes: Option<&Vec<u8>>, life: Duration) -> Stands {
        let mut pipe = redis::pipe();
        pipe.cmd("DEL").arg(NAME).ignore();
        if let Some(bytes) = bytes {
            pipe.cmd("SET").arg(NAME).arg(bytes.as_slice()).arg("PX");
            pipe.arg(u64::try_from(life.as_millis()).unwrap()).ignore();
        }
        pipe.exec(&mut self.server).unwrap();
        Stands(bytes.map(|bytes| (Standing::from_bytes(bytes), bytes.clone(), life)))
    }

    /// Compares what stands now with what the change makes of what stood.
    fn holds(&mut self, stood: &Stands, change: &Change, what: &str) {
        let (bytes, left): (Option<Vec<u8>>, i64) = redis::pipe()
            .cmd("GET")
            .arg(NAME)
            .cmd("PTTL")
            .arg(NAME)
            .query(&mut self.server)
            .unwrap();
        let expected = match (change, &stood.0) {
            (Change::Keep, None) | (Change::Remove, _) => None,
            (Change::Keep, Some((_, bytes, life))) => Some((bytes.clone(), *life)),
            (Change::Put { record, life }, _) => Some((record.to_bytes(), *life)),
            (Change::Extend { retention_ms, life }, Some((Standing::Record(record), _, _))) => {
                let record = Record { retention_ms: *retention_ms, ..record.clone() };
                Some((record.to_bytes(), *life))
            }
            (Change::Fence(fence), Some((Standing::Record(record), _, life))) => {
                Some((Record { fence: *fence, ..record.clone() }.to_bytes(), *life))
            }
            (Change::Extend { .. } | Change::Fence(_), _) => unreachable!("only on a record"),
        };
        assert_eq!(bytes, expected.as_ref().map(|(bytes, _)| bytes.clone()), "{what}");
        if let Some((_, life)) = expected {
            let left = Duration::from_millis(u64::try_from(left).unwrap());
            assert!(left <= life && left + MARGIN > life, "{what}: {left:?} left of {life:?}");
        }
    }
}

impl Stands {
    fn entry(&self) -> Option<Entry<'_>> {
        self.0.as_ref().map(|(standing, _, life)| Entry { standing, left: *life - MARGIN / 2 })
    }
}

macro_rules! agree {
    ($bench:ident, $planted:expr, $life:expr, $asked:expr, $expected:expr) => {{
        let stood = $bench.plant($planted, $life);
        let asked = $asked.unwrap();
        let (reply, change) = $expected(stood.entry());
        let what = format!("{} on {:?} with {:?}", stringify!($asked), stood.0, $life);
        assert_eq!(asked, reply, "{what}");
        $bench.holds(&stood, &change, &what);
    }};
}

#[tokio::test]
async fn every_operation_does_what_the_protocol_says() {
    let server = RedisServer::start();
    let mut bench = Bench::new(&server).await;
    let (backend, key) = (bench.backend.clone(), bench.key.clone());
    let owners = [Owner::fresh(), Owner::fresh()];
    let [mine, others] = owners;
    let (lease, ttl) = (Duration::from_secs(50_000), Duration::from_secs(70_000));
    let own = reservation(mine).remembered_for(RETENTIONS[1]);
    let done = outcome(mine, b"mine");
    for planted in &standings(owners) {
        let planted = planted.as_ref();
        let life = LIVES[1];
        agree!(bench, planted, life, backend.begin(&key, &own, lease).await, |found| {
            transition::begin(found, &own, lease)
        });
        agree!(bench, planted, life, backend.complete(&key, &done, ttl).await, |found| {
            transition::complete(found, &done, ttl)
        });
        agree!(bench, planted, life, backend.release(&key, mine).await, |found| {
            transition::release(found, mine)
        });
        agree!(bench, planted, life, backend.discard(&key, mine).await, |found| {
            transition::discard(found, mine)
        });
        for retention in [RETENTIONS[0], RETENTIONS[3]] {
            let renewal = [Renewal { key: key.clone(), owner: mine, lease, retention }];
            agree!(bench, planted, life, backend.renew(&renewal).await.remove(0), |found| {
                transition::renew(found, mine, lease, retention)
            });
        }
        let stood = bench.plant(planted, life);
        let reply = backend.fence(&key, mine).await.unwrap();
        let given = if let FenceReply::Fence(given) = reply { given } else { 0 };
        let (expected, change) = transition::fence(stood.entry(), mine, given);
        assert_eq!(reply, expected);
        bench.holds(&stood, &change, "fence");
    }
    let seen = [State::Reserved, State::Completed].map(|state| Head { state, owner: others });
    for planted in &standings(owners) {
        for life in LIVES {
            for seen in seen {
                for most in [None, Some(RETENTIONS[0]), Some(RETENTIONS[2]), Some(RETENTIONS[4])] {
                    for new in [&own, &done, &reservation(others)] {
                        agree!(
                            bench,
                            planted.as_ref(),
                            life,
                            backend.replace(&key, seen, new, ttl, most).await,
                            |found| transition::replace(found, seen, new, ttl, most)
                        );
                    }
                }
            }
        }
    }
}
