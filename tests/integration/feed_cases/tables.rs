//! Tables that are damaged or of an unusual shape: no row is lost or swallowed without a word.

use super::*;

/// The mapping of the tables of this module.
const COLORS: &str = r#"
category = { value = "things" }
description = "text"
[product.specs]
include = ["color"]
"#;

/// Imports a table into a shop of its own; returns what is said of its lines, and what the shop has.
async fn import_one(app: &App, mapping: &str, name: &str, table: impl AsRef<[u8]>) -> String {
    let said = Feed::new(app, mapping).import(name, table).await;
    format!("{said}\n\n{}", answered(app).await.join("\n"))
}

#[test]
fn a_carriage_return_alone_ends_a_row_but_not_inside_quotation_marks() {
    test(async |app| {
        let table =
            "id,name,color\n1,One,red\r2,Two,blue\r\n3,Three,\"dark\rgreen\"\n4,Four,black\r";
        let said = import_one(app, COLORS, "shop.csv", table).await;
        insta::assert_snapshot!(said, @"
        lines 4, created 4

        Four in things
          color = black (text)
        One in things
          color = red (text)
        Three in things
          color = dark green (text)
        Two in things
          color = blue (text)
        ");
    });
}

#[test]
fn a_table_of_carriage_returns_only_has_all_its_rows() {
    test(async |app| {
        let table = "id,name,color\r1,One,red\r\r2,Two,blue\r";
        let said = import_one(app, COLORS, "shop.csv", table).await;
        insta::assert_snapshot!(said, @"
        lines 3, created 2, blank 1

        One in things
          color = red (text)
        Two in things
          color = blue (text)
        ");
    });
}

#[test]
fn a_stray_quotation_mark_costs_its_own_row() {
    test(async |app| {
        let table = "id,name,text,color\n\
            1,One,\"starts but does not end,red\n\
            2,Two,plain,blue\n\
            3,Three,\"quoted text\",green\n\
            4,Four,\"27\" curved,black\n\
            5,Five,17\" wide,white\n\
            6,Six,\"two \"\"marks\"\"\",gold\n";
        let said = import_one(app, COLORS, "shop.csv", table).await;
        insta::assert_snapshot!(said, @r#"
        lines 6, created 4, rejected 2
        line 2, line: has a quotation mark inside of a quoted field that is neither doubled nor at its end in the 3 lines from here on (rejected)
        line 5, line: has a quotation mark inside of a quoted field that is neither doubled nor at its end (rejected)

        Five in things
          description: 17" wide
          color = white (text)
        Six in things
          description: two "marks"
          color = gold (text)
        Three in things
          description: quoted text
          color = green (text)
        Two in things
          description: plain
          color = blue (text)
        "#);
    });
}

#[test]
fn a_quotation_mark_that_is_never_closed_costs_its_own_row() {
    test(async |app| {
        let rows: [fn(u32) -> String; 2] = [
            |n| format!("{n},Name {n},\"text {n}\",red\n"),
            |n| format!("{n},Name {n},text {n},red\n"),
        ];
        for (row, first) in rows.into_iter().zip([1, 20]) {
            let head = format!(
                "id,name,text,color\n{first},First,\"text\",red\n0,Never,\"not closed,red\n"
            );
            let table = (first + 1..first + 11).fold(head, |table, n| table + &row(n));
            let said = Feed::new(app, COLORS).import("shop.csv", table).await;
            let expected = "lines 12, created 11, rejected 1\nline 3, line: has a quotation mark";
            assert!(said.starts_with(expected), "{said}");
        }
        let query = "{ products { totalCount { value } } }";
        let stored = app.query(query).await;
        assert_eq!(*stored.at("/products/totalCount/value"), 22);
    });
}

#[test]
fn tables_as_spreadsheets_save_them_are_read() {
    test(async |app| {
        let shapes = [
            (
                "empty-columns",
                "id,name,color,,\n1,One,red,,\n2,Two,blue,,\n",
            ),
            (
                "short-rows",
                "id,name,color,size,note\n3,Three,green,L,n\n4,Four\n5,Five,black\n",
            ),
            ("sep", "sep=;\nid;name;color\n6;Six;red\n7;Seven;blue\n"),
            ("blanks", " id ,name , color\n8,Eight,red\n"),
            ("two-columns", "id,name,color,color\n9,Nine,red,blue\n"),
            ("nothing", "id,name,color\n"),
        ];
        let feed = Feed::new(app, COLORS);
        let mut all = Vec::new();
        for (shape, table) in shapes {
            let said = feed.import("shop.csv", table).await;
            all.push(format!("{shape}: {said}"));
        }
        insta::assert_snapshot!(all.join("\n"), @"
        empty-columns: lines 2, created 2
        short-rows: lines 3, created 3
        sep: lines 2, created 2
        blanks: lines 1, created 1
        two-columns: lines 1, created 1
        nothing: lines 1, rejected 1
        broken off: the file is not empty, and has no row that can be read
        line 1, line: the file is not empty, and has no row that can be read (rejected)
        ");
        insta::assert_snapshot!(answered(app).await.join("\n"), @"
        Eight in things
          color = red (text)
        Five in things
          color = black (text)
        Four in things
        Nine in things
          color = red (text)
          color = blue (text)
        One in things
          color = red (text)
        Seven in things
          color = blue (text)
        Six in things
          color = red (text)
        Three in things
          color = green (text)
        Two in things
          color = blue (text)
        ");
    });
}

#[test]
fn quotation_marks_behind_backslashes_need_their_setting() {
    test(async |app| {
        let table = "id,name,color\n1,\"Screen 17\\\" wide\",red\n2,\"Clip, \\\"red\\\"\",blue\n3,Plain,green\n";
        let said = Feed::new(app, COLORS).import("shop.csv", table).await;
        insta::assert_snapshot!(said, @r#"
        lines 3, created 1, rejected 2
        line 2, line: has a quotation mark inside of a quoted field that is neither doubled nor at its end; if backslashes escape quotation marks, `escape = "\\"` in the mapping says so (rejected)
        line 3, line: has a quotation mark inside of a quoted field that is neither doubled nor at its end; if backslashes escape quotation marks, `escape = "\\"` in the mapping says so (rejected)
        "#);
        let with_escape =
            format!("{MAPPING}{COLORS}").replace("version = 1", "version = 1\nescape = '\\'");
        let said = Feed::of(app, &with_escape).import("shop.csv", table).await;
        assert_eq!(said, "lines 3, created 2, unchanged 1");
        insta::assert_snapshot!(answered(app).await.join("\n"), @r#"
        Clip, "red" in things
          color = blue (text)
        Plain in things
          color = green (text)
        Screen 17" wide in things
          color = red (text)
        "#);
    });
}

#[test]
fn one_bad_character_of_xml_costs_its_item() {
    test(async |app| {
        let item = |n: u32, name: &str| {
            format!("<item><id>{n}</id><name>{name}</name><color>red</color></item>\n")
        };
        let names = [
            "One",
            "Salt & Pepper",
            "Size < 5",
            "Caf&eacute;",
            "a &nbsp; b",
            "Six",
        ];
        let items: String = (1..).zip(names).map(|(n, name)| item(n, name)).collect();
        let xml = format!("<?xml version=\"1.0\"?>\n<shop>\n{items}</shop>\n");
        let mapping = format!("{MAPPING}{COLORS}")
            .replace("version = 1", "version = 1\nrows = \"shop.item\"");
        let said = Feed::of(app, &mapping).import("shop.xml", xml).await;
        let said = format!("{said}\n\n{}", answered(app).await.join("\n"));
        insta::assert_snapshot!(said, @"
        lines 6, created 2, rejected 4
        line 4, line: it is not XML: ill-formed document: entity or character reference not closed: `;` not found before end of input, in line 4 of the file (rejected)
        line 5, line: it is not XML: a < begins no tag, or a tag is not closed, in line 5 of the file (rejected)
        line 6, line: has the entity &eacute;, which XML does not know (rejected)
        line 7, line: has the entity &nbsp;, which XML does not know (rejected)

        One in things
          color = red (text)
        Six in things
          color = red (text)
        ");
    });
}
