//! The answer of `rich_render` to a call without blocks.

/// The blocks, for a model. `?` marks optional members.
pub const REFERENCE: &str = "\
Call rich_render with blocks, an array of objects that have a type:

text {text: Markdown}
metric {label, value, unit?, change?, trend?: up|down|flat}
card {title, subtitle?, text?, blocks?, buttons?}
chart {kind: bar|line|pie, labels: [names], series: [{name?, values: [numbers]}], title?, unit?}
progress {label, value, max?: 100}
timeline {items: [{title, time?, text?, state?: done|current|open}]}
alert {level: info|success|warning|error, text, title?}
badge {label, level?}
keyvalue {items: [{key, value}], title?}
columns {columns: [{blocks}]}
section {title, blocks, id?, collapsed?}
table {columns: [names], rows: [[cells]]}
buttons {buttons: [{label, action: callback|toggle|open_url|copy, value}]}
form {fields: [{name, label?, kind?: text|multiline|number|date|choice|checkbox, options?, value?, required?}], title?, submit?}

callback sends value as a message of the person, toggle shows or hides the section with the id value, open_url opens the web address value, copy copies value. A form sends what was entered as a message.
At most 100 blocks, 4 deep; 200 rows, 20 columns, 200 values.";
