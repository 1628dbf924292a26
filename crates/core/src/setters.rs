//! Options of a call: setters of plain structs, and typed options that are settings by name. For the crates of the project.

/// Implements methods that set one field each: `setters! { Options { with_level => level: i32 } }`.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    ($options:ident { $($method:ident => $field:ident: $value:ty),* $(,)? }) => {
        impl $options {
            $(
                #[doc = concat!(
                    "Sets [`", stringify!($options), "::", stringify!($field), "`](Self#structfield.", stringify!($field), ")."
                )]
                #[must_use]
                pub fn $method(mut self, $field: $value) -> Self {
                    self.$field = $field.into();
                    self
                }
            )*
        }
    };
}

/// Defines the typed options of a format, which are its settings by name: `typed_options! { Options { level(level: i32) => "level"; } }`.
/// What follows `as` is the value of the setting, where it is not the argument itself.
#[doc(hidden)]
#[macro_export]
macro_rules! typed_options {
    (@value $value:ident) => { $value };
    (@value $value:ident $text:expr) => { $text };
    (
        $(#[$about:meta])*
        $options:ident {
            $($(#[$doc:meta])* $method:ident($value:ident: $type:ty) => $name:literal $(as $text:expr)?;)*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        #[must_use = "options have no effect before they are handed to a write"]
        pub struct $options($crate::Settings);

        impl $options {
            /// No option set.
            pub fn new() -> Self {
                Self::default()
            }

            $(
                $(#[$doc])*
                pub fn $method(self, $value: $type) -> Self {
                    Self(self.0.with($name, $crate::typed_options!(@value $value $($text)?)))
                }
            )*
        }

        impl From<$options> for $crate::Settings {
            fn from(options: $options) -> Self {
                options.0
            }
        }
    };
}
