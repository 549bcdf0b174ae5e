use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::tests::{object, reason};
use crate::{Feed, FeedForm, Format};

mod slow;

/// Reads a table, of records of at most 1,000 bytes.
fn feed(text: &str, form: FeedForm) -> Feed {
    let form = FeedForm {
        format: Format::Csv,
        ..form
    };
    crate::tests::opened(text.as_bytes(), &form, 1000).unwrap()
}

fn read(text: &str) -> Vec<(u64, Row)> {
    let feed = feed(text, FeedForm::default());
    feed.map(|line| (line.number, line.row)).collect()
}

/// The values of the rows, and the numbers of the lines that are rejected.
fn rows(text: &str) -> (Vec<String>, Vec<u64>) {
    let (mut values, mut rejected) = (Vec::new(), Vec::new());
    for (number, row) in read(text) {
        match row {
            Row::Object(row) => values.push(row["name"].to_string()),
            Row::Unreadable(_) => rejected.push(number),
            Row::Broken(reason) => values.push(reason),
            Row::Blank | Row::Gathered => {}
        }
    }
    (values, rejected)
}

#[track_caller]
fn assert_rows(text: &str, values: &[&str], rejected: &[u64]) {
    let values: Vec<String> = values
        .iter()
        .map(|value| json!(value).to_string())
        .collect();
    assert_eq!(rows(text), (values, rejected.to_vec()), "{text}");
}

#[test]
fn line_ends_inside_of_fields_belong_to_them() {
    let found =
        read("a,\"b b\",\r\n1,\"x\r\ny\rw, \"\"z\"\"\",\r\n\r\n2,5\" disk,\u{e9}\n3, \"a, b\" ,\n");
    assert_eq!(
        found,
        [
            (2, object(json!({"a": "1", "b b": "x\ny\rw, \"z\""}))),
            (5, Row::Blank),
            (
                6,
                object(json!({"a": "2", "b b": "5\" disk", "": "\u{e9}"}))
            ),
            (7, object(json!({"a": "3", "b b": "a, b"}))),
        ]
    );
}

#[test]
fn rows_end_at_the_line_ends_of_any_system() {
    assert_rows("id,name\r1,A\r2,B\r", &["A", "B"], &[]);
    assert_rows(
        "id,name\n1,A\r2,B\n3,C\r\n4,D\r\r\n5,E",
        &["A", "B", "C", "D", "E"],
        &[],
    );
    assert_eq!(
        read("id;name\r1;A\r\r2;B")[2],
        (4, object(json!({"id": "2", "name": "B"})))
    );
}

#[test]
fn a_stray_quotation_mark_costs_its_own_row() {
    let start = "id,name,text,color\n1,A,x,red\n";
    let end = "3,C,\"quoted, text\",green\n4,D,\"two\nlines\",grey\n";
    for stray in [
        "2,B,\"starts but does not end,blue\n",
        "2,B,\"27\" curved,blue\n",
        "2,B,\"A\" grade oak,\"blue\"\n",
        "2,B,\"5\\\" screen\",blue\n",
        "2,B,\"5\\\", 6\\\" or 7\\\"\",blue\n",
        "2,B,\"a\" , \"b\"c\n",
        "\"2,B,x,blue\n",
        "2,B,x,\"blue\n",
    ] {
        assert_rows(&format!("{start}{stray}{end}"), &["A", "C", "D"], &[3]);
    }
    for (text, values, rejected) in [
        (
            "id,name,t\n1,A,\"x\n2,B,y\n3,C,z\n",
            &["B", "C"][..],
            &[2][..],
        ),
        // Lines that were swallowed and the rest of a text, with and without the number of fields of a row.
        ("id,name,t\n1,A,\"x\n2,B\",y,z\n3,C,z\n", &["C"], &[2, 3]),
        (
            "id,name,t\n1,A,\"x 5\" y\nz\nw, x, y\",b\n2,B,27\"\n",
            &["B"],
            &[2, 3, 4],
        ),
        (
            "id,name,t\n1,\"x 5\" y\nu, z\",b\n2,B,27\"\n",
            &["B"],
            &[2, 3],
        ),
        ("id,name,t\n1,\"A\nB\",x,y,z\n2,C,\n", &["C"], &[2, 3]),
    ] {
        assert_rows(text, values, rejected);
    }
}

#[test]
fn in_a_large_file_a_stray_quotation_mark_costs_its_own_row() {
    let mut text = "id,name,text\n".to_owned();
    for row in 0..2000 {
        let mark = if row == 1000 { "" } else { "\"" };
        let _ = write!(text, "{row},A,\"a text, of\r\nrow {row}{mark}\r\n");
    }
    let (values, rejected) = rows(&text);
    assert_eq!((values.len(), rejected), (1999, vec![2002, 2003]));
}

#[test]
fn inch_marks_in_unquoted_fields_are_text() {
    let found = read("id,name,size\n1,27\" curved,5\"\n2,\"27\"\" curved\",5\"\"\n");
    assert_eq!(
        found[0].1,
        object(json!({"id": "1", "name": "27\" curved", "size": "5\""}))
    );
    assert_eq!(
        found[1].1,
        object(json!({"id": "2", "name": "27\" curved", "size": "5\"\""}))
    );
}

#[test]
fn a_quotation_mark_that_is_never_closed_costs_its_own_row() {
    let more = |rows| {
        (3..rows)
            .map(|n| format!("{n},P{n},t\n"))
            .collect::<Vec<_>>()
            .concat()
    };
    let few = more(40);
    let (values, rejected) = rows(&format!("id,name,t\n1,A,x\n2,B,\"never closed\n{few}"));
    assert_eq!((values.len(), rejected), (38, vec![3]));
    // More than a record may have.
    let text = format!("id,name,t\n1,A,x\n2,B,\"never closed\n{}", more(400));
    let (values, rejected) = rows(&text);
    assert_eq!((values.len(), rejected), (398, vec![3]));
    assert!(reason(&read(&text)[1].1).starts_with("has a quotation mark that is not closed"));
}

#[test]
fn a_file_that_ends_within_a_record_is_broken() {
    for (text, rows, expected) in [
        (
            "id,name\n1,A\n2,\"B",
            1,
            "within the quoted field that begins in line 3",
        ),
        (
            "id,name\n1,A\n2,\"B\nmore text\nand",
            4,
            "within the quoted field that begins in line 3",
        ),
        (
            "id,name,t\n1,A,\n2,B",
            1,
            "within line 3, which has 2 fields where the header has 3",
        ),
    ] {
        let found = read(text);
        let (last, before) = found.split_last().unwrap();
        assert!(matches!(last.1, Row::Broken(_)), "{found:?}");
        assert!(reason(&last.1).contains(expected), "{}", reason(&last.1));
        assert_eq!(before.len(), rows, "{found:?}");
    }
    assert_rows("id,name,t\n1,A\n2,B", &["A", "B"], &[]);
}

#[test]
fn a_packed_file_that_is_cut_off_within_a_field_says_so() {
    let rows: Vec<String> = (0..3000)
        .map(|n| format!("{n},\"row {}\nof two lines\"\n", n * 7919))
        .collect();
    let packed = crate::fixtures::gzipped(format!("id,name\n{}", rows.concat()).as_bytes());
    for at in [packed.len() / 3, packed.len() / 2, packed.len() - 9] {
        let feed = crate::tests::opened(&packed[..at], &FeedForm::default(), 1000).unwrap();
        let last = feed.last().unwrap();
        assert!(
            reason(&last.row).contains("the rest of the file cannot be read"),
            "{last:?}"
        );
    }
}

#[test]
fn backslashes_escape_quotation_marks_if_the_mapping_says_so() {
    let text = "id,name\n1,\"17\\\" wide\"\n2,\"Clip, \\\"red\\\"\"\n3,\"C:\\new\\\\\"\n4,5\\\" disk\n5,\"a\"\"b\"\n";
    let form = FeedForm {
        escape: Some(b'\\'),
        ..FeedForm::default()
    };
    let escaped = feed(text, form);
    assert_eq!(escaped.described(), "CSV and \\ before quotation marks");
    let names = escaped.map(|line| match line.row {
        Row::Object(row) => row["name"].as_str().unwrap().to_owned(),
        other => panic!("{other:?}"),
    });
    let names: Vec<String> = names.collect();
    assert_eq!(
        names,
        [
            "17\" wide",
            "Clip, \"red\"",
            "C:\\new\\",
            "5\\\" disk",
            "a\"b"
        ]
    );
    assert_rows(text, &["C:\\new\\\\", "5\\\" disk", "a\"b"], &[2, 3]);
    assert!(reason(&read(text)[0].1).ends_with("`escape = \"\\\\\"` in the mapping says so"));
    assert_rows("id,name,t\n1,\"5\\\", b\"\n2,B,\n", &["B"], &[2]);
}

#[test]
fn a_first_mapping_finds_the_escape_sign() {
    for (text, expected) in [
        ("id,name\n1,\"17\\\" wide\"\n", Some(b'\\')),
        ("id,name\n1,\"C:\\\",x\n", None),
        ("id,name\n1,17\\\" wide\n", None),
    ] {
        let form = FeedForm {
            guess_rows: true,
            ..FeedForm::default()
        };
        assert_eq!(feed(text, form).form().escape, expected, "{text}");
    }
}

#[test]
fn the_first_line_may_name_the_delimiter() {
    for (text, delimiter) in [
        ("sep=;\r\nid;name\r\n1;\"A\"\r\n2;B\r\n", b';'),
        ("SEP=,\nid,name\n1,A\n2,B\n", b','),
        ("\"sep=\t\"\rid\tname\r1\tA\r2\tB", b'\t'),
    ] {
        assert_rows(text, &["A", "B"], &[]);
        let found = feed(text, FeedForm::default());
        assert_eq!(found.form().delimiter, Some(delimiter));
    }
    // Whoever skips the line or names the delimiter keeps what they had.
    let form = FeedForm {
        skip_lines: 1,
        delimiter: Some(b','),
        ..FeedForm::default()
    };
    let rows: Vec<Row> = feed("sep=;\nid,name\n1,A\n", form)
        .map(|line| line.row)
        .collect();
    assert_eq!(rows, [object(json!({"id": "1", "name": "A"}))]);
}

#[test]
fn tables_have_the_shapes_in_which_spreadsheets_save_them() {
    let of = |text: &str| -> Vec<Row> { read(text).into_iter().map(|(_, row)| row).collect() };
    assert_eq!(
        of("id,name,,\n1,A,,\n"),
        [object(json!({"id": "1", "name": "A"}))]
    );
    assert_eq!(
        of("id,name\n1,A,,\n,,,\n")[0],
        object(json!({"id": "1", "name": "A"}))
    );
    assert_eq!(of("id,name\n1,A\n,,,\n")[1], Row::Blank);
    assert_eq!(
        of(",name, ,\n1,A,,x\n")[0],
        object(json!({"": ["1", "x"], "name": "A"}))
    );
    assert_eq!(
        of(" id ,\"name \"\n1,A\n"),
        [object(json!({"id": "1", "name": "A"}))]
    );
    assert_eq!(
        of("id,name,size\n1,A\n2\n3,C,M,x\n4,\"D\nE\"\n")[..],
        [
            object(json!({"id": "1", "name": "A", "size": ""})),
            Row::Unreadable("has 1 fields where the header has 3".to_owned()),
            Row::Unreadable("has 4 fields where the header has 3".to_owned()),
            Row::Unreadable(
                "has 2 fields where the header has 3, together with the lines up to 6 that a quotation mark joins"
                    .to_owned()
            ),
            Row::Unreadable(
                "seems to belong to the text that line 5 begins, whose quotation mark is not closed there"
                    .to_owned()
            ),
        ]
    );
    let lists = of("id,color,color\n1,red,blue\n2,,blue\n3\n4,red\n");
    assert_eq!(
        lists[0],
        object(json!({"id": "1", "color": ["red", "blue"]}))
    );
    assert_eq!(lists[1], object(json!({"id": "2", "color": ["", "blue"]})));
    assert_eq!(lists[3], object(json!({"id": "4", "color": ["red", ""]})));
}

#[test]
fn the_number_of_columns_is_bounded() {
    let commas = ",".repeat(20_000);
    let form = || FeedForm {
        format: Format::Csv,
        ..FeedForm::default()
    };
    let opened = |text: &str| crate::tests::opened(text.as_bytes(), &form(), 100_000);
    let refused = opened(&format!("a{commas}\n")).err().unwrap();
    assert_eq!(refused, "the header has more than 16384 columns");
    let rows: Vec<Row> = opened(&format!("a,b\n1{commas}2\n3,4\n"))
        .unwrap()
        .map(|line| line.row)
        .collect();
    assert!(matches!(rows[0], Row::Object(_) | Row::Unreadable(_)));
    assert_eq!(rows[1], object(json!({"a": "3", "b": "4"})));
}

/// A field with what matters in tables.
fn field() -> impl Strategy<Value = String> {
    "[a\", \\\\\r\n]{0,5}"
}

/// Marks, delimiters and line ends that are put into a file, and where.
fn damage() -> impl Strategy<Value = Vec<(usize, usize, String)>> {
    let text = proptest::sample::select(vec!["\"", "\"\"", ",", "\r", "\n", "\r\n", "a", " ", ""]);
    let one = (0..200_usize, 0..3_usize, text.prop_map(str::to_owned));
    proptest::collection::vec(one, 0..3)
}

/// A table as a program writes it.
fn written(table: &[[String; 3]], line_end: &str) -> String {
    let quoted = |field: &String| {
        if field.contains(['"', ',', '\r', '\n']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.clone()
        }
    };
    let lines = table
        .iter()
        .map(|row| row.each_ref().map(quoted).join(",") + line_end);
    format!("x,y,z{line_end}{}", lines.collect::<String>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn what_is_written_is_read(
        table in proptest::collection::vec(proptest::array::uniform3(field()), 1..6),
        line_end in proptest::sample::select(vec!["\n", "\r", "\r\n", "\r\r\n"]),
    ) {
        let is_blank = |row: &[String; 3]| row.iter().all(|field| field.trim_matches(' ').is_empty());
        // Without an escape sign, these may mean several things.
        let is_doubtful = |row: &[String; 3]| row.iter().any(|field| field.contains('\\'));
        let table: Vec<_> = table.into_iter().filter(|row| !is_blank(row) && !is_doubtful(row)).collect();
        let found: Vec<Row> = read(&written(&table, line_end)).into_iter().map(|(_, row)| row).collect();
        let plain = |text: &String| text.replace("\r\n", "\n");
        let rows = table.iter().map(|[x, y, z]| {
            object(json!({"x": plain(x), "y": plain(y), "z": plain(z)}))
        });
        let expected: Vec<Row> = rows.collect();
        if !expected.is_empty() {
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_quotation_mark_put_anywhere_costs_at_most_its_own_row(
        table in proptest::collection::vec(proptest::array::uniform3("[abc][abc ,]{0,3}"), 2..9),
        row in 0..8_usize,
        at in 0..20_usize,
    ) {
        let mut lines: Vec<String> = written(&table, "\n").lines().map(str::to_owned).collect();
        let row = row % table.len();
        let line = &mut lines[row + 1];
        let at = at.min(line.len());
        line.insert(at, '"');
        let text = lines.join("\n") + "\n";
        let found = read(&text);
        for (other, [x, y, z]) in table.iter().enumerate().filter(|(other, _)| *other != row) {
            let expected = (other as u64 + 2, object(json!({"x": x, "y": y, "z": z})));
            prop_assert!(found.contains(&expected), "{:?} has no {:?}: {:?}", text, expected, found);
        }
        let rejected = found.iter().filter(|(_, row)| matches!(row, Row::Unreadable(_)));
        prop_assert!(rejected.count() <= 1, "{:?}: {:?}", text, found);
    }

    #[test]
    fn damaged_files_are_read_by_the_rule_and_each_line_once(
        table in proptest::collection::vec(proptest::array::uniform3(field()), 1..8),
        line_end in proptest::sample::select(vec!["\n", "\r", "\r\n"]),
        damage in damage(),
        cut in 0..400_usize,
    ) {
        let mut text = written(&table, line_end);
        for (at, removed, put) in damage {
            let at = "x,y,z\n".len() + at % text.len();
            let at = at.min(text.len());
            let end = (at + removed).min(text.len());
            text.replace_range(at..end, &put);
        }
        if cut > 6 && cut < text.len() { text.truncate(cut); }
        let found = read(&text);
        let expected = slow::read(&text);
        prop_assert_eq!(&slow::simple(&found), &expected, "{:?}", text);
    }
}

#[test]
fn a_formula_that_is_a_text_is_this_text() {
    let csv = "id,name\n1,=\"007\"\n2,\"=\"\"08\"\"\"\n3,=1+2\n4,\"=\"\"a\"\"&\"\"b\"\"\"\n";
    assert_rows(csv, &["007", "08", "=1+2", "=\"a\"&\"b\""], &[]);
}
