//! The blocks of a card. Nested blocks are values here: [`super::decode()`] checks each by the
//! schema of its own type, so that an error names one block and not a choice of fifteen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The schema of nested blocks.
type Objects = Vec<Map<String, Value>>;

/// A block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum CardBlock {
    /// Markdown.
    Text(Text),
    /// One figure.
    Metric(Metric),
    /// A box with a title.
    Card(Card),
    /// A chart.
    Chart(Chart),
    /// The progress of an activity.
    Progress(Progress),
    /// Steps in chronological order.
    Timeline(Timeline),
    /// A highlighted message.
    Alert(Alert),
    /// A highlighted word.
    Badge(Badge),
    /// Names with values.
    KeyValue(KeyValue),
    /// Blocks side by side.
    Columns(Columns),
    /// Blocks under a title.
    Section(Section),
    /// A table.
    Table(Table),
    /// Buttons in a row.
    Buttons(Buttons),
    /// Fields that the person fills in.
    Form(Form),
}

/// Markdown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Text {
    /// The text.
    pub text: String,
}

/// Which way a figure went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Trend {
    /// It rose.
    Up,
    /// It fell.
    Down,
    /// It stayed.
    Flat,
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// What it is.
    pub label: String,
    /// The figure as text, such as "12,400".
    pub value: String,
    /// Its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The change, such as "+4 %".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// Which way it went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trend: Option<Trend>,
}

/// A box with a title.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Card {
    /// Its title.
    pub title: String,
    /// A line below the title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtitle: Option<String>,
    /// Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Blocks in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<Objects>")]
    pub blocks: Vec<CardBlock>,
    /// Buttons at its end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Button>,
}

/// How values are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChartKind {
    /// Bars.
    Bar,
    /// A line.
    Line,
    /// Parts of a whole.
    Pie,
}

/// A chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chart {
    /// How values are drawn.
    pub kind: ChartKind,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Names of the values, as many as each series has.
    pub labels: Vec<String>,
    /// The values.
    pub series: Vec<Series>,
    /// Their unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// Values of a chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Their name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The values.
    pub values: Vec<f64>,
}

/// How far something is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// Its subject.
    pub label: String,
    /// How far it is.
    pub value: f64,
    /// Where it ends. Default: 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// It is over.
    Done,
    /// It goes on now.
    Current,
    /// It is to come.
    Open,
}

/// Steps in the order of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// The steps.
    pub items: Vec<Step>,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// What it is.
    pub title: String,
    /// When it is, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StepState>,
}

/// What a message or a word means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// News.
    #[default]
    Info,
    /// It went well.
    Success,
    /// The person should look.
    Warning,
    /// It went wrong.
    Error,
}

/// A message that stands out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alert {
    /// What it means. Default: info.
    #[serde(default)]
    pub level: Level,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The message.
    pub text: String,
}

/// A word that stands out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Badge {
    /// The word.
    pub label: String,
    /// What it means. Default: info.
    #[serde(default)]
    pub level: Level,
}

/// Names with values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeyValue {
    /// Their title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The names with values.
    pub items: Vec<KeyValueItem>,
}

/// A name with a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeyValueItem {
    /// The name.
    pub key: String,
    /// The value as text.
    pub value: String,
}

/// Blocks side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Columns {
    /// The columns.
    pub columns: Vec<Column>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Column {
    /// Its blocks.
    #[schemars(with = "Objects")]
    pub blocks: Vec<CardBlock>,
}

/// Blocks under a title.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Section {
    /// Its title.
    pub title: String,
    /// Its name, for a button that shows or hides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether it is closed at first.
    #[serde(default)]
    pub collapsed: bool,
    /// Its blocks.
    #[schemars(with = "Objects")]
    pub blocks: Vec<CardBlock>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows, each with as many cells as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// What a button does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Sends `value` as a message of the person.
    Callback,
    /// Shows or hides the section with the id `value`.
    Toggle,
    /// Opens the web address `value`.
    OpenUrl,
    /// Copies the text `value`.
    Copy,
}

/// A button.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Button {
    /// Its words.
    pub label: String,
    /// What it does: callback sends value as a message, toggle shows or hides the section with the
    /// id value, open_url opens the web address value, copy copies value.
    pub action: Action,
    /// The message, id, address or text.
    pub value: String,
}

/// Buttons in a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Buttons {
    /// The buttons.
    pub buttons: Vec<Button>,
}

/// What is entered in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FieldKind {
    /// A line.
    #[default]
    Text,
    /// Several lines.
    Multiline,
    /// A number.
    Number,
    /// A day.
    Date,
    /// One of `options`.
    Choice,
    /// Yes or no.
    Checkbox,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FormField {
    /// Its name in the answer.
    pub name: String,
    /// Its words. Default: the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What is entered. Default: text.
    #[serde(default)]
    pub kind: FieldKind,
    /// What a choice has to choose from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// What is entered at first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether it must be filled in.
    #[serde(default)]
    pub required: bool,
}

/// Fields that the person fills in. What is entered is sent as a message of the person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Form {
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The fields.
    pub fields: Vec<FormField>,
    /// Words of its button. Default: OK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit: Option<String>,
}
