//! A schema with an example of everything that validation and coercion handle.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_graphql::{
    Context, Enum, ID, InputObject, Interface, MaybeUndefined, Object, OneofObject, Schema,
    Subscription, Union, Value,
    futures_util::{Stream, stream},
};

use crate::execution::{Engine, R, Scalars};

/// Creates an engine with this schema.
pub(super) fn engine() -> Engine {
    let builder = Schema::build(Query, Mutation, Updates).data(Arc::new(AtomicUsize::new(0)));
    Engine::new(builder, scalars()).expect("the schema is valid")
}

/// The only custom scalar with a check.
pub(super) fn scalars() -> Scalars {
    Scalars::none().with("Day", day)
}

fn day(text: &str) -> Result<(), String> {
    let plain = text.len() == 10
        && text
            .bytes()
            .all(|byte| byte == b'-' || byte.is_ascii_digit());
    plain
        .then_some(())
        .ok_or_else(|| "expected YYYY-MM-DD".to_owned())
}

/// A calendar day.
struct Day(String);

#[async_graphql::Scalar]
impl async_graphql::ScalarType for Day {
    fn parse(value: Value) -> async_graphql::InputValueResult<Self> {
        match value {
            Value::String(text) => Ok(Self(text)),
            other => Err(async_graphql::InputValueError::expected_type(other)),
        }
    }

    fn to_value(&self) -> Value {
        Value::String(self.0.clone())
    }
}

/// A custom scalar without a check.
struct Anything(Value);

#[async_graphql::Scalar]
impl async_graphql::ScalarType for Anything {
    fn parse(value: Value) -> async_graphql::InputValueResult<Self> {
        Ok(Self(value))
    }

    fn to_value(&self) -> Value {
        self.0.clone()
    }
}

#[derive(Enum, Clone, Copy, PartialEq, Eq)]
enum Load {
    Light,
    Heavy,
}

#[derive(InputObject)]
struct Filter {
    name: Option<String>,
    owner: Option<String>,
    inner: Option<Box<Filter>>,
}

#[derive(InputObject)]
struct Size {
    height: i32,
    #[graphql(default = 7)]
    width: i32,
    #[graphql(default_with = "Some(\"cm\".to_owned())")]
    unit: Option<String>,
    tags: Option<Vec<String>>,
    picks: Option<Vec<Pick>>,
}

#[derive(OneofObject)]
enum Pick {
    Text(String),
    Number(i32),
    Size(Size),
}

#[derive(Interface)]
#[graphql(field(name = "name", ty = "R<String>"))]
enum Named {
    Car(Car),
    Boat(Boat),
    Person(Person),
    Robot(Robot),
}

#[derive(Interface)]
#[graphql(
    field(name = "name", ty = "R<String>"),
    field(name = "nickname", ty = "Option<String>"),
    field(name = "owner", ty = "Option<Person>"),
    field(name = "seen", ty = "usize")
)]
enum Vehicle {
    Car(Car),
    Boat(Boat),
}

#[derive(Union)]
enum CarOrBoat {
    Car(Car),
    Boat(Boat),
}

#[derive(Union)]
enum CarOrPerson {
    Car(Car),
    Person(Person),
}

#[derive(Union)]
enum PersonOrRobot {
    Person(Person),
    Robot(Robot),
}

struct Car;
struct Boat;
struct Person;
struct Robot;

#[Object]
impl Car {
    async fn name(&self) -> R<String> {
        Ok("Beetle".to_owned())
    }
    async fn nickname(&self) -> Option<String> {
        None
    }
    async fn seen(&self, ctx: &Context<'_>) -> usize {
        counter(ctx).fetch_add(1, Ordering::SeqCst) + 1
    }
    async fn doors(&self) -> i32 {
        3
    }
    async fn volume(&self) -> i32 {
        90
    }
    async fn can_tow(&self, load: Load) -> bool {
        load == Load::Light
    }
    async fn is_electric(&self, in_year: Option<i32>) -> bool {
        in_year.is_some()
    }
    async fn owner(&self) -> Option<Person> {
        Some(Person)
    }
}

#[Object]
impl Boat {
    async fn name(&self) -> R<String> {
        Ok("Argo".to_owned())
    }
    async fn nickname(&self) -> Option<String> {
        Some("Swift".to_owned())
    }
    async fn seen(&self, ctx: &Context<'_>) -> usize {
        counter(ctx).fetch_add(1, Ordering::SeqCst) + 1
    }
    async fn length(&self) -> i32 {
        12
    }
    async fn volume(&self) -> Option<String> {
        Some("loud".to_owned())
    }
    async fn owner(&self) -> Option<Person> {
        None
    }
}

#[Object]
impl Person {
    async fn name(&self) -> R<String> {
        Ok("Ada".to_owned())
    }
    async fn age(&self) -> i32 {
        36
    }
    async fn vehicles(&self) -> Vec<Vehicle> {
        vec![Vehicle::Car(Car), Vehicle::Boat(Boat)]
    }
}

#[Object]
impl Robot {
    async fn name(&self) -> R<String> {
        Ok("R2".to_owned())
    }
    async fn factory(&self) -> Option<String> {
        None
    }
}

/// Fields that return their argument as the resolver received it.
struct Arguments;

#[Object]
impl Arguments {
    async fn multiple(&self, x: i32, y: i32) -> i32 {
        x * 10 + y
    }
    async fn boolean(&self, flag: Option<bool>) -> Option<bool> {
        flag
    }
    async fn float(&self, number: Option<f64>) -> Option<f64> {
        number
    }
    async fn int(&self, number: Option<i32>) -> Option<i32> {
        number
    }
    async fn text(&self, text: Option<String>) -> Option<String> {
        text
    }
    async fn id(&self, id: Option<ID>) -> Option<String> {
        id.map(|id| id.0)
    }
    async fn required(&self, flag: bool) -> bool {
        flag
    }
    async fn defaulted(&self, #[graphql(default = true)] flag: bool) -> bool {
        flag
    }
    async fn nullable_default(&self, #[graphql(default = 5)] number: Option<i32>) -> Option<i32> {
        number
    }
    async fn given(&self, number: MaybeUndefined<i32>) -> String {
        match number {
            MaybeUndefined::Undefined => "nothing".to_owned(),
            MaybeUndefined::Null => "null".to_owned(),
            MaybeUndefined::Value(number) => number.to_string(),
        }
    }
    async fn booleans(&self, flags: Option<Vec<Option<bool>>>) -> Option<Vec<Option<bool>>> {
        flags
    }
    async fn ints(&self, numbers: Option<Vec<i32>>) -> Option<Vec<i32>> {
        numbers
    }
    async fn nested(
        &self,
        rows: Option<Vec<Option<Vec<Option<i32>>>>>,
    ) -> Option<Vec<Option<Vec<Option<i32>>>>> {
        rows
    }
    async fn load(&self, load: Option<Load>) -> Option<Load> {
        load
    }
    async fn day(&self, day: Option<Day>) -> Option<Day> {
        day
    }
    async fn anything(&self, value: Option<Anything>) -> Option<Anything> {
        value
    }
    async fn filter(&self, filter: Option<Filter>) -> String {
        fn shown(filter: &Filter) -> String {
            let inner = filter.inner.as_ref().map(|inner| shown(inner));
            format!("{:?} {:?} {inner:?}", filter.name, filter.owner)
        }
        filter.map_or_else(|| "none".to_owned(), |filter| shown(&filter))
    }
    async fn size(&self, size: Size) -> String {
        shown(&size)
    }
    async fn pick(&self, pick: Pick) -> String {
        shown_pick(&pick)
    }
}

fn shown(size: &Size) -> String {
    let picks: Option<Vec<_>> = size
        .picks
        .as_ref()
        .map(|picks| picks.iter().map(shown_pick).collect());
    let Size {
        height,
        width,
        unit,
        tags,
        ..
    } = size;
    format!("{height}x{width} {unit:?} {tags:?} {picks:?}")
}

fn shown_pick(pick: &Pick) -> String {
    match pick {
        Pick::Text(text) => format!("text {text}"),
        Pick::Number(number) => format!("number {number}"),
        Pick::Size(size) => format!("size {}", shown(size)),
    }
}

struct Query;

#[Object]
impl Query {
    async fn car(&self) -> Option<Car> {
        Some(Car)
    }
    async fn boat(&self) -> Option<Boat> {
        Some(Boat)
    }
    async fn person(&self) -> Option<Person> {
        Some(Person)
    }
    async fn vehicle(&self) -> Option<Vehicle> {
        Some(Vehicle::Car(Car))
    }
    async fn named(&self) -> Vec<Named> {
        vec![
            Named::Car(Car),
            Named::Boat(Boat),
            Named::Person(Person),
            Named::Robot(Robot),
        ]
    }
    async fn car_or_boat(&self) -> Option<CarOrBoat> {
        Some(CarOrBoat::Boat(Boat))
    }
    async fn car_or_person(&self) -> Option<CarOrPerson> {
        Some(CarOrPerson::Car(Car))
    }
    async fn person_or_robot(&self) -> Option<PersonOrRobot> {
        Some(PersonOrRobot::Robot(Robot))
    }
    async fn arguments(&self) -> Arguments {
        Arguments
    }
    async fn find(&self, pick: Option<Filter>) -> Option<Car> {
        pick.map(|_| Car)
    }
    async fn by_load(&self, loads: Option<Vec<Load>>) -> Option<Car> {
        loads.map(|_| Car)
    }
}

struct Mutation;

#[Object]
impl Mutation {
    async fn inc(&self, ctx: &Context<'_>) -> usize {
        counter(ctx).fetch_add(1, Ordering::SeqCst) + 1
    }
    async fn car(&self) -> Option<Car> {
        Some(Car)
    }
}

fn counter(ctx: &Context<'_>) -> Arc<AtomicUsize> {
    let counter = ctx.data_opt::<Arc<AtomicUsize>>();
    Arc::clone(counter.expect("the schema has the counter"))
}

struct Updates;

#[Subscription]
impl Updates {
    async fn ticks(&self) -> impl Stream<Item = i32> {
        stream::iter([1])
    }
    async fn cars(&self) -> impl Stream<Item = Car> {
        stream::iter([Car])
    }
}
