//! The frame of a page: head, header, and the first answers for the scripts.

use serde_json::{Value, json};

use crate::asking::Asked;
use crate::assets::{self, CONSOLE_MODULES, SIGNED_IN_MODULES, STORE_MODULES};
use crate::login::Login;
use crate::markup::Html;
use crate::site::Site;

/// What a page says about itself, and shows.
pub(crate) struct Document {
    pub(crate) title: String,
    pub(crate) description: String,
    /// The path of the page without what only narrows it down.
    pub(crate) canonical: String,
    /// Whether search engines may list the page.
    pub(crate) listed: bool,
    /// Structured data, if the page has any.
    pub(crate) structured: Vec<Value>,
    /// The text in the search field.
    pub(crate) search: String,
    pub(crate) main: Html,
    pub(crate) asked: Vec<Asked>,
}

impl Document {
    /// Writes the whole page.
    pub(crate) fn write(self, site: &Site) -> String {
        let mut html = Html::new();
        self.head(site, &mut html);
        html.raw("<body><div id=\"app\">");
        self.header(site, &mut html);
        html.raw("<main id=\"main\" tabindex=\"-1\">");
        html.html(&self.main);
        html.raw("</main>");
        footer(site, &mut html);
        html.raw("</div><script type=\"application/json\" id=\"first\">");
        html.raw("{\"asked\":[");
        for (at, asked) in self.asked.iter().enumerate() {
            if at > 0 {
                html.raw(",");
            }
            asked.write(&mut html);
        }
        html.raw("],\"graphiql\":").json(&json!(site.graphiql));
        let acts = !site.identities.is_empty();
        html.raw(",\"actAs\":").json(&json!(acts));
        let login = site.login.as_ref().map(Login::for_page);
        html.raw(",\"login\":").json(&json!(login));
        html.raw(",\"pictures\":").json(&json!(site.pictures));
        html.raw("}</script></body></html>\n");
        html.finish()
    }

    fn head(&self, site: &Site, html: &mut Html) {
        html.raw(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\"><title>",
        );
        html.text(&self.title);
        html.raw("</title><meta name=\"description\" content=\"");
        html.text(&self.description).raw("\">");
        if !self.listed {
            html.raw("<meta name=\"robots\" content=\"noindex, follow\">");
        }
        html.raw("<link rel=\"canonical\" href=\"");
        html.text(&absolute(site, &self.canonical)).raw("\">");
        html.raw("<link rel=\"icon\" type=\"image/svg+xml\" href=\"/favicon.ico\">");
        html.raw("<link rel=\"stylesheet\" href=\"");
        html.text(&assets::address("style/store.css")).raw("\">");
        for module in STORE_MODULES {
            html.raw("<link rel=\"modulepreload\" href=\"");
            html.text(&assets::address(module)).raw("\">");
        }
        html.raw("<script type=\"module\" src=\"");
        html.text(&assets::address("store/main.js"))
            .raw("\"></script>");
        for data in &self.structured {
            html.raw("<script type=\"application/ld+json\">");
            html.json(data).raw("</script>");
        }
        html.raw("</head>");
    }

    fn header(&self, site: &Site, html: &mut Html) {
        html.raw(
            "<a class=\"skip\" href=\"#main\">Skip to content</a>\
             <header class=\"top\"><div class=\"bar\">\
             <a class=\"logo\" href=\"/\">Vitrine</a>\
             <form class=\"search\" role=\"search\" action=\"/search\">\
             <label class=\"hidden\" for=\"q\">Search products</label>\
             <input id=\"q\" name=\"q\" type=\"search\" autocomplete=\"off\" maxlength=\"200\" \
             placeholder=\"Search products\" value=\"",
        );
        html.text(&self.search);
        html.raw("\"><button class=\"button\" type=\"submit\">Search</button></form>");
        html.raw("<div class=\"actions\"><a class=\"action\" href=\"/compare\">Compare</a>");
        // The place of the button that the scripts put here.
        html.raw("<span class=\"action\" aria-hidden=\"true\">");
        html.raw(if site.identities.is_empty() {
            "Sign in"
        } else {
            "Act as …"
        });
        html.raw("</span>");
        html.raw("</div></div><nav class=\"departments\" aria-label=\"Departments\"><ul>");
        let asked = self.asked.first();
        let categories = asked.and_then(|asked| asked.data("categories").as_array());
        for category in categories.into_iter().flatten() {
            html.raw("<li><a href=\"");
            html.text(&crate::tile::category_path(&category["slug"]))
                .raw("\">");
            html.text(category["name"].as_str().unwrap_or_default());
            html.raw("</a></li>");
        }
        html.raw("</ul></nav></header>");
    }
}

fn footer(site: &Site, html: &mut Html) {
    html.raw(
        "<footer class=\"foot\"><div><p>This shop is a client of the public GraphQL API, \
         like any other.</p>",
    );
    if site.graphiql {
        html.raw("<p><a href=\"/graphiql\">Try queries in GraphiQL</a></p>");
    }
    html.raw("</div></footer>");
}

/// Returns a path as an address of the shop, if its origin is known.
pub(crate) fn absolute(site: &Site, path: &str) -> String {
    match &site.origin {
        Some(origin) => format!("{origin}{path}"),
        None => path.to_owned(),
    }
}

/// Writes the frame in which the scripts of the console draw its pages.
pub(crate) fn console(site: &Site) -> String {
    let frame = Frame {
        title: "Console",
        styles: &["style/store.css", "style/console.css"],
        modules: CONSOLE_MODULES,
        script: "console/main.js",
        body: "<body class=\"console\"><div id=\"app\"><main>\
               <noscript><p>The console needs JavaScript.</p></noscript></main></div>",
    };
    frame.write(site)
}

/// Writes the page to which an identity provider sends visitors back.
pub(crate) fn signed_in(site: &Site) -> String {
    let frame = Frame {
        title: "Signing in",
        styles: &["style/store.css"],
        modules: SIGNED_IN_MODULES,
        script: "shared/signed-in.js",
        body: "<body><main class=\"page narrow\" id=\"main\"><h1>Signing in …</h1>\
               <noscript><p>Signing in needs JavaScript.</p></noscript></main>",
    };
    frame.write(site)
}

/// A page that its scripts draw, without answers of the API.
struct Frame {
    title: &'static str,
    styles: &'static [&'static str],
    modules: &'static [&'static str],
    /// The module that starts the page.
    script: &'static str,
    /// The beginning of the body.
    body: &'static str,
}

impl Frame {
    fn write(&self, site: &Site) -> String {
        let mut html = Html::new();
        html.raw(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\">\
             <meta name=\"robots\" content=\"noindex, nofollow\"><title>",
        );
        html.text(self.title).raw(
            " – Vitrine</title>\
             <link rel=\"icon\" type=\"image/svg+xml\" href=\"/favicon.ico\">",
        );
        for style in self.styles {
            html.raw("<link rel=\"stylesheet\" href=\"");
            html.text(&assets::address(style)).raw("\">");
        }
        for module in self.modules {
            html.raw("<link rel=\"modulepreload\" href=\"");
            html.text(&assets::address(module)).raw("\">");
        }
        html.raw("<script type=\"module\" src=\"");
        html.text(&assets::address(self.script));
        html.raw("\"></script></head>").raw(self.body);
        html.raw("<script type=\"application/json\" id=\"first\">");
        let first = json!({
            "asked": [],
            "graphiql": site.graphiql,
            "actAs": !site.identities.is_empty(),
            "storefront": site.storefront,
            "login": site.login.as_ref().map(Login::for_page),
            "pictures": site.pictures,
        });
        html.json(&first).raw("</script></body></html>\n");
        html.finish()
    }
}

/// Writes the page for trying out queries.
pub(crate) fn graphiql() -> String {
    let mut html = Html::new();
    html.raw(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>GraphiQL – Vitrine</title><link rel=\"icon\" href=\"data:,\">",
    );
    for style in ["vendor/graphiql/graphiql.min.css", "style/graphiql.css"] {
        html.raw("<link rel=\"stylesheet\" href=\"");
        html.text(&assets::address(style)).raw("\">");
    }
    html.raw("</head><body><div id=\"graphiql\"><p>GraphiQL needs JavaScript.</p></div>");
    for script in [
        "react.production.min.js",
        "react-dom.production.min.js",
        "graphiql.min.js",
    ] {
        html.raw("<script src=\"");
        html.text(&assets::address(&format!("vendor/graphiql/{script}")));
        html.raw("\"></script>");
    }
    html.raw("<script type=\"module\" src=\"");
    html.text(&assets::address("graphiql/main.js"));
    html.raw("\"></script></body></html>\n");
    html.finish()
}
