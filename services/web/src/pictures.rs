//! Drawings of products that have no picture: what the product is decides the shape, its colour the
//! colour, its slug the small differences. The same address always returns the same drawing.

mod shapes;

use axum::body::Body;
use axum::extract::{Path, RawQuery};
use axum::http::{HeaderValue, Response, header};

use crate::address::parameters;

/// The colours of things: how they are called, and the fill. The first word that a name contains
/// counts.
const COLORS: [(&str, &str); 42] = [
    ("black", "#34363a"),
    ("charcoal", "#474b52"),
    ("anthracite", "#474b52"),
    ("graphite", "#54585e"),
    ("midnight", "#2b3350"),
    ("white", "#f4f2ed"),
    ("cream", "#f1e6cf"),
    ("ivory", "#f1e6cf"),
    ("silver", "#c3c7cc"),
    ("steel", "#b3bac1"),
    ("grey", "#9aa0a6"),
    ("gray", "#9aa0a6"),
    ("navy", "#2f4468"),
    ("sky", "#86b6dc"),
    ("teal", "#2f8583"),
    ("blue", "#4a78b5"),
    ("forest", "#3f6b4f"),
    ("sage", "#9fb396"),
    ("moss", "#75804f"),
    ("olive", "#7d7b48"),
    ("green", "#5a9367"),
    ("burgundy", "#7d3443"),
    ("cherry", "#8c3b34"),
    ("rust", "#b1583a"),
    ("terracotta", "#c06a4c"),
    ("red", "#bf4a45"),
    ("orange", "#d9843f"),
    ("sunburst", "#c9823f"),
    ("mustard", "#cf9f3a"),
    ("ochre", "#c99a4a"),
    ("yellow", "#dcb94e"),
    ("sand", "#d5c2a0"),
    ("beige", "#d8c7ab"),
    ("natural", "#cfa97a"),
    ("lilac", "#ad98c6"),
    ("pink", "#d893a8"),
    ("rose", "#d9a39b"),
    ("gold", "#cdb06a"),
    ("copper", "#b87a55"),
    ("walnut", "#7a553b"),
    ("oak", "#c49a66"),
    ("brown", "#7d5a41"),
];
/// For products without a colour.
const PALETTE: [&str; 8] = [
    "#4f7f86", "#8a6f9c", "#b0754f", "#5f8a63", "#a85f63", "#56749e", "#a08a4e", "#6c7a89",
];
/// Behind the product, in light pages and in dark ones.
const GROUNDS: [(&str, &str); 4] = [
    ("#eef0ec", "#464b48"),
    ("#f2eee8", "#4b4743"),
    ("#ebeff2", "#43494e"),
    ("#f1edf0", "#4a464b"),
];

/// `GET /pictures/{kind}/{category}.svg?color=…&seed=…&view=…`.
pub(crate) async fn serve(
    Path((kind, category)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Response<Body> {
    let parameters = parameters(query.as_deref());
    let value = |name: &str| {
        let found = parameters.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    let category = category.trim_end_matches(".svg");
    let view = value("view").parse().unwrap_or(0);
    svg(draw(&kind, category, value("color"), value("seed"), view))
}

/// `GET /favicon.ico`: a shop window.
pub(crate) async fn icon() -> Response<Body> {
    let icon = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 32 32\">\
                <rect width=\"32\" height=\"32\" rx=\"7\" fill=\"#0b5d4e\"/>\
                <path d=\"M8 9l8 15 8-15\" fill=\"none\" stroke=\"#fff\" stroke-width=\"3.4\" \
                stroke-linecap=\"round\" stroke-linejoin=\"round\"/></svg>";
    svg(icon.to_owned())
}

fn svg(text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "image/svg+xml"),
        (header::CACHE_CONTROL, "public, max-age=604800"),
        // A drawing that is opened as a page runs nothing and loads nothing.
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Draws a product. Nothing of the arguments is part of the drawing.
fn draw(kind: &str, category: &str, color: &str, seed: &str, view: usize) -> String {
    let hash = hash(seed);
    let color = color.to_lowercase();
    let named = COLORS.iter().find(|(word, _)| color.contains(word));
    let fill = named.map_or(PALETTE[pick(hash, PALETTE.len())], |(_, fill)| fill);
    // On the darker ground of dark pages, dark things are darker still.
    let shade = if is_dark(fill) {
        (".62", ".5")
    } else {
        ("1", ".78")
    };
    let (light, dark) = GROUNDS[pick(hash >> 8, GROUNDS.len())];
    let shape = shapes::shape(kind, category);
    let zoom = match view {
        0 => "",
        1 => " transform=\"translate(-90 -60) scale(1.7)\"",
        2 => " transform=\"translate(200 0) scale(-1 1)\"",
        3 => " transform=\"translate(-20 -110) scale(1.8)\"",
        _ => " transform=\"translate(38 38) scale(.62)\"",
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 200 200\"><style>\
         .g{{fill:{light}}}.s{{fill:#0000001a}}.a{{fill:{fill}}}.b{{fill:{fill};filter:brightness(.78)}}\
         .c{{fill:{fill};filter:brightness(1.14)}}.k{{fill:#2c2e31}}.w{{fill:#fbfaf7}}.m{{fill:#8f959b}}\
         .l{{fill:none;stroke:#2c2e31;stroke-width:4;stroke-linecap:round;stroke-linejoin:round}}\
         .o{{fill:none;stroke:{fill};stroke-width:8;stroke-linecap:round;stroke-linejoin:round}}\
         @media(prefers-color-scheme:dark){{.g{{fill:{dark}}}.a{{filter:brightness({})}}.b{{filter:brightness({})}}.s{{fill:#0005}}.k{{fill:#1d1e20}}.l{{stroke:#1d1e20}}}}\
         </style><rect class=\"g\" width=\"200\" height=\"200\"/><g{zoom}>{shape}</g></svg>",
        shade.0, shade.1
    )
}

/// Whether a fill, `#rrggbb`, is close to black.
fn is_dark(fill: &str) -> bool {
    let channel = |at: usize| u32::from_str_radix(fill.get(at..at + 2).unwrap_or("ff"), 16);
    let sum: u32 = [1, 3, 5].iter().map(|at| channel(*at).unwrap_or(255)).sum();
    sum < 3 * 0x60
}

fn pick(hash: u64, of: usize) -> usize {
    usize::try_from(hash % of as u64).unwrap_or(0)
}

/// FNV-1a: the same on every machine.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::draw;

    #[test]
    fn a_drawing_is_the_same_each_time_and_repeats_nothing_that_it_was_asked_with() {
        let hostile = "\"/><script>alert(1)</script>";
        let one = draw(hostile, hostile, hostile, hostile, 0);
        assert_eq!(one, draw(hostile, hostile, hostile, hostile, 0));
        assert!(!one.contains("script"));
        assert_ne!(
            draw("book", "crime", "Red", "a", 0),
            draw("book", "crime", "Navy blue", "a", 0)
        );
        assert_ne!(
            draw("x", "laptops", "", "a", 0),
            draw("x", "monitors", "", "a", 0)
        );
    }
}
