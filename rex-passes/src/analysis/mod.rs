//! Pure questions about a program that several passes ask.

pub mod device_functions;
pub mod forks;
