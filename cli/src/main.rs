//! fabsim
fn main() {}
