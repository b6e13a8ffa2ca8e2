//! Codecs: damaged bytes, and those of other types, are a value or an error. They cost no more
//! memory than their length allows, whatever lengths they promise.

mod bytes;
mod other_types;
mod read;

#[path = "../../../../idem-runtime/tests/codec_types/mod.rs"]
mod types;
