//! What a run does: pages, and one effect that must not repeat, however often a request is rendered.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use idem_runtime::{RunId, Source, idempotent, lease, observe};
use thiserror::Error;
use tokio::time::sleep;

use crate::ledger::{Ledger, Sign, What, micros, now_us};
use crate::request::{Report, Request};

/// How long a page takes.
const PAGE: Duration = Duration::from_millis(200);
/// How long the e-mail takes, before and after it is out.
const MAIL: Duration = Duration::from_millis(40);
/// After which page it is sent.
const MAIL_AFTER: u32 = 2;
/// After which page a rendering fails that is to.
const FAILS_AFTER: u32 = 4;

/// A worker's means.
pub(crate) struct Printer {
    pub(crate) worker: String,
    pub(crate) ledger: Arc<Ledger>,
}

#[derive(Debug, Error)]
pub(crate) enum RenderError {
    #[error("the printer is out of paper")]
    OutOfPaper,
    #[error("the e-mail: {0}")]
    Mail(#[from] idem_runtime::Error),
    #[error("cannot write the ledger: {0}")]
    Ledger(#[from] io::Error),
}

impl Printer {
    /// The body of a run.
    ///
    /// # Errors
    /// They end the run as failed: the next ask starts another.
    pub(crate) async fn render(
        &self,
        run: RunId,
        request: &Request,
    ) -> Result<Report, RenderError> {
        self.note(What::Begun, run, request)?;
        let pages = self.pages(run, request).await;
        self.note(if pages.is_ok() { What::Done } else { What::Failed }, run, request)?;
        Ok(Report { request: request.id.clone(), pages: pages? })
    }

    async fn pages(&self, run: RunId, request: &Request) -> Result<Vec<String>, RenderError> {
        let mut pages = Vec::new();
        for page in 1..=request.pages {
            sleep(PAGE).await;
            pages.push(format!("page {page} of {}", request.pages));
            self.note(What::Page, run, request)?;
            if page == MAIL_AFTER {
                self.send_mail(run, request).await?;
            }
            if page == FAILS_AFTER && request.fails_once && !self.has_failed(request)? {
                return Err(RenderError::OutOfPaper);
            }
        }
        Ok(pages)
    }

    /// The e-mail. Its key is the request's and not the run's: what an earlier run has sent is not sent
    /// again by this one. A worker that was killed here may have sent it or not; the ledger knows.
    #[idempotent(
        name = "reports.mail",
        key = request.id,
        on_crash = reconcile(self.find_mail(request)),
    )]
    async fn mail(&self, request: &Request) -> Result<(), RenderError> {
        sleep(MAIL).await;
        self.ledger.note(What::Mail { request: request.id.clone() })?;
        sleep(MAIL).await;
        Ok(())
    }

    async fn find_mail(&self, request: &Request) -> Result<Option<()>, RenderError> {
        let is_it = |what: &What| matches!(what, What::Mail { request: of } if *of == request.id);
        Ok(self.ledger.has(is_it)?.then_some(()))
    }

    async fn send_mail(&self, run: RunId, request: &Request) -> Result<(), RenderError> {
        let answered = observe(self.mail(request)).await;
        answered.result?;
        let answer = match answered.facts.map(|facts| facts.source) {
            Some(Source::Fresh) => "sent",
            Some(Source::Replayed | Source::Waited) => "replayed",
            Some(Source::Reconciled) => "reconciled",
            _ => "unknown",
        };
        let (request, answer) = (request.id.clone(), answer.to_owned());
        Ok(self.ledger.note(What::MailAnswered { request, run, answer })?)
    }

    fn has_failed(&self, request: &Request) -> io::Result<bool> {
        let is_it = |what: &What| matches!(what, What::Failed(sign) if sign.request == request.id);
        self.ledger.has(is_it)
    }

    fn note(&self, what: fn(Sign) -> What, run: RunId, request: &Request) -> io::Result<()> {
        // The clock first: between the two a pause makes the claim shorter, never longer.
        let at = now_us();
        let holds_us = lease().map_or(0, |lease| micros(lease.time_left()));
        let (request, worker) = (request.id.clone(), self.worker.clone());
        self.ledger.note_of(at, what(Sign { request, run, worker, holds_us }))
    }
}
