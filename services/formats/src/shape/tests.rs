use serde_json::json;

use super::*;

/// The lines of a CSV file that is read with these settings.
fn lines(form: &FeedForm, csv: &str) -> Vec<(u64, Row)> {
    let feed = crate::read(csv.as_bytes().to_vec(), "feed.csv", form).unwrap();
    feed.map(|line| (line.number, line.row)).collect()
}

/// Lines of one `id` become one row.
fn gathered(csv: &str) -> Vec<(u64, Row)> {
    gathered_by(&["id"], csv)
}

fn gathered_by(keys: &[&str], csv: &str) -> Vec<(u64, Row)> {
    let gather = Gather {
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        list: "lines".to_owned(),
    };
    let form = FeedForm {
        gather: Some(gather),
        ..FeedForm::default()
    };
    lines(&form, csv)
}

#[test]
fn lines_of_one_key_become_one_row() {
    let found = gathered("id,name,size\na,Shirt,S\na,,M\n\nb,Hat,\na,Late,L\n");
    let expected = [
        (
            2,
            Row::Object(json!({ "id": "a", "name": "Shirt", "size": "S", "lines": [
                { "id": "a", "name": "Shirt", "size": "S" }, { "id": "a", "name": "", "size": "M" }
            ] })),
        ),
        (3, Row::Gathered),
        (4, Row::Blank),
        (
            5,
            Row::Object(json!({ "id": "b", "name": "Hat", "size": "", "lines": [
                { "id": "b", "name": "Hat", "size": "" }
            ] })),
        ),
        (
            6,
            Row::Object(json!({ "id": "a", "name": "Late", "size": "L", "lines": [
                { "id": "a", "name": "Late", "size": "L" }
            ] })),
        ),
    ];
    assert_eq!(found, expected);
}

#[test]
fn what_one_line_lacks_another_one_has() {
    let found = gathered("id,name,size\na,,S\na,Shirt,\n");
    let Row::Object(row) = &found[0].1 else {
        panic!("{found:?}");
    };
    assert_eq!((&row["name"], &row["size"]), (&json!("Shirt"), &json!("S")));
}

#[test]
fn a_line_without_a_key_is_a_row_of_its_own() {
    let found = gathered("id,name\na,x\n,y\n,z\n");
    assert_eq!(found.len(), 3);
    assert!(found.iter().all(|(_, row)| matches!(row, Row::Object(_))));
}

#[test]
fn a_damaged_line_stays_a_line_of_its_own() {
    let found = gathered("id,name\na,x\na,y,z\na,w\n");
    assert!(matches!(&found[1], (3, Row::Unreadable(_))), "{found:?}");
    assert_eq!(found[2], (4, Row::Gathered));
}

#[test]
fn the_lines_of_a_row_are_bounded() {
    let mut csv = "id\n".to_owned();
    csv.extend(std::iter::repeat_n("a\n", MAX_GATHERED_LINES + 2));
    csv += "b\n";
    let found = gathered(&csv);
    let gathered = found.iter().filter(|(_, row)| *row == Row::Gathered);
    assert_eq!(gathered.count(), MAX_GATHERED_LINES - 1);
    let rejected = found
        .iter()
        .filter(|(_, row)| matches!(row, Row::Unreadable(_)));
    assert_eq!(rejected.count(), 2);
    assert!(matches!(found.last(), Some((_, Row::Object(_)))));
}

#[test]
fn columns_become_the_items_of_a_list() {
    let unpivot = Unpivot {
        columns: vec!["Size *".to_owned()],
        list: "sizes".to_owned(),
        name: "size".to_owned(),
        value: "price".to_owned(),
    };
    let form = FeedForm {
        unpivot: vec![unpivot],
        ..FeedForm::default()
    };
    let found = lines(&form, "id,Size S,Size M,Size L\na,10,,12\nb,,,\n");
    let expected = [
        json!({ "id": "a", "sizes": [
            { "size": "Size S", "price": "10" }, { "size": "Size L", "price": "12" }
        ] }),
        json!({ "id": "b", "sizes": [] }),
    ];
    let rows: Vec<Row> = expected.into_iter().map(Row::Object).collect();
    assert_eq!(
        found.into_iter().map(|(_, row)| row).collect::<Vec<_>>(),
        rows
    );
}

#[test]
fn lines_before_the_header_are_skipped() {
    for csv in [
        "Price list, \"May\n\nid;name;price\n7;Tarn;1,5\n",
        "Price list;a,b,c,d,e\n\"\"\nid;name;price\n7;Tarn;1,5\n",
    ] {
        let form = FeedForm {
            skip_lines: 2,
            ..FeedForm::default()
        };
        let found = lines(&form, csv);
        let row = json!({ "id": "7", "name": "Tarn", "price": "1,5" });
        assert_eq!(found, [(4, Row::Object(row))], "{csv}");
    }
}

#[test]
fn the_key_is_the_first_column_that_has_a_value() {
    let csv = "handle,code,name\na,,Shirt\n,a,\nb,a,Hat\n,,Coat\n";
    let found = gathered_by(&["gone", "handle", "code"], csv);
    let names: Vec<Option<&str>> = found
        .iter()
        .map(|(_, row)| match row {
            Row::Object(row) => row["name"].as_str(),
            _ => None,
        })
        .collect();
    assert_eq!(names, [Some("Shirt"), None, Some("Hat"), Some("Coat")]);
}
