//! Tests of the engine against the specification, section by section, on schemas made for them.

mod cases;
mod coercion;
mod collecting;
mod errors;
mod failing_schema;
mod hostile;
mod introspection;
mod mutating;
mod random;
mod random_schema;
mod rebuilt_schema;
mod reference;
mod resolver_rules;
mod response_limits;
mod responses;
mod validation;
mod vehicle_schema;
