//! What each kind of value is in the canonical form.

use serde::ser::{self, Serialize};

use super::FingerprintError;
use super::canonical::{Open, Writer, tag};

macro_rules! integers {
    ($($unsigned:ident $signed:ident $u:ty, $i:ty;)*) => {$(
        fn $unsigned(self, value: $u) -> Result<(), FingerprintError> {
            self.magnitude(tag::POSITIVE, value.into());
            Ok(())
        }

        fn $signed(self, value: $i) -> Result<(), FingerprintError> {
            let value = i128::from(value);
            let tag = if value < 0 { tag::NEGATIVE } else { tag::POSITIVE };
            self.magnitude(tag, (if value < 0 { !value } else { value }).unsigned_abs());
            Ok(())
        }
    )*};
}

impl<'a> ser::Serializer for &'a mut Writer {
    type Ok = ();
    type Error = FingerprintError;
    type SerializeSeq = Open<'a>;
    type SerializeTuple = Open<'a>;
    type SerializeTupleStruct = Open<'a>;
    type SerializeTupleVariant = Open<'a>;
    type SerializeMap = Open<'a>;
    type SerializeStruct = Open<'a>;
    type SerializeStructVariant = Open<'a>;

    /// The compact forms of addresses, times and the like have fewer ways to be written.
    fn is_human_readable(&self) -> bool {
        false
    }

    integers! {
        serialize_u8 serialize_i8 u8, i8;
        serialize_u16 serialize_i16 u16, i16;
        serialize_u32 serialize_i32 u32, i32;
        serialize_u64 serialize_i64 u64, i64;
        serialize_u128 serialize_i128 u128, i128;
    }

    fn serialize_bool(self, value: bool) -> Result<(), FingerprintError> {
        self.out.push(if value { tag::TRUE } else { tag::FALSE });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), FingerprintError> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<(), FingerprintError> {
        // Both zeros are equal, and so that a retry agrees with itself, NaNs are here.
        let bits = if value.is_nan() { 0x7ff8 << 48 } else { (value + 0.0).to_bits() };
        self.out.push(tag::FLOAT);
        self.out.extend_from_slice(&bits.to_le_bytes());
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), FingerprintError> {
        self.out.push(tag::CHAR);
        self.magnitude(0, u32::from(value).into());
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<(), FingerprintError> {
        self.text(tag::STR, value.as_bytes());
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), FingerprintError> {
        self.text(tag::BYTES, value);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), FingerprintError> {
        self.out.push(tag::NONE);
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), FingerprintError> {
        self.out.push(tag::SOME);
        self.nested(value)
    }

    fn serialize_unit(self) -> Result<(), FingerprintError> {
        self.out.push(tag::UNIT);
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), FingerprintError> {
        self.serialize_unit()
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), FingerprintError> {
        self.nested(value)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
    ) -> Result<(), FingerprintError> {
        self.variant(name);
        self.serialize_unit()
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Result<(), FingerprintError> {
        self.variant(name);
        self.nested(value)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Open<'a>, FingerprintError> {
        self.open(tag::SEQ)
    }

    fn serialize_tuple(self, _: usize) -> Result<Open<'a>, FingerprintError> {
        self.open(tag::SEQ)
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Open<'a>, FingerprintError> {
        self.open(tag::SEQ)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Open<'a>, FingerprintError> {
        self.variant(name);
        self.open(tag::SEQ)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Open<'a>, FingerprintError> {
        self.open(tag::MAP)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Open<'a>, FingerprintError> {
        self.open(tag::MAP)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Open<'a>, FingerprintError> {
        self.variant(name);
        self.open(tag::MAP)
    }
}

macro_rules! sequences {
    ($($kind:ident $element:ident;)*) => {$(
        impl ser::$kind for Open<'_> {
            type Ok = ();
            type Error = FingerprintError;

            fn $element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), FingerprintError> {
                self.element(value)
            }

            fn end(self) -> Result<(), FingerprintError> {
                self.close();
                Ok(())
            }
        }
    )*};
}

sequences! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
}

macro_rules! structs {
    ($($kind:ident)*) => {$(
        impl ser::$kind for Open<'_> {
            type Ok = ();
            type Error = FingerprintError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), FingerprintError> {
                self.field(name, value)
            }

            fn end(self) -> Result<(), FingerprintError> {
                self.close();
                Ok(())
            }
        }
    )*};
}

structs!(SerializeStruct SerializeStructVariant);

impl ser::SerializeMap for Open<'_> {
    type Ok = ();
    type Error = FingerprintError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), FingerprintError> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
    ) -> Result<(), FingerprintError> {
        self.element(value)
    }

    fn end(self) -> Result<(), FingerprintError> {
        self.close();
        Ok(())
    }
}
