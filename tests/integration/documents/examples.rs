//! The examples answer as shown.

use serde_json::json;
use vitrine_domain::workers::Worker;
use vitrine_harness::documents::Document;
use vitrine_harness::outlines::{Ids, fits, lines_fit};
use vitrine_harness::subscriptions::Subscription;
use vitrine_harness::{Answer, App, pretty, test};

use super::steps::{Example, Step};
use super::{catalogue, none};

/// Asks the examples of a document, one after the other, and tells what is not as shown.
struct Examples<'a> {
    app: &'a App,
    path: &'a str,
    ids: Ids,
    following: Option<Subscription>,
    mistakes: Vec<String>,
}

impl<'a> Examples<'a> {
    /// Asks all of them. What goes wrong does not keep the next one from being asked.
    async fn of(app: &'a App, path: &'a str) -> Vec<String> {
        let mut examples = Self {
            app,
            path,
            ids: Ids::default(),
            following: None,
            mistakes: Vec::new(),
        };
        for step in steps(path) {
            examples.take(step).await;
        }
        examples.mistakes
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Ask(example) => {
                let answer = self.ask(&example).await;
                self.compare(example.line, &example.answer, answer.body());
                if example.document.contains("mutation") {
                    settle(self.app).await;
                }
            }
            Step::Follow { document } => {
                let document = self.ids.real(&document);
                self.following = Some(self.app.subscribe(&document));
            }
            Step::Event { line, shown } => {
                let following = self.following.as_mut();
                let told = following.expect("a subscription stands above").next().await;
                self.compare(line, &shown, &told.unwrap_or_default());
            }
            _ => {}
        }
    }

    async fn ask(&self, example: &Example) -> Answer {
        let mut ask = self.app.query(&self.ids.real(&example.document));
        if let Some(subject) = &example.viewer.subject {
            ask = ask.with_roles(subject, &example.viewer.roles);
        }
        for (name, value) in &example.variables {
            let value = self.ids.real(&value.to_string());
            let value: serde_json::Value = serde_json::from_str(&value).unwrap();
            ask = ask.with(name, value);
        }
        ask.await
    }

    fn compare(&mut self, line: usize, expected: &serde_json::Value, answer: &serde_json::Value) {
        let differences = self.ids.differences(expected, answer);
        if !differences.is_empty() {
            let differences = differences.join("\n  ");
            let (path, answer) = (self.path, pretty(answer));
            let mistake = format!("{path}:{line}\n  {differences}\n{answer}");
            self.mistakes.push(mistake);
        }
    }
}

fn steps(path: &str) -> Vec<Step> {
    Step::all(&Document::read(path)).unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}

/// Does what workers do within a minute.
async fn settle(app: &App) {
    app.run_background_work().await;
    app.catalog.work_off(Worker::Trending).await.unwrap();
}

#[test]
fn the_query_of_the_readme_is_one_command_and_answers_as_shown() {
    test(async |app| {
        catalogue::only(app, "Aurelis Vector Plus Wireless Headphones").await;
        none(&Examples::of(app, "README.md").await);
        assert_eq!(app.sent(), ["find products"]);
    });
}

#[test]
fn every_example_of_the_guide_answers_as_shown() {
    test(async |app| {
        catalogue::of_the_guide(app).await;
        // The guide asks also what only a subgraph answers.
        let mut app = app.clone();
        app.engine = vitrine_api::graphql::subgraph().unwrap();
        none(&Examples::of(&app, "docs/api.md").await);
    });
}

#[test]
fn every_query_for_operators_answers_as_shown() {
    test(async |app| none(&Examples::of(app, "docs/operations.md").await));
}

#[test]
fn what_is_left_out_of_an_answer_is_marked_and_nothing_else_is() {
    let answer = json!({ "id": "x1", "name": "A fine lamp", "tags": ["a", "b"], "price": 3 });
    let same = |outline| Ids::default().differences(&outline, &answer).is_empty();
    assert!(same(
        json!({ "id": "y7", "name": "A … lamp", "tags": ["a", "…"], "price": "…" })
    ));
    assert!(same(json!({ "name": "A fine lamp", "…": "…" })));
    assert!(
        !same(json!({ "name": "A fine lamp" })),
        "fields are missing"
    );
    assert!(!same(json!({ "price": 4, "…": "…" })));
    assert!(
        !same(json!({ "tags": ["a"], "…": "…" })),
        "an item is missing"
    );
    assert!(
        !same(json!({ "tags": ["a", "b", "…"], "…": "…" })),
        "there is no further item"
    );
    assert!(!same(json!({ "tax": 1, "…": "…" })));
}

#[test]
fn an_id_that_is_shown_stands_for_the_same_one_everywhere() {
    let mut ids = Ids::default();
    let outline = json!([{ "id": "shown" }, { "id": "shown" }]);
    assert!(
        ids.differences(&outline, &json!([{ "id": "r1" }, { "id": "r1" }]))
            .is_empty()
    );
    assert_eq!(ids.real("node(id: \"shown\")"), "node(id: \"r1\")");
    assert!(
        !ids.differences(&json!({ "id": "shown" }), &json!({ "id": "r2" }))
            .is_empty()
    );
}

#[test]
fn lines_may_be_left_out_of_an_output() {
    assert!(fits("ready at …, now", "ready at 127.0.0.1, now"));
    assert!(!fits("ready at …, now", "ready at 127.0.0.1, later"));
    assert!(lines_fit(&["a", "…", "d"], &["a", "b", "c", "d"]));
    assert!(!lines_fit(&["a", "d"], &["a", "b", "d"]));
}
