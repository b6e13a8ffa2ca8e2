//! The conformance suite, all cases on one deployment of each kind.

use std::sync::LazyLock;

use idem_redis::RedisBackend;
use idem_runtime::testing::conformance;
use idem_tests::{RedisCluster, RedisSentinels};

static CLUSTER: LazyLock<RedisCluster> = LazyLock::new(RedisCluster::start);
static SENTINELS: LazyLock<RedisSentinels> = LazyLock::new(RedisSentinels::start);

conformance!(cluster, async { RedisBackend::connect(&CLUSTER.url()).await.unwrap() });

conformance!(cluster_by_resp3, async {
    let url = format!("{}?protocol=resp3", CLUSTER.url());
    RedisBackend::connect(&url).await.unwrap()
});

conformance!(sentinels, async { RedisBackend::connect(&SENTINELS.url()).await.unwrap() });
