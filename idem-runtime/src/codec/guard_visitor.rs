//! The guard's other half: what the codec hands to the type that is read.

use std::fmt;

use serde::de::{self, DeserializeSeed, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};

use super::guard::{Guard, Kind, Watch};

/// How many elements a list may make room for before they come. A damaged length promises any number,
/// and once more at each level of what nests.
const BELIEVED: usize = 256;

macro_rules! visits {
    ($($method:ident $type:ty;)*) => {$(
        #[inline]
        fn $method<E: de::Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>, W: Watch> Visitor<'de> for Guard<'_, V, W> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    visits! {
        visit_bool bool;
        visit_i8 i8;
        visit_i16 i16;
        visit_i32 i32;
        visit_i64 i64;
        visit_i128 i128;
        visit_u8 u8;
        visit_u16 u16;
        visit_u64 u64;
        visit_u128 u128;
        visit_f32 f32;
        visit_f64 f64;
        visit_char char;
        visit_str &str;
        visit_borrowed_str &'de str;
        visit_string String;
        visit_bytes &[u8];
        visit_borrowed_bytes &'de [u8];
        visit_byte_buf Vec<u8>;
    }

    #[inline]
    fn visit_u32<E: de::Error>(self, value: u32) -> Result<V::Value, E> {
        self.reading.watch.number(value);
        self.inner.visit_u32(value)
    }

    #[inline]
    fn visit_none<E: de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    #[inline]
    fn visit_unit<E: de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    #[inline]
    fn visit_some<D: de::Deserializer<'de>>(self, inner: D) -> Result<V::Value, D::Error> {
        let visitor = self.inner;
        self.reading.nested(|reading| visitor.visit_some(Guard::new(inner, reading)))
    }

    #[inline]
    fn visit_newtype_struct<D: de::Deserializer<'de>>(
        self,
        inner: D,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.inner;
        self.reading.nested(|reading| visitor.visit_newtype_struct(Guard::new(inner, reading)))
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let visitor = self.inner;
        self.reading.nested(|reading| visitor.visit_seq(Guard::new(inner, reading)))
    }

    #[inline]
    fn visit_map<A: MapAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let visitor = self.inner;
        self.reading.nested(|reading| visitor.visit_map(Guard::new(inner, reading)))
    }

    #[inline]
    fn visit_enum<A: EnumAccess<'de>>(self, inner: A) -> Result<V::Value, A::Error> {
        let visitor = self.inner;
        self.reading.nested(|reading| visitor.visit_enum(Guard::new(inner, reading)))
    }
}

impl<'de, A: SeqAccess<'de>, W: Watch> SeqAccess<'de> for Guard<'_, A, W> {
    type Error = A::Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_element_seed(Guard::new(seed, self.reading))
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint().map(|promised| promised.min(BELIEVED))
    }
}

impl<'de, A: MapAccess<'de>, W: Watch> MapAccess<'de> for Guard<'_, A, W> {
    type Error = A::Error;

    #[inline]
    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_key_seed(Guard::new(seed, self.reading))
    }

    #[inline]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(Guard::new(seed, self.reading))
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint().map(|promised| promised.min(BELIEVED))
    }
}

impl<'a, 'de, A: EnumAccess<'de>, W: Watch> EnumAccess<'de> for Guard<'a, A, W> {
    type Error = A::Error;
    type Variant = Guard<'a, A::Variant, W>;

    #[inline]
    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), A::Error> {
        let (value, variant) = self.inner.variant_seed(Guard::new(seed, self.reading))?;
        Ok((value, Guard::new(variant, self.reading)))
    }
}

impl<'de, A: VariantAccess<'de>, W: Watch> VariantAccess<'de> for Guard<'_, A, W> {
    type Error = A::Error;

    #[inline]
    fn unit_variant(self) -> Result<(), A::Error> {
        self.reading.asks(Kind::UnitStruct, 0)?;
        self.inner.unit_variant()
    }

    #[inline]
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.reading.asks(Kind::Newtype, 0)?;
        self.inner.newtype_variant_seed(Guard::new(seed, self.reading))
    }

    #[inline]
    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.reading.asks(Kind::Tuple, len)?;
        self.inner.tuple_variant(len, Guard::new(visitor, self.reading))
    }

    #[inline]
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.reading.asks(Kind::Struct, fields.len())?;
        self.reading.watch.fields(fields);
        self.inner.struct_variant(fields, Guard::new(visitor, self.reading))
    }
}
