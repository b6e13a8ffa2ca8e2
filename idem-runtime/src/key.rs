//! Keys: what makes two calls of an operation the same call, as text.
//!
//! Values that differ give texts that differ. A text is escaped with `\` before `\`, `:`, `(` and
//! `)`; the parts of a tuple are joined with `:`, and a tuple inside a tuple stands between
//! parentheses. A tuple of one part stands between parentheses everywhere, so that it is not its
//! part.
//!
//! Why no two values share a text: read from the left and take `\` together with the character
//! after it. The marks that are left are then exactly those that a tuple wrote, because every mark
//! inside a text was escaped. So they nest, they say where each part begins and ends, and dropping
//! the escapes gives back each text.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;

mod template;

pub use template::Template;

/// What makes two calls of an operation the same call.
///
/// Two keys are equal exactly when their texts are. Making one costs one allocation, as does
/// cloning it. `Debug` shows the length only, since keys may hold what must not stand in a log.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key(String);

impl Key {
    /// The longest text a key may have, in bytes, with its escapes.
    pub const MAX_LEN: usize = 64 * 1024;

    /// Writes the key of a value.
    ///
    /// # Errors
    /// [`InvalidKey::Empty`] if no part of the value holds any text: two calls that both lack their
    /// key are not the same call. [`InvalidKey::TooLong`] if the text is longer than
    /// [`Key::MAX_LEN`]. [`InvalidKey::Display`] if what was given to [`KeyWriter::display`] failed
    /// to display itself.
    pub fn of<K: ToKey + ?Sized>(key: &K) -> Result<Key, InvalidKey> {
        let mut out = KeyWriter::new();
        key.write(&mut out);
        match out.fault {
            Some(fault) => Err(fault),
            None if out.blank => Err(InvalidKey::Empty),
            None => Ok(Key(out.text)),
        }
    }

    /// The key with exactly this text, which another one had.
    pub(crate) const fn from_text(text: String) -> Self {
        Self(text)
    }

    /// The text that is stored, with its escapes.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({} bytes)", self.0.len())
    }
}

/// Why a value cannot be a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidKey {
    /// No part of the key holds any text.
    #[error("the key is empty; give the call a key that tells it from other calls")]
    Empty,
    /// The key's text is longer than [`Key::MAX_LEN`].
    #[error(
        "the key is longer than {} bytes; use an identifier, or a hash of the long part",
        Key::MAX_LEN
    )]
    TooLong,
    /// A part's `Display` returned an error, so that its text is not all there.
    #[error("a part of the key failed to display itself")]
    Display,
}

/// A value that can be a key, or part of one.
///
/// Strings, integers, `bool`, `char`, `uuid::Uuid` (feature `uuid`), references to these and tuples
/// of one to eight of these are. Floats are not, since values that print alike may differ and equal
/// ones may not; nor is everything that has `Display` or `Debug`, since neither promises to say
/// all, or to stay as it is.
///
/// For a type of your own, write the field or the fields that identify it:
///
/// ```
/// use idem_runtime::{Key, KeyWriter, ToKey};
///
/// struct OrderId {
///     shop: String,
///     number: u64,
/// }
///
/// impl ToKey for OrderId {
///     fn write(&self, out: &mut KeyWriter) {
///         (&self.shop, self.number).write(out);
///     }
/// }
///
/// let key = Key::of(&OrderId { shop: "north".into(), number: 7 })?;
/// assert_eq!(key.as_str(), "north:7");
/// # Ok::<(), idem_runtime::InvalidKey>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key",
    label = "not a key, nor a part of one",
    note = "keys are strings, integers, `bool`, `char`, `Uuid` (feature `uuid`), and references to and tuples of these",
    note = "name the field that identifies the value, as in `key = order.id`; or implement `ToKey` for the type: \
            `fn write(&self, out: &mut KeyWriter) {{ self.id.write(out) }}`"
)]
pub trait ToKey {
    /// Writes the value by exactly one call: of [`KeyWriter::text`], [`KeyWriter::display`],
    /// [`KeyWriter::tuple`], or of this method of another value.
    fn write(&self, out: &mut KeyWriter);
}

/// Where a key is written; see [`ToKey`].
pub struct KeyWriter {
    text: String,
    /// Nothing but empty texts so far.
    blank: bool,
    fault: Option<InvalidKey>,
    /// Inside a tuple or a template, where a tuple needs its parentheses.
    nested: bool,
    /// The first byte of the template's text after this part, to be escaped within it. A first byte
    /// never stands inside another character, so escaping may go by bytes.
    stop: Option<u8>,
}

impl KeyWriter {
    fn new() -> Self {
        KeyWriter {
            text: String::with_capacity(48),
            blank: true,
            fault: None,
            nested: false,
            stop: None,
        }
    }

    /// Writes a text.
    pub fn text(&mut self, text: &str) {
        self.blank &= text.is_empty();
        self.escape(text);
    }

    /// Writes what `value` displays, which has to identify it and to stay the same from one release
    /// to the next.
    pub fn display(&mut self, value: impl fmt::Display) {
        if write!(Escaped(self), "{value}").is_err() {
            self.fault = Some(InvalidKey::Display);
        }
    }

    /// Writes several values as one, without ambiguity. None at all are an empty text.
    pub fn tuple(&mut self, parts: &[&dyn ToKey]) {
        let outside = std::mem::replace(&mut self.nested, true);
        let enclosed = parts.len() == 1 || (outside && !parts.is_empty());
        if enclosed {
            self.raw("(");
        }
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                self.raw(":");
            }
            part.write(self);
        }
        if enclosed {
            self.raw(")");
        }
        self.nested = outside;
    }

    fn escape(&mut self, text: &str) {
        let mut from = 0;
        for (at, byte) in text.bytes().enumerate() {
            if matches!(byte, b'\\' | b':' | b'(' | b')') || Some(byte) == self.stop {
                self.raw(&text[from..at]);
                self.raw("\\");
                from = at;
            }
        }
        self.raw(&text[from..]);
    }

    /// What is over the limit is refused in the end, so it need not be held.
    fn raw(&mut self, text: &str) {
        if text.len() > Key::MAX_LEN - self.text.len() {
            self.fault = Some(InvalidKey::TooLong);
        } else if self.fault.is_none() {
            self.text.push_str(text);
        }
    }
}

impl fmt::Debug for KeyWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyWriter({} bytes)", self.text.len())
    }
}

struct Escaped<'a>(&'a mut KeyWriter);

impl fmt::Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.text(text);
        Ok(())
    }
}

impl ToKey for str {
    fn write(&self, out: &mut KeyWriter) {
        out.text(self);
    }
}

impl ToKey for String {
    fn write(&self, out: &mut KeyWriter) {
        out.text(self);
    }
}

impl ToKey for Cow<'_, str> {
    fn write(&self, out: &mut KeyWriter) {
        out.text(self);
    }
}

impl ToKey for char {
    fn write(&self, out: &mut KeyWriter) {
        out.text(self.encode_utf8(&mut [0; 4]));
    }
}

impl ToKey for bool {
    fn write(&self, out: &mut KeyWriter) {
        out.text(if *self { "true" } else { "false" });
    }
}

#[cfg(feature = "uuid")]
impl ToKey for uuid::Uuid {
    fn write(&self, out: &mut KeyWriter) {
        out.text(self.as_hyphenated().encode_lower(&mut Self::encode_buffer()));
    }
}

macro_rules! to_key_integers {
    ($($int:ty)*) => {$(
        impl ToKey for $int {
            fn write(&self, out: &mut KeyWriter) {
                out.display(self);
            }
        }

        impl ToKey for NonZero<$int> {
            fn write(&self, out: &mut KeyWriter) {
                out.display(self);
            }
        }
    )*};
}

to_key_integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

macro_rules! to_key_pointers {
    ($($pointer:ty)*) => {$(
        impl<T: ToKey + ?Sized> ToKey for $pointer {
            fn write(&self, out: &mut KeyWriter) {
                (**self).write(out);
            }
        }
    )*};
}

to_key_pointers!(&T &mut T Box<T> Rc<T> Arc<T>);

macro_rules! to_key_tuples {
    ($(($($part:ident $at:tt)*))*) => {$(
        impl<$($part: ToKey),*> ToKey for ($($part,)*) {
            fn write(&self, out: &mut KeyWriter) {
                out.tuple(&[$(&self.$at),*]);
            }
        }
    )*};
}

to_key_tuples! {
    (A 0)
    (A 0 B 1)
    (A 0 B 1 C 2)
    (A 0 B 1 C 2 D 3)
    (A 0 B 1 C 2 D 3 E 4)
    (A 0 B 1 C 2 D 3 E 4 F 5)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7)
}
