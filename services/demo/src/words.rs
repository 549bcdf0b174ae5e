//! The words everything is made of. All names are invented.

pub(crate) mod bundles;
pub(crate) mod clothing;
pub(crate) mod computing;
pub(crate) mod devices;
pub(crate) mod essays;
pub(crate) mod food;
pub(crate) mod home;
pub(crate) mod names;
pub(crate) mod opinions;
pub(crate) mod outdoor;
pub(crate) mod people;
pub(crate) mod print;

use super::leaf::Leaf;

/// All leaves but those of bundles, in the order of the catalogue.
pub(crate) const LEAVES: &[&[Leaf]] = &[
    clothing::LEAVES,
    print::BOOKS,
    print::FILMS,
    devices::LEAVES,
    computing::LEAVES,
    food::LEAVES,
    home::LEAVES,
    outdoor::LEAVES,
];
