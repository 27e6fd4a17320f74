//! JSON as the contract's types are read and written.
//!
//! The crate has a reader of its own, because a general one copies strings to places that are not wiped, and quotes
//! values in its errors.

mod reader;
mod writer;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};

use serde_json::{Map, Value};
use zeroize::Zeroizing;

pub use reader::{Malformed, Reader};
pub use writer::Writer;

use crate::{Secret, Timestamp};

/// A value of the contract: each generated type, and what they are made of.
///
/// ```
/// use lanyard::{EventPosition, Json};
///
/// let position = EventPosition::from_json(r#"{"epoch": "ep_1", "sequence": 7, "new": true}"#)?;
/// assert_eq!(position.sequence, 7);
/// assert_eq!(position.extra["new"], true);
/// assert_eq!(*position.to_json(), r#"{"epoch":"ep_1","sequence":7,"new":true}"#);
/// # Ok::<(), lanyard::Malformed>(())
/// ```
pub trait Json: Sized {
    /// True if `null` is a value of this type, and not the same as an absent member.
    #[doc(hidden)]
    const READS_NULL: bool = false;

    /// Reads the value that stands next.
    #[doc(hidden)]
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed>;

    /// Writes the value.
    #[doc(hidden)]
    fn write(&self, writer: &mut Writer);

    /// Reads a JSON text. The error names the place that is wrong, never the value.
    fn from_json(text: &str) -> Result<Self, Malformed> {
        let mut reader = Reader::new(text);
        let value = Self::read(&mut reader)?;
        reader.end()?;
        Ok(value)
    }

    /// The value as JSON, **with its secrets** in plain text. The text is wiped when it is dropped.
    fn to_json(&self) -> Zeroizing<String> {
        let mut writer = Writer::default();
        self.write(&mut writer);
        writer.into_text()
    }
}

/// Members that this version does not know, under their wire names. They survive a round trip.
///
/// `Debug` shows their names alone, since one may be a secret.
#[derive(Clone, Default, PartialEq)]
pub struct Extra(Map<String, Value>);

impl Deref for Extra {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Extra {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl fmt::Debug for Extra {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

impl Json for bool {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.boolean()
    }

    fn write(&self, writer: &mut Writer) {
        writer.raw(if *self { "true" } else { "false" });
    }
}

impl Json for i64 {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.integer()
    }

    fn write(&self, writer: &mut Writer) {
        writer.raw(&self.to_string());
    }
}

impl Json for u64 {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.integer()
    }

    fn write(&self, writer: &mut Writer) {
        writer.raw(&self.to_string());
    }
}

impl Json for String {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(std::mem::take(&mut *reader.string()?))
    }

    fn write(&self, writer: &mut Writer) {
        writer.string(self);
    }
}

impl Json for Secret {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.string().map(Secret::from)
    }

    fn write(&self, writer: &mut Writer) {
        writer.string(self.reveal());
    }
}

impl Json for Timestamp {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.string()?.parse().map_err(|_| Malformed::new("not an instant"))
    }

    fn write(&self, writer: &mut Writer) {
        writer.string(&self.to_string());
    }
}

impl Json for Value {
    const READS_NULL: bool = true;

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.value()
    }

    fn write(&self, writer: &mut Writer) {
        writer.value(self);
    }
}

impl<T: Json> Json for Vec<T> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut elements = Vec::new();
        reader.array(&mut |reader| {
            let index = elements.len();
            elements.push(T::read(reader).map_err(|error| error.under(&index.to_string()))?);
            Ok(())
        })?;
        Ok(elements)
    }

    fn write(&self, writer: &mut Writer) {
        writer.raw("[");
        for (index, element) in self.iter().enumerate() {
            if index > 0 {
                writer.raw(",");
            }
            element.write(writer);
        }
        writer.raw("]");
    }
}

impl<T: Json> Json for BTreeMap<String, T> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut members = BTreeMap::new();
        reader.object(&mut |reader, name| {
            members.insert(name.to_owned(), T::read(reader).map_err(|error| error.under(name))?);
            Ok(())
        })?;
        Ok(members)
    }

    fn write(&self, writer: &mut Writer) {
        let mut object = writer.object();
        for (name, member) in self {
            object.member(name, member);
        }
        object.end();
    }
}

impl Json for Map<String, Value> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut members = Map::new();
        reader.object(&mut |reader, name| {
            members.insert(name.to_owned(), reader.value().map_err(|error| error.under(name))?);
            Ok(())
        })?;
        Ok(members)
    }

    fn write(&self, writer: &mut Writer) {
        let mut object = writer.object();
        for (name, member) in self {
            object.member(name, member);
        }
        object.end();
    }
}

/// Reads a member of an object into its place. `null` counts as absent.
#[doc(hidden)]
pub fn read_member<T: Json>(reader: &mut Reader<'_>, name: &str, place: &mut Option<T>) -> Result<(), Malformed> {
    if !T::READS_NULL && reader.null()? {
        *place = None;
        return Ok(());
    }
    *place = Some(T::read(reader).map_err(|error| error.under(name))?);
    Ok(())
}

/// Reads a member that the type does not know.
#[doc(hidden)]
pub fn read_extra(reader: &mut Reader<'_>, name: &str, extra: &mut Extra) -> Result<(), Malformed> {
    extra.insert(name.to_owned(), reader.value().map_err(|error| error.under(name))?);
    Ok(())
}

/// The member that must be there.
#[doc(hidden)]
pub fn required<T>(place: Option<T>, name: &'static str) -> Result<T, Malformed> {
    place.ok_or_else(|| Malformed::new("no such member").under(name))
}
