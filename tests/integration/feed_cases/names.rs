//! Names, numbers and addresses: what identifies products, keys, categories and pictures.

use serde_json::json;

use super::*;

const SKUS: &str = r#"
category = { value = "things" }
sku = "ean"
"#;

#[test]
fn article_numbers_that_look_alike_are_one() {
    test(async |app| {
        let feed = Feed::new(app, SKUS);
        let said = feed
            .import(
                "shop.csv",
                "id,ean,name\n1,ABC-1,One\n2,ABC-1\u{200b},Invisible\n3,ABC-1\u{a0},No-break\n4,abc-1,Small\n",
            )
            .await;
        insta::assert_snapshot!(said, @"
        lines 4, created 2, rejected 2
        line 3, sku: holds the invisible character U+200B at byte 5; remove it (rejected)
        line 4, sku: another product has the sku ABC-1 (rejected)
        ");
    });
}

#[test]
fn article_numbers_that_a_spreadsheet_has_spoilt_are_refused() {
    test(async |app| {
        let feed = Feed::new(app, SKUS);
        let said = feed
            .import(
                "shop.csv",
                "id,ean,name\n1,4.00638E+12,Pen\n2,4.00638E+12,Marker\n3,012345678905,Brush\n",
            )
            .await;
        insta::assert_snapshot!(said, @r#"
        lines 3, created 1, rejected 2
        line 2, sku: "4.00638E+12" is what a spreadsheet makes of a long number, whose digits are lost; format the column as text and export it again (rejected)
        line 3, sku: "4.00638E+12" is what a spreadsheet makes of a long number, whose digits are lost; format the column as text and export it again (rejected)
        "#);
        let found = app
            .query(r#"{ product(sku: "012345678905") { name } }"#)
            .await;
        assert_eq!(found.text("/product/name"), "Brush");
    });
}

#[test]
fn a_number_without_its_leading_zeros_waits_and_the_report_names_the_other() {
    test(async |app| {
        let prices = r#"
            version = 1
            system = "prices"
            [product]
            external_id = "id"
            sku = "gtin"
            price = { amount = "price", currency = { value = "EUR" } }
        "#;
        let catalogue = Feed::new(app, &SKUS.replace("ean", "gtin"));
        catalogue
            .import("shop.csv", "id,gtin,name\n1,04006381333931,Lamp\n")
            .await;
        let said = Feed::of(app, prices)
            .import("prices.csv", "id,gtin,price\n9,4006381333931,5.00\n")
            .await;
        insta::assert_snapshot!(said, @"
        lines 1, waiting 1
        sku 4006381333931 is like 04006381333931
        ");
        insta::assert_snapshot!(answered(app).await.join("\n"), @"Lamp in things");
    });
}

#[test]
fn names_of_specs_that_differ_are_keys_that_differ() {
    test(async |app| {
        let mapping = "category = { value = \"things\" }\n[product.specs]\nfrom = \"at\"\non_bad = \"drop_value\"\n";
        let at = json!({ "C": "yes", "C++": "no", "C#": "maybe", "Höhe": "10", "Größe": "XL", "grosse": "M",
            "Цвет": "красный", "颜色": "红", "9 volt": "x", "Couleur (FR)": "rouge" });
        let row = json!({ "id": 1, "name": "Keys", "at": at });
        let said = Feed::new(app, mapping)
            .import("shop.jsonl", row.to_string())
            .await;
        assert_eq!(said, "lines 1, created 1\nkey grosse is Größe and grosse");
        let query = r#"{ product(sku: "shop:1") { specs { key label text } } }"#;
        let answer = app.query(query).await;
        let specs = answer.at("/product/specs").as_array().unwrap().iter();
        let shown =
            specs.map(|spec| format!("{} = {} {}", spec["key"], spec["label"], spec["text"]));
        insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n").replace('"', ""), @"
        c = C yes
        c_plus_plus = C++ no
        c_sharp = C# maybe
        hohe = Höhe 10
        grosse = Größe XL
        grosse = Größe M
        spec_6a12f732 = Цвет красный
        spec_e2374183 = 颜色 红
        spec_9_volt = 9 volt x
        couleur_fr = Couleur (FR) rouge
        ");
        let found = r#"{ products(filter: { specs: [{ key: "c_sharp", text: { eq: "maybe" } }] }) { nodes { name } } }"#;
        assert_eq!(app.query(found).await.names("/products"), ["Keys"]);
    });
}

#[test]
fn addresses_of_pictures_are_stored_as_links_or_refused() {
    test(async |app| {
        let mapping = "category = { value = \"things\" }\nmedia = { url = { from = \"img\", on_bad = \"drop_value\" } }\n";
        let addresses = [
            "https://cdn.example/img/my lamp.jpg",
            "https://cdn.example/img/plaża.jpg",
            "https://münchen.example/a.jpg",
            "HTTPS://cdn.example/a.jpg",
            "https://cdn.example/a\\b.jpg",
            "https://cdn.example/a\"b<c>.jpg",
            "https://user:secret@cdn.example/a.jpg",
            "https://",
            "https://cdn.example/\u{200b}z.jpg",
            "ftp://cdn.example/a.jpg",
        ];
        let rows = addresses.iter().zip(1..).map(|(img, n)| {
            let row = json!({ "id": n, "name": format!("Picture {n:02}"), "img": img });
            format!("{row}\n")
        });
        let said = Feed::new(app, mapping)
            .import("shop.jsonl", rows.collect::<String>())
            .await;
        insta::assert_snapshot!(said, @r#"
        lines 10, created 10, dropped values 6
        line 5, img: "https://cdn.example/a\\b.jpg" is not an address: holds '\\', which no address has; write it as %5C (created)
        line 6, img: "https://cdn.example/a\"b<c>.jpg" is not an address: holds '"', which no address has; write it as %22 (created)
        line 7, img: "https://user:secret@cdn.example/a.jpg" is not an address: holds a user name or a password, which everybody could read; addresses are public (created)
        line 8, img: "https://" is not an address: names no host: an address is https:// and a host, such as https://shop.example/lamp.jpg (created)
        line 9, img: "https://cdn.example/\u{200b}z.jpg" is not an address: holds the invisible character U+200B; remove it (created)
        line 10, img: "ftp://cdn.example/a.jpg" is not an address: an address begins with https:// or http:// (created)
        "#);
        insta::assert_snapshot!(answered(app).await.join("\n"), @"
        Picture 01 in things
          image https://cdn.example/img/my%20lamp.jpg -
        Picture 02 in things
          image https://cdn.example/img/pla%C5%BCa.jpg -
        Picture 03 in things
          image https://xn--mnchen-3ya.example/a.jpg -
        Picture 04 in things
          image https://cdn.example/a.jpg -
        Picture 05 in things
        Picture 06 in things
        Picture 07 in things
        Picture 08 in things
        Picture 09 in things
        Picture 10 in things
        ");
    });
}

#[test]
fn a_separator_behind_a_backslash_is_a_sign_of_the_name() {
    test(async |app| {
        let feed = Feed::new(app, r#"category = { from = "path", separator = ">" }"#);
        let table = "id,name,path\n1,Atlas,Books > Ages \\> 12\n2,Novel,Books > Ages \\> 12 > Large print\n";
        assert_eq!(feed.import("shop.csv", table).await, "lines 2, created 2");
        insta::assert_snapshot!(answered(app).await.join("\n"), @"
        Atlas in Books > Ages > 12
        Novel in Books > Ages > 12 > Large print
        ");
        let query = r#"{ category(slug: "ages-12") { path } }"#;
        let found = app.query(query).await;
        assert_eq!(*found.at("/category/path"), json!(["Books", "Ages > 12"]));
    });
}

#[test]
fn a_feed_goes_on_into_a_category_that_an_admin_has_renamed() {
    test(async |app| {
        let feed = Feed::new(app, r#"category = { from = "path", separator = ">" }"#);
        let rows = |names: &[&str]| -> String {
            let row = |(n, name): (usize, &&str)| format!("{n},{name},Light > Lamps\n");
            let rows = names.iter().enumerate().map(row);
            std::iter::once("id,name,path\n".to_owned())
                .chain(rows)
                .collect()
        };
        feed.import("shop.csv", rows(&["Arc", "Clip"])).await;
        let lamps = app.query(r#"{ category(slug: "lamps") { id } }"#).await;
        let rename = json!({ "id": lamps.text("/category/id"), "name": "Luminaires" });
        app.mutate("updateCategory", rename).await.done();
        let said = feed
            .import("shop.csv", rows(&["Arc II", "Clip", "Desk"]))
            .await;
        assert_eq!(said, "lines 3, created 1, updated 1, unchanged 1");
        insta::assert_snapshot!(answered(app).await.join("\n"), @"
        Arc II in Light > Luminaires
        Clip in Light > Luminaires
        Desk in Light > Luminaires
        ");
    });
}
