/// `ErrorCode`, and a macro of the given name: what an error means, for the documentation of methods. The table names
/// the macro, since a name that stands only here is not seen elsewhere.
///
/// ```text
/// error_text;
///
/// /// The vault is locked.
/// AgentLocked(1001, "agentLocked") retryable [remedies, outcome];
/// ```
///
/// An error has its code, its name on the wire, and the members that its `data` may hold.
macro_rules! errors {
    ($error_text:ident; $(
        $(#[doc = $text:literal])+
        $name:ident($code:literal, $word:literal) $($retryable:ident)? $([$first:ident $(, $datum:ident)* $(,)?])?;
    )+) => {
        #[doc = " The errors of the contract, by their code."]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $(
                $(#[doc = $text])+
                $(
                    #[doc = ""]
                    #[doc = error_note!($retryable)]
                )?
                $(
                    #[doc = ""]
                    #[doc = concat!(
                        " `data` may hold `", stringify!($first), $("`, `", stringify!($datum),)* "`.")]
                )?
                $name,
            )+
            #[doc = " An error that this version does not know."]
            Unrecognized(i64),
        }

        impl ErrorCode {
            /// The name of the error, such as `reauthenticationRequired`.
            pub fn name(self) -> &'static str {
                match self {
                    $(ErrorCode::$name => $word,)+
                    ErrorCode::Unrecognized(_) => "error",
                }
            }
        }

        impl From<i64> for ErrorCode {
            fn from(code: i64) -> Self {
                match code {
                    $($code => ErrorCode::$name,)+
                    other => ErrorCode::Unrecognized(other),
                }
            }
        }

        impl From<ErrorCode> for i64 {
            fn from(code: ErrorCode) -> Self {
                match code {
                    $(ErrorCode::$name => $code,)+
                    ErrorCode::Unrecognized(other) => other,
                }
            }
        }

        macro_rules! $error_text {
            $(($name) => { concat!($($text),+) };)+
        }
    };
}

macro_rules! error_note {
    (retryable) => {
        " The same call may succeed later."
    };
}
