//! What Python asks for: a struct of Rust takes each of its fields from the attribute of that name.

use dsbench_core::error::Error as CoreError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::{forward_to_deserialize_any, Deserialize};

use crate::error::raise;

/// The struct whose fields `object` has as attributes.
pub fn read<'de, T: Deserialize<'de>>(object: &Bound<'_, PyAny>) -> PyResult<T> {
    let refused = |error| raise(CoreError::configuration(format!("options of a load: {error}")));
    T::deserialize(Asked(object.clone())).map_err(refused)
}

/// A value of Python.
struct Asked<'py>(Bound<'py, PyAny>);

impl<'py> Asked<'py> {
    fn get<T: for<'a> FromPyObject<'a, 'py>>(&self) -> Result<T, Error> {
        self.0.extract().map_err(|error| Error::custom(Into::<PyErr>::into(error)))
    }
}

impl<'de> IntoDeserializer<'de, Error> for Asked<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Asked<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Self(value) = &self;
        if value.is_none() {
            visitor.visit_unit()
        } else if value.is_instance_of::<PyBool>() {
            visitor.visit_bool(self.get()?)
        } else if value.is_instance_of::<PyInt>() {
            self.get().and_then(|number| visitor.visit_i64(number))
        } else if value.is_instance_of::<PyFloat>() {
            visitor.visit_f64(self.get()?)
        } else if value.is_instance_of::<PyString>() {
            visitor.visit_string(self.get()?)
        } else {
            let items = value.try_iter().and_then(Iterator::collect::<PyResult<Vec<_>>>).map_err(Error::custom)?;
            visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(Asked)))
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_none() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(self.get::<String>()?.into_deserializer())
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let attribute = |name: &&'static str| self.0.getattr(*name).map(|value| (*name, Asked(value)));
        let attributes = fields.iter().map(attribute).collect::<PyResult<Vec<_>>>().map_err(Error::custom)?;
        visitor.visit_map(MapDeserializer::new(attributes.into_iter()))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}
