//! A look at a value before it is written: what would its codec bring back as another value?
//!
//! The walk is a serializer without output. It stops at the first thing the codec would lose, and
//! digests everything else, so that the value that is read back can be compared with the one that
//! was written although neither has to be `PartialEq`.

use std::fmt;
use std::marker::PhantomData;

use serde::ser::{self, Serialize};

use super::hash::Mix;

/// How deep a value may be nested: every sequence, map, struct, variant, newtype and `Some` counts.
///
/// Recursion is bounded, so that a deep value is an error and not the end of the thread's stack.
const MAX_DEPTH: u32 = 100;

/// Unlike the number of any kind.
const FIELD: u8 = u8::MAX;

/// What a codec would lose, looked for while walking.
pub(super) trait Limits {
    /// The codec's name, for errors.
    const NAME: &'static str;
    /// Whether types are to write themselves as for people.
    const HUMAN_READABLE: bool = false;
    /// Whether a skipped field makes the reader take the next one for it.
    const LOSES_SKIPPED_FIELDS: bool = false;
    /// Whether nothing tells `Some` of nothing from `None`.
    const LOSES_NULL_IN_SOME: bool = false;
    /// Whether a unit struct is written as nothing is.
    const UNIT_STRUCT_IS_NULL: bool = false;
    /// Whether floats are written as JSON numbers.
    const JSON_FLOATS: bool = false;
}

/// What a codec would lose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Loss {
    SkippedField(&'static str),
    NullInSome,
    NotFinite,
    InexactFloat,
    TooDeep,
    /// Nothing that is known in advance, but it read back as another value.
    Changed,
    /// The value's own `Serialize` failed.
    Refused(String),
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::SkippedField(name) => write!(
                f,
                "its field `{name}` is skipped, so the fields after it would be read in its place; \
                 always serialise it, or use `MessagePack`"
            ),
            Loss::NullInSome => f.write_str(
                "a `Some` that holds `None` or `()` reads back as `None`; return an enum instead, \
                 or use `Bincode`",
            ),
            Loss::NotFinite => f.write_str(
                "JSON has no infinite numbers and no NaN; use `MessagePack`, or an `Option`",
            ),
            Loss::InexactFloat => f.write_str(
                "serde_json reads one of its floats as a neighbour of it; use `MessagePack`, or \
                 enable serde_json's feature `float_roundtrip`",
            ),
            Loss::TooDeep => write!(
                f,
                "it is nested more than {MAX_DEPTH} deep; return a flat form of it, or where to \
                 find it"
            ),
            Loss::Changed => f.write_str(
                "it reads back as another value; return a type whose `Deserialize` reads what its \
                 `Serialize` writes, or use another codec",
            ),
            Loss::Refused(message) => write!(f, "its `Serialize` says: {message}"),
        }
    }
}

impl std::error::Error for Loss {}

impl ser::Error for Loss {
    fn custom<M: fmt::Display>(message: M) -> Self {
        Loss::Refused(message.to_string())
    }
}

/// A codec that loses nothing, or of which nothing is known.
pub(super) struct Nothing;

impl Limits for Nothing {
    const NAME: &'static str = "";
}

/// Walks a value, and returns its digest: equal for values that serialise equally, wherever the
/// entries of a map or the elements of a set came to stand.
pub(super) fn walk<L: Limits, T: Serialize + ?Sized>(value: &T) -> Result<u64, Loss> {
    let mut walker = Walker::<L> { mix: Mix::new(), depth: 0, in_some: false, limits: PhantomData };
    value.serialize(&mut walker)?;
    Ok(walker.mix.finish())
}

pub(super) struct Walker<L> {
    pub(super) mix: Mix,
    depth: u32,
    /// Whether a `Some` begins right here, with at most newtypes in between.
    in_some: bool,
    limits: PhantomData<L>,
}

impl<L: Limits> Walker<L> {
    /// Something that no codec takes for nothing.
    pub(super) fn something(&mut self, kind: u8, value: u64) {
        self.in_some = false;
        self.mix.tagged(kind, value);
    }

    pub(super) fn text(&mut self, kind: u8, text: &[u8]) {
        self.in_some = false;
        self.mix.bytes(kind, text);
    }

    pub(super) fn nothing(&mut self, kind: u8, is_null: bool) -> Result<(), Loss> {
        if L::LOSES_NULL_IN_SOME && self.in_some && is_null {
            return Err(Loss::NullInSome);
        }
        self.something(kind, 0);
        Ok(())
    }

    pub(super) fn some<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Loss> {
        self.in_some = true;
        self.nested(value)
    }

    pub(super) fn nested<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Loss> {
        self.enter(1)?;
        value.serialize(&mut *self)?;
        self.depth -= 1;
        Ok(())
    }

    fn enter(&mut self, levels: u32) -> Result<(), Loss> {
        self.depth += levels;
        if self.depth > MAX_DEPTH { Err(Loss::TooDeep) } else { Ok(()) }
    }

    /// Opens what has `levels` of nesting: a variant with several fields has two.
    pub(super) fn open(&mut self, kind: u8, levels: u32) -> Result<Open<'_, L>, Loss> {
        self.something(kind, 0);
        self.enter(levels)?;
        Ok(Open { around: self.mix, sum: 0, levels, walker: self })
    }

    /// JSON's numbers are decimal: not every float has one, and not every reader finds it again.
    pub(super) fn json_float(finite: bool, exact: impl FnOnce() -> bool) -> Result<(), Loss> {
        match () {
            () if !L::JSON_FLOATS => Ok(()),
            () if !finite => Err(Loss::NotFinite),
            () if !exact() => Err(Loss::InexactFloat),
            () => Ok(()),
        }
    }
}

/// A sequence, map, tuple or struct that is being walked.
pub(super) struct Open<'a, L> {
    pub(super) walker: &'a mut Walker<L>,
    /// The digest of what came before it, while its elements are digested one by one.
    around: Mix,
    /// Of the digests of its elements, since a sum does not tell their order.
    sum: u64,
    levels: u32,
}

impl<L: Limits> Open<'_, L> {
    /// A part whose place counts.
    pub(super) fn part<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Loss> {
        value.serialize(&mut *self.walker)
    }

    /// A field. Its name counts, since it may be all that tells two untagged variants apart.
    pub(super) fn field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Loss> {
        self.walker.mix.bytes(FIELD, name.as_bytes());
        self.part(value)
    }

    pub(super) fn skip(&self, name: &'static str) -> Result<(), Loss> {
        if L::LOSES_SKIPPED_FIELDS { Err(Loss::SkippedField(name)) } else { Ok(()) }
    }

    /// Begins an element that may stand anywhere among the others.
    pub(super) fn begin(&mut self) {
        self.walker.mix = Mix::new();
    }

    pub(super) fn finish(&mut self) {
        self.sum = self.sum.wrapping_add(self.walker.mix.finish());
    }

    pub(super) fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Loss> {
        self.begin();
        self.part(value)?;
        self.finish();
        Ok(())
    }

    pub(super) fn close(self) -> Result<(), Loss> {
        self.walker.mix.word(self.levels.into());
        self.walker.depth -= self.levels;
        Ok(())
    }

    /// Closes what had elements.
    pub(super) fn close_elements(mut self) -> Result<(), Loss> {
        self.around.word(self.sum);
        self.walker.mix = self.around;
        self.close()
    }
}
