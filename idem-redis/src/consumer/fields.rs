//! A message's fields, and how serde reads a type from them.

use std::fmt;

use serde::de::value::{Error, MapAccessDeserializer};
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_bytes::ByteBuf;

use super::payload::without_value;

/// The fields of a message as they stand in the stream: names and values in their order, any bytes.
///
/// A handler of `Message<Fields>` takes messages as they are.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Fields(Vec<(Vec<u8>, Vec<u8>)>);

impl Fields {
    /// The value of the first field of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|(known, _)| *known == name.as_bytes()).map(|(_, value)| value)
    }

    /// The same as text, if it is one.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.get(name)?).ok()
    }

    /// All fields, each with its name, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a type whose fields are these.
    pub(super) fn read<T: de::DeserializeOwned>(self) -> Result<T, Error> {
        let each = Each { rest: self.0.into_iter(), at: None };
        T::deserialize(MapAccessDeserializer::new(each))
    }
}

impl FromIterator<(Vec<u8>, Vec<u8>)> for Fields {
    fn from_iter<I: IntoIterator<Item = (Vec<u8>, Vec<u8>)>>(fields: I) -> Self {
        Self(fields.into_iter().collect())
    }
}

/// Names and how long the values are: those may be secrets.
impl fmt::Debug for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self
            .iter()
            .map(|(name, value)| (String::from_utf8_lossy(name), format!("{} bytes", value.len())));
        f.debug_map().entries(shown).finish()
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsTheyAre;

        impl<'de> Visitor<'de> for AsTheyAre {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the fields of a message")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields, M::Error> {
                let mut fields = Vec::with_capacity(map.size_hint().unwrap_or(0).min(1_024));
                while let Some((name, value)) = map.next_entry::<ByteBuf, ByteBuf>()? {
                    fields.push((name.into_vec(), value.into_vec()));
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(AsTheyAre)
    }
}

/// The fields one after the other.
struct Each {
    rest: std::vec::IntoIter<(Vec<u8>, Vec<u8>)>,
    /// The field whose value is read next.
    at: Option<(String, Vec<u8>)>,
}

impl<'de> MapAccess<'de> for Each {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        self.at = Some((String::from_utf8_lossy(&name).into_owned(), value));
        seed.deserialize(Value(name)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let (name, value) = self.at.take().unwrap_or_default();
        let told = |error: Error| {
            de::Error::custom(format_args!("field `{name}`: {}", without_value(error.to_string())))
        };
        seed.deserialize(Value(value)).map_err(told)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// A name or a value: a text, from which the type that is asked for is read, or bytes.
struct Value(Vec<u8>);

impl Value {
    fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl<'de> IntoDeserializer<'de> for Value {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($deserialize:ident $visit:ident $of:literal)*) => {$(
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            match self.text().and_then(|text| text.parse().ok()) {
                Some(value) => visitor.$visit(value),
                None => Err(self.is_no($of)),
            }
        }
    )*};
}

impl Value {
    fn is_no(&self, expected: &'static str) -> Error {
        // Not the text itself, which may be a secret.
        let found = match self.text() {
            Some("") => "an empty text",
            Some(_) => "its text does not fit",
            None => "bytes that are no text",
        };
        de::Error::custom(format_args!("{found}, expected {expected}"))
    }
}

impl<'de> Deserializer<'de> for Value {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match String::from_utf8(self.0) {
            Ok(text) => visitor.visit_string(text),
            Err(error) => visitor.visit_byte_buf(error.into_bytes()),
        }
    }

    parsed! {
        deserialize_bool visit_bool "`true` or `false`"
        deserialize_i8 visit_i8 "a number (i8)" deserialize_u8 visit_u8 "a number (u8)"
        deserialize_i16 visit_i16 "a number (i16)" deserialize_u16 visit_u16 "a number (u16)"
        deserialize_i32 visit_i32 "a number (i32)" deserialize_u32 visit_u32 "a number (u32)"
        deserialize_i64 visit_i64 "a number (i64)" deserialize_u64 visit_u64 "a number (u64)"
        deserialize_i128 visit_i128 "a number (i128)" deserialize_u128 visit_u128 "a number (u128)"
        deserialize_f32 visit_f32 "a number (f32)" deserialize_f64 visit_f64 "a number (f64)"
        deserialize_char visit_char "one character"
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_byte_buf(self.0)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_byte_buf(self.0)
    }

    /// A field that is there has a value; one that is not is `None` by serde's own rule.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    /// A variant by its name.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match String::from_utf8(self.0) {
            Ok(text) => text.into_deserializer().deserialize_enum(name, variants, visitor),
            Err(error) => Err(Self(error.into_bytes()).is_no("the name of a variant")),
        }
    }

    forward_to_deserialize_any! {
        str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    fn fields(pairs: &[(&str, &[u8])]) -> Fields {
        pairs.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.to_vec())).collect()
    }

    #[derive(Debug, PartialEq, Deserialize)]
    enum Currency {
        #[serde(rename = "eur")]
        Euro,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Id(u64);

    #[derive(Debug, PartialEq, Deserialize)]
    struct Order {
        id: Id,
        cents: i64,
        rate: f64,
        paid: bool,
        note: Option<String>,
        tip: Option<u8>,
        currency: Currency,
        #[serde(with = "serde_bytes")]
        seal: Vec<u8>,
    }

    #[test]
    fn a_struct_is_read_from_its_fields() {
        let read: Order = fields(&[
            ("id", b"17"),
            ("cents", b"-4200"),
            ("rate", b"0.25"),
            ("paid", b"true"),
            ("tip", b"3"),
            ("currency", b"eur"),
            ("seal", b"\xff\x00"),
            ("more", b"is skipped"),
        ])
        .read()
        .expect("an order");
        let order = Order {
            id: Id(17),
            cents: -4200,
            rate: 0.25,
            paid: true,
            note: None,
            tip: Some(3),
            currency: Currency::Euro,
            seal: vec![0xff, 0],
        };
        assert_eq!(read, order);
    }

    #[test]
    fn what_does_not_fit_is_told_without_the_value() {
        #[derive(Debug, Deserialize)]
        struct Cents {
            #[allow(dead_code)]
            cents: u32,
        }
        let told = |value: &[u8]| {
            fields(&[("cents", value)]).read::<Cents>().expect_err("no number").to_string()
        };
        for (value, found) in [
            (&b"secret"[..], "its text does not fit"),
            (b"-1", "its text does not fit"),
            (b"", "an empty text"),
            (b"\xff", "bytes that are no text"),
        ] {
            let fault = format!("field `cents`: {found}, expected a number (u32)");
            assert_eq!(told(value), fault);
        }
        let missing = fields(&[]).read::<Cents>().expect_err("nothing").to_string();
        assert_eq!(missing, "missing field `cents`");
    }

    #[test]
    fn fields_are_read_as_they_are() {
        let raw = fields(&[("a", b"1"), ("b", b"\xff"), ("a", b"2")]);
        assert_eq!(raw.clone().read::<Fields>(), Ok(raw.clone()));
        assert_eq!((raw.text("a"), raw.text("b"), raw.get("c")), (Some("1"), None, None));
        assert_eq!(format!("{raw:?}"), r#"{"a": "1 bytes", "b": "1 bytes", "a": "1 bytes"}"#);
    }

    #[test]
    fn a_list_does_not_stand_in_a_field() {
        #[derive(Debug, Deserialize)]
        struct Many {
            #[allow(dead_code)]
            ids: Vec<u64>,
        }
        let told = fields(&[("ids", b"[1,2]")]).read::<Many>().expect_err("a text").to_string();
        assert_eq!(told, "field `ids`: invalid type, expected a sequence");
    }
}
