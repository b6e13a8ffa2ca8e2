//! The conformance suite, all cases on one server: their keys are their own.

use std::sync::LazyLock;

use idem_redis::RedisBackend;
use idem_runtime::testing::conformance;
use idem_tests::RedisServer;

static SERVER: LazyLock<RedisServer> = LazyLock::new(RedisServer::start);

conformance!(resp2, async { RedisBackend::connect(&SERVER.url()).await.unwrap() });

conformance!(resp3, async {
    let url = format!("{}/3?protocol=resp3", SERVER.url());
    RedisBackend::connect(&url).await.unwrap()
});
