//! Logs read, derived, doubted and compared.
