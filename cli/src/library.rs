//! The scenarios shipped with the program.

/// Name and text of every shipped scenario, in the order of the names.
pub const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/library.rs"));

/// The text of the shipped scenario `name`.
pub fn find(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
}
