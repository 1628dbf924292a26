//! Setters of option structs, for the crates of the project.

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
