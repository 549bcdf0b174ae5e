//! What reviewers say.

mod at_home;
mod media;
mod outside;
mod tech;
mod wear;

pub(crate) use at_home::{APPLIANCES, DRINKS, FOOD, FURNITURE, INSTRUMENTS, PLANTS};
pub(crate) use media::{CHILDREN, FICTION, FILM, NON_FICTION};
pub(crate) use outside::{BIKES, BUNDLES, CAMPING, DRONES};
pub(crate) use tech::{CAMERAS, COMPUTERS, PARTS, POCKET, SCREENS, SOUND};
pub(crate) use wear::{CLOTHES, SHOES};

use crate::leaf::Aspect;

const fn aspect(good: &'static [&'static str], bad: &'static [&'static str]) -> Aspect {
    Aspect { good, bad }
}
