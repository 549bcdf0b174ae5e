//! Invented brands, lines and suppliers.

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

/// Suppliers and their countries, the largest first.
pub(crate) const SUPPLIERS: &[(&str, &str)] = &[
    ("Nordkai Handelsgesellschaft", "DE"),
    ("Brightwater Wholesale", "GB"),
    ("Lumenta Distribution", "NL"),
    ("Maison Verlaine Négoce", "FR"),
    ("Sierra Pardo Comercial", "ES"),
    ("Hanling Export", "CN"),
    ("Tessera Forniture", "IT"),
    ("Ostrava Dílna", "CZ"),
    ("Kvarnby Grossist", "SE"),
    ("Great Lakes Provision", "US"),
    ("Podlasie Hurtownia", "PL"),
    ("Sakuragi Trading", "JP"),
    ("Alpenrand Vertrieb", "AT"),
    ("Rheinufer Logistik", "DE"),
    ("Fjellheim Engros", "NO"),
    ("Douro Vale Comércio", "PT"),
    ("Cobblestone & Daughters", "IE"),
    ("Jutland Import", "DK"),
    ("Weidenbach Großhandel", "DE"),
    ("Helvora Handels", "CH"),
    ("Prairie Crate Company", "CA"),
    ("Anatolya Dokuma", "TR"),
    ("Saigon River Goods", "VN"),
    ("Meghna Textile House", "BD"),
    ("Lakshara Exports", "IN"),
    ("Suomen Varasto", "FI"),
    ("Baltija Krovinys", "LT"),
    ("Transylvan Mobilier", "RO"),
    ("Aegean Basket", "GR"),
    ("Taihu Instruments Supply", "CN"),
    ("Formosa Circuit Supply", "TW"),
    ("Hanbit Components", "KR"),
    ("Andes Verde Cooperativa", "PE"),
    ("Altiplano Granos", "CO"),
    ("Great Rift Growers Union", "ET"),
    ("Ceylon Hill Packers", "LK"),
    ("Pampa Sur Abastos", "AR"),
    ("Southern Fern Supply", "NZ"),
    ("Wattle Creek Traders", "AU"),
    ("Ardennes Libraire", "BE"),
    ("Little Quay Book Supply", "GB"),
    ("Elbtal Medienversand", "DE"),
];
