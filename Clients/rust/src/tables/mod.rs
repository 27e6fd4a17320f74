//! What the tables in `generated` become: types with their JSON, and the methods of both clients.

#[macro_use]
mod errors;
#[macro_use]
mod events;
#[macro_use]
mod methods;
#[macro_use]
mod records;
#[macro_use]
mod words;
