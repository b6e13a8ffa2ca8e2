//! The source that is compiled: 200 small service functions, each polled once so that its body is
//! compiled to machine code as in a service.
//!
//! The two sides differ in the attribute alone, and neither has what the other would not need.

use std::fmt::Write as _;

pub(super) const FUNCTIONS: usize = 200;

/// Which attribute stands on the functions.
#[derive(Clone, Copy)]
pub(super) enum Attribute {
    Idempotent,
    Instrument,
    None,
}

/// How many types the functions return.
#[derive(Clone, Copy)]
pub(super) enum Returns {
    OneType,
    TypeEach,
}

pub(super) fn source(attribute: Attribute, returns: Returns) -> String {
    let mut source = PREAMBLE.to_owned();
    let types = match returns {
        Returns::OneType => 1,
        Returns::TypeEach => FUNCTIONS,
    };
    for number in 0..types {
        source += &receipt(number);
    }
    for number in 0..FUNCTIONS {
        source += &function(attribute, number, number % types);
    }
    source
}

const PREAMBLE: &str = "\
use std::future::Future;
use std::pin::pin;
use std::task::Context;

#[derive(Debug)]
pub struct Order {
    pub id: u64,
    pub cents: u64,
    pub currency: String,
}

#[derive(Debug)]
pub enum ChargeError {
    Zero,
    Idempotency(idem_runtime::Error),
}

impl From<idem_runtime::Error> for ChargeError {
    fn from(error: idem_runtime::Error) -> Self {
        Self::Idempotency(error)
    }
}

async fn fee(cents: u64) -> Result<u64, ChargeError> {
    if cents == 0 { Err(ChargeError::Zero) } else { Ok(cents / 100) }
}
";

fn receipt(number: usize) -> String {
    format!(
        "
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub struct Receipt{number} {{
    pub order: u64,
    pub cents: u64,
}}
"
    )
}

fn function(attribute: Attribute, number: usize, returned: usize) -> String {
    let mut text = String::from("\n");
    let written = match attribute {
        Attribute::Idempotent => writeln!(
            text,
            "#[idem_runtime::idempotent(name = \"charge{number}\", key = order.id, \
             fingerprint = (order.cents, &order.currency))]"
        ),
        Attribute::Instrument => writeln!(text, "#[tracing::instrument]"),
        Attribute::None => Ok(()),
    };
    debug_assert!(written.is_ok(), "a `String` takes whatever is written to it");
    text + &format!(
        "pub async fn charge{number}(order: &Order) -> Result<Receipt{returned}, ChargeError> {{
    let fee = fee(order.cents).await?;
    Ok(Receipt{returned} {{ order: order.id, cents: order.cents + fee }})
}}

pub fn poll{number}(order: &Order, context: &mut Context<'_>) -> bool {{
    pin!(charge{number}(order)).poll(context).is_ready()
}}
"
    )
}
