//! One delivery, and how it is read from a line.

use std::fmt;
use std::time::Duration;

use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// What the sender says happened. Its JSON without `simulate` is what the ledger keeps.
#[derive(Debug, Serialize, Deserialize)]
#[serde(expecting = "a JSON object")]
pub(crate) struct Delivery {
    #[serde(deserialize_with = "id")]
    pub(crate) id: String,
    #[serde(
        rename = "type",
        default,
        deserialize_with = "kind",
        skip_serializing_if = "String::is_empty"
    )]
    pub(crate) kind: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) created: Value,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) data: Value,
    /// What the handler is to suffer from.
    #[serde(default, skip_serializing)]
    pub(crate) simulate: Simulate,
    #[serde(flatten)]
    pub(crate) other: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with `slow_ms` or `fail` as `simulate`")]
pub(crate) struct Simulate {
    #[serde(default)]
    slow_ms: u64,
    #[serde(default)]
    pub(crate) fail: Option<Fail>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fail {
    Once,
    ForGood,
}

impl Simulate {
    pub(crate) fn slowness(&self) -> Duration {
        const MOST: u64 = 10_000;
        Duration::from_millis(self.slow_ms.min(MOST))
    }
}

impl Delivery {
    /// Reads one from a line.
    ///
    /// # Errors
    /// What is wrong with the line, and where.
    pub(crate) fn parse(line: &str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|error| {
            let text = error.to_string();
            // serde_json counts lines, and this is always its first.
            let what = text.split(" at line ").next().unwrap_or(&text);
            let whose = if error.is_data() { "" } else { "not JSON: " };
            match error.column() {
                0 => format!("{whose}{what}"),
                column => format!("{whose}{what} (column {column})"),
            }
        })
    }
}

fn id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let id = deserializer.deserialize_str(TextOf("id"))?;
    if id.is_empty() { Err(D::Error::custom("`id` is empty")) } else { Ok(id) }
}

fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    deserializer.deserialize_str(TextOf("type"))
}

/// A string; its absence is reported with the field's name.
struct TextOf(&'static str);

impl Visitor<'_> for TextOf {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` to be a string", self.0)
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }
}
