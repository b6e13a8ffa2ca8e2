//! smoke
use idem_runtime::*;
use std::time::Duration;
use std::sync::atomic::*;
use std::sync::Arc;

#[tokio::test]
async fn direct() {
    let idem = Idem::builder().backend(MemoryBackend::new()).build().unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let mut all = vec![];
    for _ in 0..1000 {
        let idem = idem.clone(); let runs = runs.clone();
        all.push(tokio::spawn(async move {
            idem.call("a.b").key(&17).run(|lease| async move {
                assert!(lease.time_left() > Duration::from_secs(20));
                runs.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(50)).await;
                Ok::<_, Error>(5u64)
            }).await
        }));
    }
    for t in all { let o = t.await.unwrap().unwrap(); assert_eq!(o.value, 5); }
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let o = idem.call("a.b").key(&17).run(|_| async move { Ok::<u64, Error>(6) }).await.unwrap();
    println!("{o:?}");
    assert_eq!(o.source, Source::Replayed);
    println!("{:?}", idem.shutdown(Duration::from_secs(1)).await);
}

#[tokio::test]
async fn blocked() {
    let idem = Idem::builder().backend(MemoryBackend::new()).lease(Duration::from_millis(300)).build().unwrap();
    let other = idem.clone();
    let t = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(700));
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
            other.call("a.b").key(&17).on_duplicate(OnDuplicate::Reject).run(|_| async move { Ok::<u64, Error>(6) }).await
        })
    });
    let o = idem.call("a.b").key(&17).run(|lease| async move {
        std::thread::sleep(Duration::from_millis(1000));
        println!("{:?}", lease);
        Ok::<_, Error>(5u64)
    }).await.unwrap();
    println!("{o:?}");
    assert!(!o.lapsed && o.stored);
    println!("{}", t.join().unwrap().unwrap_err());
}
