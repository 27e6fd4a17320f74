/// Records that the agent sends.
///
/// ```text
/// /// An account.
/// Account {
///     /// An account's id.
///     id: String,
///     created_at = "createdAt": Timestamp,
/// } optional {
///     scopes: [String],
/// }
/// ```
///
/// A member has its name on the wire where that differs from the field's. For its type see [`member_type`].
macro_rules! records {
    ($($(#[$doc:meta])+ $name:ident $required:tt $(optional $optional:tt)?)+) => {
        $(record! { $(#[$doc])+ $name $required [$($optional)?] })+
    };
}

/// Records that the caller gives: each has `new` besides, and a setter for each optional member.
macro_rules! inputs {
    ($($(#[$doc:meta])+ $name:ident $required:tt $(optional $optional:tt)?)+) => {
        $(
            record! { $(#[$doc])+ $name $required [$($optional)?] }
            builder! { $name $required [$($optional)?] }
        )+
    };
}

/// One record, with its JSON.
macro_rules! record {
    ($(#[$doc:meta])+ $name:ident $required:tt []) => {
        record! { $(#[$doc])+ $name $required [{}] }
    };
    ($(#[$doc:meta])+ $name:ident {} [$optional:tt]) => {
        record! { $(#[$doc])+ #[derive(Default)] $name: {} $optional }
    };
    ($(#[$doc:meta])+ $name:ident $required:tt [$optional:tt]) => {
        record! { $(#[$doc])+ $name: $required $optional }
    };
    ($(#[$attribute:meta])+ $name:ident:
        { $($(#[doc = $text:literal])* $member:ident $(= $wire:literal)?: $type:tt,)* }
        { $($(#[doc = $optional_text:literal])* $optional:ident $(= $optional_wire:literal)?: $optional_type:tt,)* }
    ) => {
        $(#[$attribute])+
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub struct $name {
            $(
                #[doc = member_text!(" The member" wire!($member $($wire)?), $($text)*)]
                pub $member: member_type!($type),
            )*
            $(
                #[doc = member_text!(" The member" wire!($optional $($optional_wire)?), $($optional_text)*)]
                pub $optional: Option<member_type!($optional_type)>,
            )*
            #[doc = " Members that this version does not know."]
            pub extra: crate::Extra,
        }

        impl crate::Json for $name {
            fn read(reader: &mut crate::json::Reader<'_>) -> Result<Self, crate::Malformed> {
                $(let mut $member = None;)*
                $(let mut $optional = None;)*
                let mut extra = crate::Extra::default();
                reader.object(&mut |input, name| match name {
                    $(wire!($member $($wire)?) => crate::json::read_member(input, name, &mut $member),)*
                    $(wire!($optional $($optional_wire)?) => crate::json::read_member(input, name, &mut $optional),)*
                    _ => crate::json::read_extra(input, name, &mut extra),
                })?;
                Ok($name {
                    $($member: crate::json::required($member, wire!($member $($wire)?))?,)*
                    $($optional,)*
                    extra,
                })
            }

            fn write(&self, writer: &mut crate::json::Writer) {
                let mut object = writer.object();
                $(object.member(wire!($member $($wire)?), &self.$member);)*
                $(object.optional(wire!($optional $($optional_wire)?), &self.$optional);)*
                object.extra(&self.extra);
                object.end();
            }
        }
    };
}

/// `new` with what is required, and a setter for each optional member. Where one text is all that is required, that
/// text will do.
macro_rules! builder {
    ($name:ident $required:tt []) => {
        builder! { $name $required [{}] }
    };
    ($name:ident {} [$optional:tt]) => {
        builder! { $name: #[doc = " Nothing is required."] #[must_use] {} $optional }
    };
    ($name:ident { $(#[$doc:meta])* $member:ident $(= $wire:literal)?: String, } [$optional:tt]) => {
        builder! { $name: #[doc = " With all that is required."] { $member: String, } $optional }

        impl From<&str> for $name {
            fn from($member: &str) -> Self {
                $name::new($member)
            }
        }

        impl From<String> for $name {
            fn from($member: String) -> Self {
                $name::new($member)
            }
        }
    };
    ($name:ident $required:tt [$optional:tt]) => {
        builder! { $name: #[doc = " With all that is required."] $required $optional }
    };
    ($name:ident: $(#[$attribute:meta])+
        { $($(#[$doc:meta])* $member:ident $(= $wire:literal)?: $type:tt,)* }
        { $($(#[doc = $text:literal])* $optional:ident $(= $optional_wire:literal)?: $optional_type:tt,)* }
    ) => {
        impl $name {
            $(#[$attribute])+
            pub fn new($($member: given_type!($type)),*) -> Self {
                $name {
                    $($member: given!($member $type),)*
                    $($optional: None,)*
                    extra: crate::Extra::default(),
                }
            }

            $(
                #[doc = member_text!(" Sets" wire!($optional $($optional_wire)?), $($text)*)]
                #[must_use]
                pub fn $optional(mut self, $optional: given_type!($optional_type)) -> Self {
                    self.$optional = Some(given!($optional $optional_type));
                    self
                }
            )*
        }
    };
}

/// The type of a member: `[T]` is a list, `{T}` a map by names that are data, and `{}` any object.
macro_rules! member_type {
    ([$item:tt]) => { Vec<member_type!($item)> };
    ({}) => { serde_json::Map<String, serde_json::Value> };
    ({ $value:tt }) => { std::collections::BTreeMap<String, member_type!($value)> };
    ($name:ident) => { $name };
}

/// What a caller may give for a member. A list of a named type has a rule of its own, so that messages of the compiler
/// name that type.
macro_rules! given_type {
    ([$item:ident]) => { impl IntoIterator<Item = impl Into<$item>> };
    ([$item:tt]) => { impl IntoIterator<Item = impl Into<member_type!($item)>> };
    ({ $($value:tt)? }) => { member_type!({ $($value)? }) };
    (bool) => { bool };
    (i64) => { i64 };
    (u64) => { u64 };
    ($name:ident) => { impl Into<$name> };
}

/// The member's value, of what was given.
macro_rules! given {
    ($given:ident [$item:tt]) => {
        $given.into_iter().map(Into::into).collect()
    };
    ($given:ident { $($value:tt)? }) => {
        $given
    };
    ($given:ident bool) => {
        $given
    };
    ($given:ident i64) => {
        $given
    };
    ($given:ident u64) => {
        $given
    };
    ($given:ident $name:ident) => {
        $given.into()
    };
}

/// The member's name on the wire.
macro_rules! wire {
    ($member:ident) => {
        stringify!($member)
    };
    ($member:ident $wire:literal) => {
        $wire
    };
}

/// What the contract says of the member, else its name.
macro_rules! member_text {
    ($verb:literal $wire:expr,) => { concat!($verb, " `", $wire, "`.") };
    ($verb:literal $wire:expr, $($text:literal)+) => { concat!($($text, "\n"),+) };
}
