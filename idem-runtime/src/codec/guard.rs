//! A deserializer around a codec's own, between it and the type that is read.
//!
//! It bounds the recursion, which a codec's own limit does not do for newtypes, `Option`s and
//! variants, and tells a [`Watch`] what the type asks for, which is all that is known of a type's
//! shape when the bytes say nothing about it. Owned text and bytes are asked for as borrowed ones,
//! so that a length that is wrong is found out before anything is allocated for it.

use std::fmt;

use serde::de::{self, DeserializeSeed, Visitor};

/// How deep the reading of a value may recurse; more than a value that was written needs.
pub(super) const MAX_DEPTH: u32 = 128;

/// What a type can ask for.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub(super) enum Kind {
    Any = 1,
    Bool,
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    U128,
    F32,
    F64,
    Char,
    Str,
    Bytes,
    Option,
    Unit,
    UnitStruct,
    Newtype,
    Seq,
    Tuple,
    Map,
    Struct,
    Enum,
    Identifier,
    Ignored,
}

/// Who is told what a type asks for.
pub(super) trait Watch {
    /// A value of this kind; with a length that the type fixes, else 0.
    ///
    /// # Errors
    /// Why it will not have more of them.
    #[inline]
    fn asks(&mut self, _kind: Kind, _len: usize) -> Result<(), &'static str> {
        Ok(())
    }

    /// The fields of the struct it just asked for.
    #[inline]
    fn fields(&mut self, _names: &'static [&'static str]) {}

    /// The variants of the enum it just asked for, one of which will be chosen by number.
    #[inline]
    fn variants(&mut self, _names: &'static [&'static str]) {}

    /// A 32-bit number, which may be that of the variant.
    #[inline]
    fn number(&mut self, _number: u32) {}
}

/// Nobody: the bytes themselves say what they hold.
#[derive(Debug)]
pub(super) struct Unwatched;

impl Watch for Unwatched {}

#[derive(Debug)]
pub(super) struct Reading<W> {
    pub(super) watch: W,
    depth: u32,
}

impl<W: Watch> Reading<W> {
    #[inline]
    pub(super) fn new(watch: W) -> Self {
        Reading { watch, depth: 0 }
    }

    #[inline]
    pub(super) fn asks<E: de::Error>(&mut self, kind: Kind, len: usize) -> Result<(), E> {
        self.watch.asks(kind, len).map_err(E::custom)
    }

    /// Runs one level deeper.
    #[inline]
    pub(super) fn nested<T, E: de::Error>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom(format_args!("nested more than {MAX_DEPTH} deep")));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }
}

/// Something of serde's, a deserializer or a visitor or what they hand each other, and the reading
/// it takes part in.
pub(super) struct Guard<'a, I, W> {
    pub(super) inner: I,
    pub(super) reading: &'a mut Reading<W>,
}

impl<I, W> fmt::Debug for Guard<'_, I, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guard")
    }
}

impl<'a, I, W> Guard<'a, I, W> {
    #[inline]
    pub(super) fn new(inner: I, reading: &'a mut Reading<W>) -> Self {
        Guard { inner, reading }
    }
}

impl<'de, S: DeserializeSeed<'de>, W: Watch> DeserializeSeed<'de> for Guard<'_, S, W> {
    type Value = S::Value;

    #[inline]
    fn deserialize<D: de::Deserializer<'de>>(self, inner: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Guard::new(inner, self.reading))
    }
}

macro_rules! asks {
    ($($method:ident = $kind:ident $(as $instead:ident)?;)*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.reading.asks(Kind::$kind, 0)?;
            let visitor = Guard::new(visitor, self.reading);
            asks!(@call self.inner, visitor, $method $($instead)?)
        }
    )*};
    (@call $inner:expr, $visitor:ident, $method:ident) => { $inner.$method($visitor) };
    (@call $inner:expr, $visitor:ident, $method:ident $instead:ident) => {
        $inner.$instead($visitor)
    };
}

impl<'de, D: de::Deserializer<'de>, W: Watch> de::Deserializer<'de> for Guard<'_, D, W> {
    type Error = D::Error;

    #[inline]
    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }

    asks! {
        deserialize_any = Any;
        deserialize_bool = Bool;
        deserialize_i8 = I8;
        deserialize_i16 = I16;
        deserialize_i32 = I32;
        deserialize_i64 = I64;
        deserialize_i128 = I128;
        deserialize_u8 = U8;
        deserialize_u16 = U16;
        deserialize_u32 = U32;
        deserialize_u64 = U64;
        deserialize_u128 = U128;
        deserialize_f32 = F32;
        deserialize_f64 = F64;
        deserialize_char = Char;
        deserialize_str = Str;
        deserialize_string = Str as deserialize_str;
        deserialize_bytes = Bytes;
        deserialize_byte_buf = Bytes as deserialize_bytes;
        deserialize_option = Option;
        deserialize_unit = Unit;
        deserialize_seq = Seq;
        deserialize_map = Map;
        deserialize_identifier = Identifier;
        deserialize_ignored_any = Ignored;
    }

    #[inline]
    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.reading.asks(Kind::UnitStruct, 0)?;
        self.inner.deserialize_unit_struct(name, Guard::new(visitor, self.reading))
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.reading.asks(Kind::Newtype, 0)?;
        self.inner.deserialize_newtype_struct(name, Guard::new(visitor, self.reading))
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.reading.asks(Kind::Tuple, len)?;
        self.inner.deserialize_tuple(len, Guard::new(visitor, self.reading))
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.reading.asks(Kind::Tuple, len)?;
        self.inner.deserialize_tuple_struct(name, len, Guard::new(visitor, self.reading))
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.reading.asks(Kind::Struct, fields.len())?;
        self.reading.watch.fields(fields);
        self.inner.deserialize_struct(name, fields, Guard::new(visitor, self.reading))
    }

    #[inline]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.reading.asks(Kind::Enum, 0)?;
        self.reading.watch.variants(variants);
        self.inner.deserialize_enum(name, variants, Guard::new(visitor, self.reading))
    }
}
