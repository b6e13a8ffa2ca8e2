//! What the walk does at each kind of value.

use serde::ser::{self, Serialize};

use super::walk::{Limits, Loss, Open, Walker};

/// Numbers for the kinds. They live as long as one call, so they may change.
mod kind {
    pub(super) const BOOL: u8 = 1;
    pub(super) const I8: u8 = 2;
    pub(super) const I16: u8 = 3;
    pub(super) const I32: u8 = 4;
    pub(super) const I64: u8 = 5;
    pub(super) const I128: u8 = 6;
    pub(super) const U8: u8 = 7;
    pub(super) const U16: u8 = 8;
    pub(super) const U32: u8 = 9;
    pub(super) const U64: u8 = 10;
    pub(super) const U128: u8 = 11;
    pub(super) const F32: u8 = 12;
    pub(super) const F64: u8 = 13;
    pub(super) const CHAR: u8 = 14;
    pub(super) const STR: u8 = 15;
    pub(super) const BYTES: u8 = 16;
    pub(super) const NONE: u8 = 17;
    pub(super) const SOME: u8 = 18;
    pub(super) const UNIT: u8 = 19;
    pub(super) const UNIT_STRUCT: u8 = 20;
    pub(super) const NEWTYPE: u8 = 21;
    pub(super) const VARIANT: u8 = 22;
    pub(super) const SEQ: u8 = 23;
    pub(super) const TUPLE: u8 = 24;
    pub(super) const MAP: u8 = 25;
    pub(super) const STRUCT: u8 = 26;
}

macro_rules! numbers {
    ($($method:ident $type:ty = $kind:ident;)*) => {$(
        fn $method(self, value: $type) -> Result<(), Loss> {
            self.something(kind::$kind, value as u64);
            Ok(())
        }
    )*};
}

macro_rules! wide_numbers {
    ($($method:ident $type:ty = $kind:ident;)*) => {$(
        fn $method(self, value: $type) -> Result<(), Loss> {
            self.something(kind::$kind, value as u64);
            self.mix.word((value >> 64) as u64);
            Ok(())
        }
    )*};
}

macro_rules! floats {
    ($($method:ident $type:ty = $kind:ident;)*) => {$(
        fn $method(self, value: $type) -> Result<(), Loss> {
            let exact = || {
                let mut text = [0; 40];
                let mut rest = &mut text[..];
                let written = serde_json::to_writer(&mut rest, &value);
                let left = rest.len();
                let text = &text[..text.len() - left];
                written.is_ok() && serde_json::from_slice(text).is_ok_and(|read: $type| read == value)
            };
            Walker::<L>::json_float(value.is_finite(), exact)?;
                        // What a NaN carries is nobody's value.
            let bits = if value.is_nan() { u64::MAX } else { value.to_bits().into() };
            self.something(kind::$kind, bits);
            Ok(())
        }
    )*};
}

impl<'a, L: Limits> ser::Serializer for &'a mut Walker<L> {
    type Ok = ();
    type Error = Loss;
    type SerializeSeq = Open<'a, L>;
    type SerializeTuple = Open<'a, L>;
    type SerializeTupleStruct = Open<'a, L>;
    type SerializeTupleVariant = Open<'a, L>;
    type SerializeMap = Open<'a, L>;
    type SerializeStruct = Open<'a, L>;
    type SerializeStructVariant = Open<'a, L>;

    fn is_human_readable(&self) -> bool {
        L::HUMAN_READABLE
    }

    numbers! {
        serialize_bool bool = BOOL;
        serialize_i8 i8 = I8;
        serialize_i16 i16 = I16;
        serialize_i32 i32 = I32;
        serialize_i64 i64 = I64;
        serialize_u8 u8 = U8;
        serialize_u16 u16 = U16;
        serialize_u32 u32 = U32;
        serialize_u64 u64 = U64;
        serialize_char char = CHAR;
    }

    wide_numbers! {
        serialize_i128 i128 = I128;
        serialize_u128 u128 = U128;
    }

    floats! {
        serialize_f32 f32 = F32;
        serialize_f64 f64 = F64;
    }

    fn serialize_str(self, value: &str) -> Result<(), Loss> {
        self.text(kind::STR, value.as_bytes());
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Loss> {
        self.text(kind::BYTES, value);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Loss> {
        self.nothing(kind::NONE, true)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Loss> {
        self.mix.tagged(kind::SOME, 0);
        self.some(value)
    }

    fn serialize_unit(self) -> Result<(), Loss> {
        self.nothing(kind::UNIT, true)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Loss> {
        self.nothing(kind::UNIT_STRUCT, L::UNIT_STRUCT_IS_NULL)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Loss> {
        self.mix.tagged(kind::NEWTYPE, 0);
        self.nested(value)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
    ) -> Result<(), Loss> {
        self.text(kind::VARIANT, name.as_bytes());
        Ok(())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<(), Loss> {
        self.text(kind::VARIANT, name.as_bytes());
        self.nested(value)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Open<'a, L>, Loss> {
        self.open(kind::SEQ, 1)
    }

    fn serialize_tuple(self, _: usize) -> Result<Open<'a, L>, Loss> {
        self.open(kind::TUPLE, 1)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Open<'a, L>, Loss> {
        self.open(kind::TUPLE, 1)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Open<'a, L>, Loss> {
        self.text(kind::VARIANT, name.as_bytes());
        self.open(kind::TUPLE, 2)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Open<'a, L>, Loss> {
        self.open(kind::MAP, 1)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Open<'a, L>, Loss> {
        self.open(kind::STRUCT, 1)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Open<'a, L>, Loss> {
        self.text(kind::VARIANT, name.as_bytes());
        self.open(kind::STRUCT, 2)
    }
}

impl<L: Limits> ser::SerializeSeq for Open<'_, L> {
    type Ok = ();
    type Error = Loss;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Loss> {
        self.element(value)
    }

    fn end(self) -> Result<(), Loss> {
        self.close_elements()
    }
}

impl<L: Limits> ser::SerializeMap for Open<'_, L> {
    type Ok = ();
    type Error = Loss;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Loss> {
        self.begin();
        self.part(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Loss> {
        self.part(value)?;
        self.finish();
        Ok(())
    }

    fn end(self) -> Result<(), Loss> {
        self.close_elements()
    }
}

macro_rules! tuples {
    ($($trait:ident $method:ident;)*) => {$(
        impl<L: Limits> ser::$trait for Open<'_, L> {
            type Ok = ();
            type Error = Loss;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Loss> {
                self.part(value)
            }

            fn end(self) -> Result<(), Loss> {
                self.close()
            }
        }
    )*};
}

tuples! {
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

macro_rules! structs {
    ($($trait:ident)*) => {$(
        impl<L: Limits> ser::$trait for Open<'_, L> {
            type Ok = ();
            type Error = Loss;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Loss> {
                self.field(name, value)
            }

            fn skip_field(&mut self, name: &'static str) -> Result<(), Loss> {
                self.skip(name)
            }

            fn end(self) -> Result<(), Loss> {
                self.close()
            }
        }
    )*};
}

structs!(SerializeStruct SerializeStructVariant);
