//! Exports of other shops and review programs, with the shipped mappings: what shoppers see of them.

use serde_json::json;
use vitrine_harness::process::run;

use super::*;

/// A feed with a shipped mapping.
fn shipped<'a>(app: &'a App, name: &str) -> Feed<'a> {
    Feed::mapped(app, Mapping::load(name).unwrap())
}

#[test]
fn a_shopify_export_is_variants_with_their_pictures_and_without_costs() {
    test(async |app| {
        let table = "\
Title,URL handle,Description,Vendor,Type,Tags,Published on online store,Status,SKU,Barcode,Option1 name,Option1 value,Price,Cost per item,Weight value (grams),Product image URL,Image alt text
Moor Coat,moor-coat,<p>Warm &amp; <b>dry</b></p>,Moor,Coats,\"wool, winter\",TRUE,Active,MC-S,4006381333931,Size,S,89.90,41.00,900,https://moor.example/1.jpg,front
,moor-coat,,,,,,,MC-M,4006381333948,,M,94.90,41.00,950,https://moor.example/2.jpg,back
,moor-coat,,,,,,,,,,,,,,https://moor.example/3.jpg,label
Moor Voucher,moor-voucher,,Moor,Vouchers,,FALSE,Draft,MV,,Title,Default Title,10.00,,0,,
";
        let said = shipped(app, "shopify").import("products.csv", table).await;
        insta::assert_snapshot!(said, @"lines 4, created 2, gathered 2");
        insta::assert_snapshot!(answered(app).await.join("\n"), @"
        Moor Coat M in Coats
          brand: Moor
          description: Warm & dry
          94.90 EUR
          image https://moor.example/1.jpg front
          image https://moor.example/2.jpg back
          image https://moor.example/3.jpg label
          size = M (text)
          tags = wool (text)
          tags = winter (text)
          weight = 950 g (quantity)
        Moor Coat S in Coats
          brand: Moor
          description: Warm & dry
          89.90 EUR
          image https://moor.example/1.jpg front
          image https://moor.example/2.jpg back
          image https://moor.example/3.jpg label
          size = S (text)
          tags = wool (text)
          tags = winter (text)
          weight = 900 g (quantity)
        Moor Voucher in Vouchers
          brand: Moor
          10.00 EUR
          weight = 0 g (quantity)
        ");
        let on_sale = app
            .query(
                "{ products(sort: [{ key: NAME }]) { nodes { name } } specKeys { nodes { key } } }",
            )
            .await;
        assert_eq!(on_sale.names("/products"), ["Moor Coat M", "Moor Coat S"]);
        assert!(!on_sale.pretty().contains("cost"), "{}", on_sale.pretty());
    });
}

#[test]
fn a_google_feed_is_products_with_details_as_specs_and_without_costs() {
    test(async |app| {
        let item = |id: &str, title: &str, price: &str, power: &str| {
            format!(
                "<item><g:id>{id}</g:id><g:title>{title}</g:title><g:price>{price}</g:price><g:brand>Tarn</g:brand>\
                 <g:image_link>https://tarn.example/{id}.jpg</g:image_link><g:additional_image_link>https://tarn.example/{id}-2.jpg</g:additional_image_link>\
                 <g:product_type>Light &gt; Lamps</g:product_type><g:cost_of_goods_sold>1.00 EUR</g:cost_of_goods_sold>\
                 <g:product_detail><g:attribute_name>Power</g:attribute_name><g:attribute_value>{power}</g:attribute_value></g:product_detail>\
                 <g:shipping_weight>1.2 kg</g:shipping_weight></item>\n"
            )
        };
        let items = item("A1", "Arc &amp; Co", "39.90 EUR", "9 W")
            + &item("A2", "Clip", "1299.00 EUR", "5 W");
        let xml = format!(
            "<?xml version=\"1.0\"?>\n<rss xmlns:g=\"http://base.google.com/ns/1.0\" version=\"2.0\"><channel>\n{items}</channel></rss>\n"
        );
        let said = shipped(app, "google-products")
            .import("google.xml", xml)
            .await;
        insta::assert_snapshot!(said, @"lines 2, created 2");
        insta::assert_snapshot!(answered(app).await.join("\n"), @"
        Arc & Co in Light > Lamps
          brand: Tarn
          39.90 EUR
          image https://tarn.example/A1.jpg -
          image https://tarn.example/A1-2.jpg -
          power = 9 W (text)
          shipping_weight = 1.2 kg (quantity)
        Clip in Light > Lamps
          brand: Tarn
          1299.00 EUR
          image https://tarn.example/A2.jpg -
          image https://tarn.example/A2-2.jpg -
          power = 5 W (text)
          shipping_weight = 1.2 kg (quantity)
        ");
    });
}

#[test]
fn reviews_of_judgeme_show_no_addresses_of_their_authors() {
    test(async |app| {
        let handles = "version = 1\nsystem = \"judgeme\"\n[product]\nexternal_id = \"handle\"\nname = \"name\"\n\
            kind = { value = \"coat\" }\ncategory = { value = \"things\" }\n";
        Feed::of(app, handles)
            .import("shop.csv", "handle,name\nmoor-coat,Moor Coat\n")
            .await;
        let table = "\
title,body,rating,review_date,source,curated,reviewer_name,reviewer_email,product_id,product_handle,reply,reply_date,picture_urls,ip_address,location
Great,\"Warm, and dry\",5,2026-02-10 15:30:40 UTC,web,ok,Ada L.,ada@mail.example,7,moor-coat,,,\"https://pic.example/1.jpg,https://pic.example/2.jpg\",192.0.2.1,Bern
,Too small,2,2026-02-12 08:00:00 UTC,email,ok,Bo K.,bo@mail.example,7,moor-coat,,,,192.0.2.2,
Buy pills,Buy,5,2026-02-13 08:00:00 UTC,email,spam,Cy,cy@mail.example,7,moor-coat,,,,192.0.2.3,
";
        let said = shipped(app, "judgeme").import("reviews.csv", table).await;
        insta::assert_snapshot!(said, @"lines 3, created 2, skipped 1");
        let query = r#"{ product(sku: "judgeme:moor-coat") { ratingStats { count average } specs { key }
            reviews(first: 9, sort: NEWEST) { nodes { rating title body author { name } createdAt media { url } attributes { name text } } } } }"#;
        let page = app.query(query).await;
        insta::assert_snapshot!(page.pretty(), @r#"
        {
          data: {
            product: {
              ratingStats: { count: 2, average: 3.5 }
              specs: []
              reviews: {
                nodes: [
                  {
                    rating: 2
                    title: ""
                    body: "Too small"
                    author: { name: "Bo K." }
                    createdAt: "2026-02-12T08:00:00.000Z"
                    media: []
                    attributes: []
                  }
                  {
                    rating: 5
                    title: "Great"
                    body: "Warm, and dry"
                    author: { name: "Ada L." }
                    createdAt: "2026-02-10T15:30:40.000Z"
                    media: [{ url: "https://pic.example/1.jpg" }, { url: "https://pic.example/2.jpg" }]
                    attributes: []
                  }
                ]
              }
            }
          }
        }
        "#);
        assert_eq!(*page.at("/product/ratingStats/count"), json!(2));
    });
}

/// Imports a file with the mapping that `vitrine mapping init` proposes for it, unchanged.
async fn as_proposed(app: &App, name: &str, content: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, content).unwrap();
    let proposed = run(&["mapping", "init", file.to_str().unwrap()]);
    assert!(proposed.status.success(), "{proposed:?}");
    let mapping = folder.path().join("proposed.toml");
    fs::write(&mapping, proposed.stdout).unwrap();
    let mapping = Mapping::from_file(&mapping).unwrap();
    Feed::mapped(app, mapping).import(name, content).await
}

#[test]
fn a_woocommerce_export_is_read_with_the_proposed_mapping() {
    test(async |app| {
        let table = "\
ID,Type,SKU,\"GTIN, UPC, EAN, or ISBN\",Name,Published,\"Is featured?\",\"Visibility in catalog\",\"Short description\",Description,\"In stock?\",Stock,\"Weight (kg)\",\"Length (cm)\",\"Sale price\",\"Regular price\",Categories,Tags,Images,Parent,Brands,\"Attribute 1 name\",\"Attribute 1 value(s)\",\"Attribute 1 visible\",\"Attribute 1 global\"
10,variable,moor-tee,,\"Moor Tee\",1,0,visible,\"A tee.\",\"<p>Soft tee</p>\",1,,.5,24,,,\"Clothing > Tees, Clothing > Sale\\, last chance\",\"soft, new\",\"https://moor.example/a.jpg, https://moor.example/b.jpg\",,Moor,Colour,\"Blue, Red\",1,1
11,variation,moor-tee-blue,4006381333931,\"Moor Tee - Blue\",1,0,visible,,,1,3,,,18,20,,,https://moor.example/a.jpg,moor-tee,,Colour,Blue,,1
12,variation,moor-tee-red,4006381333948,\"Moor Tee - Red\",1,0,visible,,,0,0,,,,20,,,https://moor.example/b.jpg,id:10,,Colour,Red,,1
13,simple,moor-bag,,\"'-20 °C Bag\",1,0,visible,\"'- keeps cold\",,1,10,.2,4,,5.5,\"Clothing > Accessories\",,https://moor.example/c.jpg,,Moor,,,,
14,simple,moor-album,,Album,-1,0,visible,Music,,1,,,,,15,Music,,,,,,,,
";
        let said = as_proposed(app, "woo.csv", table).await;
        insta::assert_snapshot!(said, @"lines 5, created 4, skipped 1");
        insta::assert_snapshot!(answered(app).await.join("\n"), @"
        -20 °C Bag in Clothing > Accessories
          brand: Moor
          description: - keeps cold
          5.50 EUR
          image https://moor.example/c.jpg -
          weight = 0.2 kg (quantity)
          length = 4 cm (quantity)
        Album in Music
          description: Music
          15.00 EUR
        Moor Tee - Blue in Clothing > Tees
          brand: Moor
          description: Soft tee
          18.00 EUR
          image https://moor.example/a.jpg -
          gtin = 4006381333931 (text)
          colour = Blue (text)
        Moor Tee - Red in Clothing > Tees
          brand: Moor
          description: Soft tee
          20.00 EUR
          image https://moor.example/b.jpg -
          gtin = 4006381333948 (text)
          colour = Red (text)
        ");
    });
}

#[test]
fn an_akeneo_export_is_read_with_the_proposed_mapping() {
    test(async |app| {
        let table = "\
sku;categories;enabled;family;groups;name-en_US;name-de_DE;description-en_US-ecommerce;weight;weight-unit;length;length-unit;price-EUR;price-USD;colors;image
A1;lamps,sale;1;lamp;;Arc Lamp;Bogenlampe;<p>Bright</p>;1.2000;KILOGRAM;420.0000;MILLIMETER;39.90;45.00;red,blue;files/a1.jpg
A2;lamps;0;lamp;;Clip;Klemme;;300.0000;GRAM;10.0000;CENTIMETER;19.90;;red;
";
        let said = as_proposed(app, "akeneo.csv", table).await;
        insta::assert_snapshot!(said, @"lines 2, created 2");
        insta::assert_snapshot!(answered(app).await.join("\n"), @"
        Arc Lamp in lamps
          description: Bright
          39.90 EUR
          family = lamp (text)
          weight = 1.2 kg (quantity)
          length = 420 mm (quantity)
          colors = red (text)
          colors = blue (text)
        Clip in lamps
          19.90 EUR
          family = lamp (text)
          weight = 300 g (quantity)
          length = 10 cm (quantity)
          colors = red (text)
        ");
        let heavy = r#"{ products(filter: { status: [ACTIVE, DRAFT, ARCHIVED], specs: [{ key: "weight", number: { lte: 0.5, unit: "kg" } }] }) { nodes { name } } }"#;
        assert_eq!(
            app.query(heavy).as_admin().await.names("/products"),
            ["Clip"]
        );
    });
}

#[test]
fn product_pages_in_json_ld_are_read_with_the_proposed_mapping() {
    test(async |app| {
        let property = |name: &str, value: Value, code: &str| json!({ "@type": "PropertyValue", "name": name, "value": value, "unitCode": code });
        let review = json!({ "@type": "Review", "author": { "@type": "Person", "name": "Ada" }, "reviewBody": "Warm.",
            "reviewRating": { "@type": "Rating", "ratingValue": "5", "bestRating": "5" } });
        let first = json!({ "@context": "https://schema.org/", "@type": "Product", "sku": "A1", "name": "Arc Lamp",
            "brand": { "@type": "Brand", "name": "Tarn" }, "image": ["https://tarn.example/1.jpg"], "category": "Light > Lamps",
            "weight": { "@type": "QuantitativeValue", "value": 1.2, "unitCode": "KGM" },
            "additionalProperty": [property("Height", json!("420"), "MMT"), property("Power", json!(9), "WTT"), property("Level", json!(40), "2N")],
            "offers": { "@type": "Offer", "price": "39.90", "priceCurrency": "EUR" },
            "aggregateRating": { "@type": "AggregateRating", "ratingValue": "4,4", "reviewCount": "89" }, "review": [review] });
        let second = json!({ "@context": "https://schema.org/", "@type": "Product", "sku": "A2", "name": "Clip",
            "brand": { "@type": "Brand", "name": "Tarn" }, "image": "https://tarn.example/2.jpg", "category": "Light > Clips",
            "additionalProperty": [property("Height", json!("10"), "CMT")],
            "offers": { "@type": "AggregateOffer", "lowPrice": "19.90", "highPrice": "24.90", "priceCurrency": "EUR" },
            "aggregateRating": { "@type": "AggregateRating", "ratingValue": 4.1, "reviewCount": 12 }, "review": [] });
        let said = as_proposed(app, "pages.json", &json!([first, second]).to_string()).await;
        insta::assert_snapshot!(said, @"lines 2, created 2");
        insta::assert_snapshot!(answered(app).await.join("\n"), @"
        Arc Lamp in Light > Lamps
          brand: Tarn
          39.90 EUR
          image https://tarn.example/1.jpg -
          weight = 1.2 kg (quantity)
          height = 420 mm (quantity)
          power = 9 W (quantity)
          level = 40 dB (quantity)
        Clip in Light > Clips
          brand: Tarn
          19.90 EUR
          image https://tarn.example/2.jpg -
          height = 10 cm (quantity)
        ");
        let tall = r#"{ products(filter: { specs: [{ key: "height", number: { gte: 40, unit: "cm" } }] }) { nodes { name } } }"#;
        assert_eq!(app.query(tall).await.names("/products"), ["Arc Lamp"]);
    });
}
