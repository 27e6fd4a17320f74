/// The methods of both clients, by namespace. First the macro that `errors!` made, and the errors that every call may
/// end with.
///
/// ```text
/// error_text;
/// [InvalidParams, InternalError]
///
/// "token" token: TokenMethods, AsyncTokenMethods {
///     /// Returns an access token.
///     "token.get" get(TokenGetParams) -> Token or [AccountNotFound, Offline];
/// }
/// ```
macro_rules! methods {
    ($error_text:ident; $common:tt $(
        $prefix:literal $namespace:ident: $blocking:ident, $asynchronous:ident { $($methods:tt)+ }
    )+) => {
        /// The methods of the contract, by namespace.
        impl crate::Client {
            $(
                #[doc = concat!(" The methods `", $prefix, ".*`.")]
                pub fn $namespace(&self) -> $blocking<'_> {
                    $blocking(self)
                }
            )+
        }

        /// The methods of the contract, by namespace.
        #[cfg(feature = "tokio")]
        impl crate::AsyncClient {
            $(
                #[doc = concat!(" The methods `", $prefix, ".*`.")]
                pub fn $namespace(&self) -> $asynchronous<'_> {
                    $asynchronous(self)
                }
            )+
        }

        $(
            #[doc = concat!(" The methods `", $prefix, ".*` of the contract.")]
            #[derive(Clone, Copy, Debug)]
            pub struct $blocking<'a>(&'a crate::Client);

            impl $blocking<'_> {
                methods! { {} $error_text $common $($methods)+ }
            }

            #[doc = concat!(" The methods `", $prefix, ".*` of the contract, for async programs.")]
            #[cfg(feature = "tokio")]
            #[derive(Clone, Copy, Debug)]
            pub struct $asynchronous<'a>(&'a crate::AsyncClient);

            #[cfg(feature = "tokio")]
            impl $asynchronous<'_> {
                methods! { { async .await } $error_text $common $($methods)+ }
            }
        )+
    };
    ($mode:tt $error_text:ident $common:tt $(
        $(#[$doc:meta])+
        $method:literal $verb:ident($($params:ident)?) -> $result:ident $(or [$($error:ident),+ $(,)?])?;
    )+) => {
        $(
            method! {
                $mode
                $(#[$doc])+
                #[doc = ""]
                #[doc = " # Errors"]
                $($(
                    #[doc = concat!(" - [`ErrorCode::", stringify!($error), "`]:", $error_text!($error))]
                )+)?
                #[doc = common_errors!($common)]
                $method $verb($($params)?) -> $result
            }
        )+
    };
}

/// One method of one client.
macro_rules! method {
    ({ $($async:ident $($await:tt)+)? } $(#[$doc:meta])+
        $method:literal $verb:ident() -> $result:ident
    ) => {
        $(#[$doc])+
        pub $($async)? fn $verb(self) -> crate::Result<$result> {
            self.0.invoke($method, None::<&crate::Empty>)$($($await)+)?
        }
    };
    ({ $($async:ident $($await:tt)+)? } $(#[$doc:meta])+
        $method:literal $verb:ident($params:ident) -> $result:ident
    ) => {
        $(#[$doc])+
        pub $($async)? fn $verb(self, params: impl Into<$params>) -> crate::Result<$result> {
            self.0.invoke($method, Some(&params.into()))$($($await)+)?
        }
    };
}

macro_rules! common_errors {
    ([$($error:ident),+]) => {
        concat!(
            " - What every call may end with: ",
            $("[`ErrorCode::", stringify!($error), "`], ",)+
            "and the failures of the connection.",
        )
    };
}
