//! A store that says yes to everything and keeps nothing.

use std::time::Duration;

use idem_runtime::backend::{Reach, Renewal, Watch};
use idem_runtime::protocol::transition::{
    BeginReply, CompleteReply, DiscardReply, FenceReply, ReleaseReply, RenewReply, ReplaceReply,
};
use idem_runtime::record::{Found, Head, Owner, Record};
use idem_runtime::{Backend, BackendError, RecordKey};

type Answer<T> = Result<T, BackendError>;

#[derive(Clone)]
pub(crate) struct Yes;

impl Backend for Yes {
    async fn begin(&self, _: &RecordKey, _: &Record, _: Duration) -> Answer<BeginReply> {
        Ok(BeginReply::Acquired)
    }

    async fn renew(&self, renewals: &[Renewal]) -> Vec<Answer<RenewReply>> {
        renewals.iter().map(|_| Ok(RenewReply::Renewed)).collect()
    }

    async fn complete(&self, _: &RecordKey, _: &Record, _: Duration) -> Answer<CompleteReply> {
        Ok(CompleteReply::Stored)
    }

    async fn release(&self, _: &RecordKey, _: Owner) -> Answer<ReleaseReply> {
        Ok(ReleaseReply::Released)
    }

    async fn replace(
        &self,
        _: &RecordKey,
        _: Head,
        _: &Record,
        _: Duration,
        _: Option<Duration>,
    ) -> Answer<ReplaceReply> {
        Ok(ReplaceReply::Replaced)
    }

    async fn discard(&self, _: &RecordKey, _: Owner) -> Answer<DiscardReply> {
        Ok(DiscardReply::Discarded)
    }

    async fn fence(&self, _: &RecordKey, _: Owner) -> Answer<FenceReply> {
        Ok(FenceReply::Fence(1))
    }

    async fn peek(&self, _: &RecordKey) -> Answer<Option<Found>> {
        Ok(None)
    }

    async fn changed(&self, _: &RecordKey) -> Answer<Watch> {
        Err(BackendError::answered("nothing ever changes"))
    }

    async fn for_keeper(&self) -> Answer<Self> {
        Ok(self.clone())
    }

    fn reach(&self) -> Reach {
        Reach::Process
    }
}
