//! Exports of other shops and review programs, with the shipped mappings: what shoppers see of them.

use serde_json::json;

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
