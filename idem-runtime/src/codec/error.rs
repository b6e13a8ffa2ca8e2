//! What can go wrong between a value and its bytes.

use std::error::Error;
use std::fmt;

use super::walk::Loss;

/// What more bytes than a value mean, in every codec.
pub(super) const LEFT_OVER: &str = "it holds more than its type asks for";

type Source = Box<dyn Error + Send + Sync>;

/// Why a value cannot be kept, or why stored bytes cannot be read.
///
/// Its text says what to do about it; its source, if it has one, is the error of the library behind
/// the codec.
#[derive(Debug)]
pub struct CodecError {
    codec: &'static str,
    fault: Fault,
}

#[derive(Debug)]
enum Fault {
    Lost(Loss),
    NotWritten(Source),
    NotReadBack(Source),
    NotRead(Source),
    Mismatch(&'static str),
}

impl CodecError {
    /// The value cannot be written as bytes. For codecs of your own.
    pub fn not_kept(codec: &'static str, source: impl Into<Source>) -> Self {
        let fault = Fault::NotWritten(source.into());
        CodecError { codec, fault }
    }

    /// The bytes cannot be read as a value of the type. For codecs of your own.
    pub fn unreadable(codec: &'static str, source: impl Into<Source>) -> Self {
        let fault = Fault::NotRead(source.into());
        CodecError { codec, fault }
    }

    /// The name of the codec: `MessagePack`, `Bincode`, `Json`, or what a codec of your own says.
    #[must_use]
    pub fn codec(&self) -> &'static str {
        self.codec
    }

    /// Whether a value could not be written so that it reads back as it was.
    #[must_use]
    pub fn is_not_kept(&self) -> bool {
        !self.is_unreadable()
    }

    /// Whether stored bytes could not be read, since they are damaged or come from another version
    /// of the type.
    #[must_use]
    pub fn is_unreadable(&self) -> bool {
        matches!(self.fault, Fault::NotRead(_) | Fault::Mismatch(_))
    }

    pub(super) fn lost(codec: &'static str, loss: Loss) -> Self {
        let fault = Fault::Lost(loss);
        CodecError { codec, fault }
    }

    /// The bytes are sound, but not those of this type.
    pub(super) fn mismatch(codec: &'static str, why: &'static str) -> Self {
        let fault = Fault::Mismatch(why);
        CodecError { codec, fault }
    }

    /// The same fault, met when the value had just been written.
    pub(super) fn while_encoding(self) -> Self {
        let fault = match self.fault {
            Fault::NotRead(source) => Fault::NotReadBack(source),
            Fault::Mismatch(_) => Fault::Lost(Loss::Changed),
            fault => fault,
        };
        CodecError { fault, ..self }
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let codec = self.codec;
        match &self.fault {
            Fault::Lost(loss) => write!(f, "{codec} cannot keep the value: {loss}"),
            Fault::NotWritten(_) => write!(f, "{codec} cannot write the value"),
            Fault::NotReadBack(_) => write!(
                f,
                "{codec} cannot read back what it wrote; use another codec, or return a type that \
                 it reads"
            ),
            Fault::NotRead(_) => write!(
                f,
                "{codec} cannot read the stored result: it is damaged, or of another version of \
                 its type"
            ),
            Fault::Mismatch(why) => write!(f, "{codec} cannot read the stored result: {why}"),
        }
    }
}

impl Error for CodecError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.fault {
            Fault::NotWritten(source) | Fault::NotReadBack(source) | Fault::NotRead(source) => {
                Some(&**source)
            }
            Fault::Lost(_) | Fault::Mismatch(_) => None,
        }
    }
}
