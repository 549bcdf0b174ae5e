use serde_json::json;

use super::*;
use crate::tests::{object, reason};

fn read_bytes(bytes: &[u8], path: &str, max_bytes: usize) -> Vec<(u64, Row)> {
    let path = crate::tests::rows_path(path);
    let form = RowForm {
        max_bytes,
        ..RowForm::default()
    };
    // Small pieces: events are cut anywhere.
    let source = std::io::BufReader::with_capacity(5, bytes);
    let mut rows = XmlRows::new(source, &path, form);
    let rows = std::iter::from_fn(|| rows.next());
    rows.map(|line| (line.number, line.row)).collect()
}

fn read(text: &str, path: &str) -> Vec<(u64, Row)> {
    read_bytes(text.as_bytes(), path, 1000)
}

#[test]
fn elements_become_objects_texts_and_lists() {
    let text = "<?xml version=\"1.0\"?>\n<!DOCTYPE c>\n<c xmlns:g='u'>\n<p><id>0</id></p>\n\
                <list><p id='1' xmlns:h=\"v\">\n<g:price c=\"EUR\">5</g:price>\
                <img/><img>a&amp;b</img>\r\n<t>x <b>y</b> z&#233;<![CDATA[<&>]]></t>\n</p>\n\
                <p\n id='2&lt;'/><p>text</p></list></c>";
    let found = read(text, "c.list.p");
    assert_eq!(
        found,
        [
            (
                5,
                object(json!({
                    "@id": "1", "g:price": {"@c": "EUR", "#text": "5"},
                    "img": ["", "a&b"], "t": {"b": "y", "#text": "x  z\u{e9}<&>"},
                }))
            ),
            (9, object(json!({"@id": "2<"}))),
            (10, object(json!({"#text": "text"}))),
        ]
    );
    assert_eq!(read(text, "c.p"), [(4, object(json!({"id": "0"})))]);
}

/// The rows at `Message.item`, by names without prefixes.
fn read_local(text: &str) -> Vec<(u64, Row)> {
    let path = crate::tests::rows_path("Message.item");
    let form = RowForm {
        max_bytes: 1000,
        local_names: true,
        ..RowForm::default()
    };
    let source = std::io::BufReader::with_capacity(5, text.as_bytes());
    let mut rows = XmlRows::new(source, &path, form);
    let rows = std::iter::from_fn(|| rows.next());
    rows.map(|line| (line.number, line.row)).collect()
}

#[test]
fn names_without_prefixes_read_documents_of_any_prefix() {
    for prefix in ["", "cin:", "gdsn:"] {
        let text = "<Message><head><item/></head>\n<item c:id='1'><n>a</n><n>b</n><x:t>c</x:t><y:t>d</y:t></item>\n\
                    <item><n>a & b</n></item>\n<item><item/><![CDATA[</x:item>]]></item></Message>";
        let names = ["Message", "item", "head"].iter();
        let text = names.fold(text.to_owned(), |text, name| {
            let open = text.replace(&format!("<{name}"), &format!("<{prefix}{name}"));
            open.replace(&format!("</{name}"), &format!("</{prefix}{name}"))
        });
        let found = read_local(&text);
        let first = json!({"@id": "1", "n": ["a", "b"], "x:t": "c", "y:t": "d"});
        assert_eq!(found[0], (2, object(first)), "{text}");
        assert_eq!(found[1].0, 3);
        assert!(reason(&found[1].1).contains("is not XML"), "{found:?}");
        let last = json!({"item": "", "#text": "</x:item>"});
        assert_eq!(found[2..], [(4, object(last))], "{text}");
    }
}

#[test]
fn rows_with_a_prefix_are_found_again_after_what_is_not_xml() {
    let row = |n: u32| format!("<p:item><p:n>{n}</p:n></p:item>\n");
    let bad = [
        "<p:item><p:n>5 < 6</p:n></p:item>\n",
        "<p:item a=\"1><p:n/></p:item>\n",
    ];
    for bad in bad {
        let text = format!("<p:Message>\n{}{bad}{}</p:Message>", row(1), row(3));
        let found = read_local(&text);
        let expected = |n: &str| object(json!({"n": n}));
        assert_eq!(found[0], (2, expected("1")));
        assert_eq!(found[1].0, 3);
        assert!(matches!(found[1].1, Row::Unreadable(_)), "{found:?}");
        assert_eq!(found[2..], [(4, expected("3"))], "{bad}");
        let first = format!("<p:Message>\n{bad}{}</p:Message>", row(3));
        assert_eq!(read_local(&first)[1..], [(3, expected("3"))], "{bad}");
    }
}

#[test]
fn a_bad_row_costs_itself() {
    let long = format!("<p><a>{}</a></p>", "x".repeat(1500));
    let deep = format!("<p>{}{}</p>", "<a>".repeat(70), "</a>".repeat(70));
    let text = format!("<c><p>&nbsp;</p><p a='1' a='2'/>{long}{deep}<p><a>\u{e9}</a></p></c>");
    let mut bytes = text.into_bytes();
    let at = bytes.iter().rposition(|byte| *byte == 0xc3).unwrap();
    let mark = format!("{}</a></p><p><a>", encoding::MARK);
    bytes.splice(at..at + 2, mark.into_bytes());
    let found = read_bytes(&bytes, "c.p", 1000);
    assert!(reason(&found[0].1).contains("&nbsp;, which XML does not know"));
    assert!(reason(&found[1].1).contains("bad attribute"));
    assert!(reason(&found[2].1).contains("at most 1000 are allowed"));
    assert!(reason(&found[3].1).contains("deeper than 64"));
    assert!(reason(&found[4].1).contains("not UTF-8"));
    assert_eq!(found[5].1, object(json!({"a": ""})));
}

#[test]
fn what_cannot_be_followed_ends_the_rows_with_a_reason() {
    let endless = format!("<c><p>1</p><p>{}", "x".repeat(5000));
    for (text, rows, expected) in [
        ("<c><p>1</p>\n<p>2", 1, "ends too early, in line 2"),
        ("<c><p>1</p>\n", 1, "ends too early"),
        ("<c><p>1</p><p></q><!--", 1, "is not XML"),
        ("<c><p>1</p><x><p></y></x></c>", 1, "is not XML"),
        ("<c><q/></c>", 0, "has no element c.p"),
        (&endless, 1, "longer than 4000 bytes"),
    ] {
        let found = read(text, "c.p");
        assert_eq!(found.len(), rows + 1, "{text}");
        let reason = reason(&found[rows].1);
        assert!(reason.contains(expected), "{text}: {reason}");
    }
}

#[test]
fn entities_of_the_document_are_not_expanded() {
    let text = "<!DOCTYPE c [<!ENTITY a \"x\"><!ENTITY f SYSTEM \"file:///etc/hostname\">]>\
                <c><p>&a;</p><p>&f;</p></c>";
    for (_, row) in read(text, "c.p") {
        assert!(reason(&row).contains("which XML does not know"), "{row:?}");
    }
}

/// The values of `n` of the rows, and the numbers of the lines that are rejected.
fn values(text: &str) -> (Vec<String>, Vec<u64>) {
    let (mut values, mut rejected) = (Vec::new(), Vec::new());
    for (number, row) in read(text, "c.l.p") {
        match row {
            Row::Object(row) => values.push(row["n"].as_str().unwrap().to_owned()),
            Row::Unreadable(_) => rejected.push(number),
            other => panic!("{text}: {other:?}"),
        }
    }
    (values, rejected)
}

#[test]
fn what_is_not_xml_costs_its_own_row() {
    for bad in [
        "<p><n>Bath & Body</n></p>",
        "<p><n>Size < 5</n></p>",
        "<p><n>Size < 5\" wide</n><m>6\" high</m></p>",
        "<p><n>5 < 6\" and 7\" / ></n></p>",
        "<p><n>a<br>b</n></p>",
        "<p><n>a</m></p>",
        "<p><n>a</n></m></p>",
        "<p><n>a</n>",
        "<p><n a='<'>a</n></p>",
        "<p><n a=\"1>a</n></p>",
        "<p a=\"1><n>a</n></p>",
        "<p><n><![CDATA[a]] ></n></p>",
        "<p><n><!-- a</n></p>",
        "<p><n>a &lt b</n></p>",
        "<p><n>&nbsp;</n></p>",
        "<p 1><n></p>",
        "<pp/><p><n></p>",
    ] {
        let text = format!(
            "<c><l><x>&amp;</x>\n<p><n>1</n></p>\n{bad}\n<p><n>3</n><m>\"a\"</m></p>\n\
             <p><n><![CDATA[4]]></n><!-- 4 --></p></l></c>"
        );
        let found = values(&text);
        assert_eq!(
            found,
            (vec!["1".into(), "3".into(), "4".into()], vec![3]),
            "{bad}"
        );
        let last = format!("<c><l>\n<p><n>1</n></p>\n{bad}\n</l></c>");
        let found = read(&last, "c.l.p");
        assert!(
            matches!(found[1], (3, Row::Unreadable(_)) | (_, Row::Broken(_))),
            "{bad}: {found:?}"
        );
    }
}

#[test]
fn what_is_not_xml_beside_the_rows_is_rejected_by_itself() {
    let text = "<c>\n<l><t>Bath & Body</t>\n<p><n>1</n></p>\n<t>5 < 6</t>\n<p><n>2</n></p></l></c>";
    assert_eq!(values(text), (vec!["1".into(), "2".into()], vec![2, 4]));
}

#[test]
fn rows_that_have_rows_in_them_are_left_as_a_whole() {
    let row = |text: &str| format!("<p><n>{text}</n><p><n>inner</n></p><p/></p>\n");
    let text = format!("<c><l>\n{}{}{}</l></c>", row("1"), row("a & b"), row("3"));
    assert_eq!(values(&text), (vec!["1".into(), "3".into()], vec![3]));
}

#[test]
fn broken_rows_are_not_read_again_without_an_end() {
    let text = format!("<c>{}", "<p><!--</p>".repeat(2000));
    let found = read_bytes(text.as_bytes(), "c.p", 100);
    let last = found.last().unwrap();
    assert!(
        matches!(last.1, Row::Broken(_)) && found.len() < 200,
        "{}",
        found.len()
    );
}

#[test]
fn the_attributes_of_an_element_are_bounded() {
    let attributes: Vec<String> = (0..1001).map(|n| format!(" a{n}=''")).collect();
    let text = format!("<c><p{}/><p>1</p></c>", attributes.concat());
    let found = read_bytes(text.as_bytes(), "c.p", 100_000);
    assert!(reason(&found[0].1).contains("more than 1000 attributes"));
    assert_eq!(found[1].1, object(json!({"#text": "1"})));
}

#[test]
fn deep_documents_are_refused() {
    for text in ["<a>".repeat(5000), format!("<c><p>{}", "<a>".repeat(5000))] {
        let found = read(&text, "c.p");
        let reason = reason(&found[0].1);
        assert!(reason.contains("deeper than 1000 levels"), "{reason}");
    }
}

proptest::proptest! {
    #[test]
    fn one_wrong_sign_costs_at_most_its_own_row(
        at in 1..60_usize,
        sign in proptest::sample::select(vec!["<", ">", "&", "\"", "'", "/", "<b>", "<!--", "<![CDATA[", "]]>", "\u{1}"]),
    ) {
        let row = |n| format!("<p a=\"{n}\" b='x'><n>text {n}</n><m><![CDATA[x]]> &amp;</m></p>");
        let mut bad = row(2);
        let at = at.min(bad.len() - 1);
        bad.insert_str(at, sign);
        let text = format!("<c>{}{bad}{}{}</c>", row(1), row(3), row(4));
        let found = read(&text, "c.p");
        for n in [1, 3, 4] {
            let expected = object(json!({"@a": n.to_string(), "@b": "x", "n": format!("text {n}"), "m": "x &"}));
            let rows: Vec<_> = found.iter().filter(|(_, row)| *row == expected).collect();
            proptest::prop_assert_eq!(rows.len(), 1, "{}: row {} of {:?}", text, n, found);
        }
    }
}
