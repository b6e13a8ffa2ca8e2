//! The keeper's thread. Alone in its binary, since it counts threads of the process.

#![allow(clippy::unwrap_used, reason = "in a test a panic is the message")]

use idem_runtime::Error;
use idem_tests::{World, eventually};

/// The keeper's thread starts with the first reservation and ends with the last handle.
#[tokio::test]
async fn the_keepers_thread_ends_with_the_last_handle() {
    fn keepers() -> usize {
        let threads = std::fs::read_dir("/proc/self/task").unwrap();
        let names = threads
            .filter_map(|thread| std::fs::read_to_string(thread.unwrap().path().join("comm")).ok());
        names.filter(|name| name.trim() == "idem-keeper").count()
    }
    let before = keepers();
    let process = World::new().real_process(|builder| builder);
    assert_eq!(keepers(), before, "nothing is reserved yet");
    let call = process.idem.call("op").key("k");
    call.run(|_| async { Ok::<_, Error>(1_u64) }).await.unwrap();
    eventually("the thread is there", || keepers() == before + 1).await;
    drop(process);
    eventually("the thread ends", || keepers() == before).await;
}
