#[tokio::test]
async fn dump() {
    use crate::kit::*;
    use crate::processes::*;
    use idem_runtime::*;
    use std::time::Duration;
    let server = idem_tests::RedisServer::start();
    let process = process(&server).await;
    let hex = |name: &str, record: &str| {
        let bytes: Vec<u8> = server.ask(&["GET", record]);
        println!("{name}: {}", bytes.iter().map(|b| format!("{b:02x}")).collect::<String>());
    };
    let queue = Queue::default();
    let d = || {
        dispatch(&process.idem, "a")
            .fingerprint(&7_u64)
            .lease(Duration::from_secs(30))
            .ttl(Duration::from_secs(3600))
            .deadline(Duration::from_secs(600))
            .hold(Duration::from_secs(900))
            .queue_timeout(Duration::from_secs(1200))
    };
    let r = queue.take(d()).await.unwrap();
    println!("run {}", r.id());
    hex("receipt", &receipt_record("a"));
    hex("queued", &run_record(r.id()));
    let rec = run_record(r.id());
    let _ = process
        .idem
        .attach(r.id())
        .run_or_give_back(
            async {
                hex("running", &rec);
                Err::<u64, _>("busy")
            },
            |_| true,
        )
        .await;
    hex("waiting", &rec);
    work(&process.idem, r.id(), 7).await.unwrap();
    hex("succeeded", &rec);
}
