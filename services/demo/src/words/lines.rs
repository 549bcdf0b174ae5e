//! Invented lines and series of things.

/// Lines of clothes, furniture and other things that are named rather than numbered.
pub(crate) const LINES: &[&str] = &[
    "Fjord", "Aster", "Linden", "Kestrel", "Harbour", "Juniper", "Marlow", "Solveig", "Tarn",
    "Wren", "Alder", "Bracken", "Calla", "Dune", "Ember", "Fenwick", "Garnet", "Heath", "Iona",
    "Jonas", "Kelda", "Larch", "Mistral", "Nora", "Orla", "Pella", "Quill", "Rowan", "Sable",
    "Thea", "Umber", "Vesper", "Willa", "Yarrow", "Arden", "Birk", "Corrin", "Elin", "Farrow",
    "Greta", "Hollis", "Ines", "Jura", "Kinna", "Lorne", "Maren", "Nevis", "Ottilie", "Perrin",
    "Runa", "Signe", "Talla", "Ulla", "Winslow", "Anker", "Bodil", "Clove", "Dorrit", "Eskil",
    "Freya", "Grove", "Hazel", "Isla", "Kolby",
];

/// Series of devices.
pub(crate) const SERIES: &[&str] = &[
    "Arc", "Pulse", "Prism", "Vector", "Halo", "Orbit", "Sonata", "Cirrus", "Flux", "Tempo",
    "Delta", "Vega", "Strata", "Onda", "Lyra", "Axis", "Rhea", "Quanta", "Meridian", "Opal",
    "Basalt", "Tern", "Cobalt", "Mica",
];

/// Models of a series.
pub(crate) const MODELS: &[&str] = &[
    "2", "3", "5", "7", "9", "110", "200", "300", "450", "700", "S1", "S2", "X4", "M", "Mini",
    "Plus", "Pro", "Studio", "Go",
];

/// No second word.
pub(crate) const NOTHING: &[&str] = &[""];
