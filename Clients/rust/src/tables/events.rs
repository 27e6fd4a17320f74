/// `EventData`, and the record of each event's `data`.
macro_rules! events {
    ($(
        #[doc = $first:literal] $(#[doc = $text:literal])*
        $word:literal $name:ident($data:ident) { $($required:tt)* } $(optional { $($optional:tt)* })?
    )+) => {
        #[doc = " The `data` of an event, by the event's type."]
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum EventData {
            $(
                #[doc = $first]
                $(#[doc = $text])*
                $name($data),
            )+
            #[doc = " The data of an event that this version does not know."]
            Unrecognized(serde_json::Map<String, serde_json::Value>),
        }

        impl EventData {
            pub(crate) fn read(
                event: &crate::EventType,
                data: &serde_json::Map<String, serde_json::Value>,
            ) -> Result<Self, crate::Malformed> {
                let text = crate::Json::to_json(data);
                Ok(match event {
                    $(crate::EventType::$name => EventData::$name(crate::Json::from_json(&text)?),)+
                    crate::EventType::Unrecognized(_) => EventData::Unrecognized(data.clone()),
                })
            }
        }

        records! {
            $(
                #[doc = concat!(" The `data` of the event `", $word, "`:", $first)]
                $(#[doc = $text])*
                $data { $($required)* } optional { $($($optional)*)? }
            )+
        }
    };
}
