//! The boxed mirror of [`Backend`]: the operations that calls use, behind one pointer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::{Backend, BackendError, Reach, Renewal, Watch};
use crate::protocol::transition::{
    BeginReply, CompleteReply, DiscardReply, FenceReply, ReleaseReply, RenewReply, ReplaceReply,
};
use crate::record::{Found, Head, Owner, Record};
use crate::record_key::RecordKey;

pub(crate) type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
type Answer<'a, T> = Boxed<'a, Result<T, BackendError>>;

pub(crate) trait DynBackend: Send + Sync + 'static {
    fn begin<'a>(
        &'a self,
        key: &'a RecordKey,
        reservation: &'a Record,
        lease: Duration,
    ) -> Answer<'a, BeginReply>;
    fn renew<'a>(
        &'a self,
        renewals: &'a [Renewal],
    ) -> Boxed<'a, Vec<Result<RenewReply, BackendError>>>;
    fn complete<'a>(
        &'a self,
        key: &'a RecordKey,
        outcome: &'a Record,
        ttl: Duration,
    ) -> Answer<'a, CompleteReply>;
    fn release<'a>(&'a self, key: &'a RecordKey, owner: Owner) -> Answer<'a, ReleaseReply>;
    fn replace<'a>(
        &'a self,
        key: &'a RecordKey,
        seen: Head,
        record: &'a Record,
        life: Duration,
        if_lapsed: Option<Duration>,
    ) -> Answer<'a, ReplaceReply>;
    fn discard<'a>(&'a self, key: &'a RecordKey, owner: Owner) -> Answer<'a, DiscardReply>;
    fn fence<'a>(&'a self, key: &'a RecordKey, owner: Owner) -> Answer<'a, FenceReply>;
    fn peek<'a>(&'a self, key: &'a RecordKey) -> Answer<'a, Option<Found>>;
    fn changed<'a>(&'a self, key: &'a RecordKey) -> Answer<'a, Watch>;
    fn for_keeper(&self) -> Answer<'_, Arc<dyn DynBackend>>;
    fn group(&self, key: &RecordKey) -> u64;
    fn reach(&self) -> Reach;
}

impl<B: Backend> DynBackend for B {
    fn begin<'a>(
        &'a self,
        key: &'a RecordKey,
        reservation: &'a Record,
        lease: Duration,
    ) -> Answer<'a, BeginReply> {
        Box::pin(Backend::begin(self, key, reservation, lease))
    }

    fn renew<'a>(
        &'a self,
        renewals: &'a [Renewal],
    ) -> Boxed<'a, Vec<Result<RenewReply, BackendError>>> {
        Box::pin(Backend::renew(self, renewals))
    }

    fn complete<'a>(
        &'a self,
        key: &'a RecordKey,
        outcome: &'a Record,
        ttl: Duration,
    ) -> Answer<'a, CompleteReply> {
        Box::pin(Backend::complete(self, key, outcome, ttl))
    }

    fn release<'a>(&'a self, key: &'a RecordKey, owner: Owner) -> Answer<'a, ReleaseReply> {
        Box::pin(Backend::release(self, key, owner))
    }

    fn replace<'a>(
        &'a self,
        key: &'a RecordKey,
        seen: Head,
        record: &'a Record,
        life: Duration,
        if_lapsed: Option<Duration>,
    ) -> Answer<'a, ReplaceReply> {
        Box::pin(Backend::replace(self, key, seen, record, life, if_lapsed))
    }

    fn discard<'a>(&'a self, key: &'a RecordKey, owner: Owner) -> Answer<'a, DiscardReply> {
        Box::pin(Backend::discard(self, key, owner))
    }

    fn fence<'a>(&'a self, key: &'a RecordKey, owner: Owner) -> Answer<'a, FenceReply> {
        Box::pin(Backend::fence(self, key, owner))
    }

    fn peek<'a>(&'a self, key: &'a RecordKey) -> Answer<'a, Option<Found>> {
        Box::pin(Backend::peek(self, key))
    }

    fn changed<'a>(&'a self, key: &'a RecordKey) -> Answer<'a, Watch> {
        Box::pin(Backend::changed(self, key))
    }

    fn for_keeper(&self) -> Answer<'_, Arc<dyn DynBackend>> {
        Box::pin(async { Ok(Arc::new(Backend::for_keeper(self).await?) as Arc<dyn DynBackend>) })
    }

    fn group(&self, key: &RecordKey) -> u64 {
        Backend::group(self, key)
    }

    fn reach(&self) -> Reach {
        Backend::reach(self)
    }
}
