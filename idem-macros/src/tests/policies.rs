//! Each policy, each of its choices, and the other settings.

use super::snapshot;

#[test]
fn settings() {
    snapshot! {
        #[idempotent(
            name = "payments.charge", key = id, lease = "500ms", ttl = "7d", deadline = "5m", retention = "24h",
            version = 2, codec = codecs::Postcard, crate = my_reexport::idem_runtime, allow(blocking),
        )]
        async fn charge(id: u64) -> Result<u64, Error> {
            std::thread::sleep(PAUSE);
            Ok(id)
        }
    }
}

#[test]
fn defaults_spelled_out() {
    snapshot! {
        #[idempotent(
            name = "payments.charge", key = id, on_duplicate = wait, on_error = release, on_lost = finish,
            on_drop = hold, on_crash = rerun, on_outage = refuse, codec = messagepack,
        )]
        async fn charge(id: u64) -> Result<u64, Error> {
            Ok(id)
        }
    }
}

#[test]
fn second_choices() {
    snapshot! {
        #[idempotent(
            name = "payments.charge", key = id, on_duplicate = wait("10s"), on_error = store, on_lost = cancel,
            on_drop = release, on_crash = refuse, on_outage = run, codec = bincode,
        )]
        async fn charge(id: u64) -> Result<u64, Error> {
            Ok(id)
        }
    }
}

#[test]
fn third_choices() {
    snapshot! {
        #[idempotent(
            name = "payments.charge", key = id, on_duplicate = reject, on_error = store_if(ChargeError::is_permanent),
            on_lost = ignore, on_crash = reconcile(self.gateway.find(&id)), codec = json,
        )]
        async fn charge(&self, id: String) -> Result<u64, ChargeError> {
            self.gateway.charge(id).await
        }
    }
}

#[test]
fn detach() {
    snapshot! {
        #[idempotent(name = "payments.charge", key = order.id, on_drop = detach)]
        async fn charge(self: Arc<Self>, order: Order) -> Result<u64, ChargeError> {
            self.gateway.charge(order).await
        }
    }
}
