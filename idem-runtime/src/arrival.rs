//! The arrival of a call: which `Idem` it goes to, under which key and terms.

use std::borrow::Cow;

use crate::begin::Arrival;
use crate::builder::BuildError;
use crate::context;
use crate::error::{Error, ErrorKind};
use crate::idem::Idem;
use crate::ident::Ident;
use crate::record_key::RecordKey;
use crate::settings::Overrides;
use crate::time::runtime_clock_is_its_own;

impl Arrival {
    /// A call arrives. Its `Idem` is the one the attribute names, the one in scope, or the
    /// installed one, in this order.
    #[allow(clippy::ptr_arg, reason = "a static name is cloned for nothing")]
    pub(crate) fn of(
        name: &Cow<'static, str>,
        overrides: &Overrides,
        ident: Ident,
    ) -> Result<Self, Error> {
        let context = context::current();
        let Some(idem) = ident.idem.or_else(|| context.idem.clone()).or_else(Idem::installed)
        else {
            return Err(Error::new(ErrorKind::NotInstalled, name));
        };
        let core = idem.into_core();
        let invalid = |kind, why: String| Error::new(kind, name).detail(why);
        let key = ident.key.map_err(|why| invalid(ErrorKind::InvalidKey, why.to_string()))?;
        let fingerprint = ident
            .fingerprint
            .map_err(|why| invalid(ErrorKind::InvalidKey, format!("no fingerprint: {why}")))?;
        // A clock can be paused only where tokio's test utilities are on: worth two looks at the
        // clock in a debug build, and nothing in a release build.
        if cfg!(debug_assertions) && core.keeper.is_thread() && runtime_clock_is_its_own() {
            return Err(invalid(ErrorKind::InvalidSetting, BuildError::PausedClock.to_string()));
        }
        let terms = overrides.over(&core.defaults);
        if let Some(fault) = terms.fault() {
            return Err(invalid(ErrorKind::InvalidSetting, fault));
        }
        Ok(Self {
            key: RecordKey::under(core.prefix.clone(), name.clone(), key),
            fingerprint,
            terms,
            at: core.clock.now(),
            slot: context.slot.as_ref().and_then(crate::observe::Slot::take),
            context,
            core,
        })
    }
}
