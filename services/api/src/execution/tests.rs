//! Tests of the engine against the specification, section by section, on schemas made for them.

mod authors;
mod cases;
mod coercion;
mod collecting;
mod errors;
mod frail;
mod garage;
mod hostile;
mod mutating;
mod random;
mod reference;
mod responses;
mod validation;
mod world;
