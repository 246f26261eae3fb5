//! The table of results.

use serde::Serialize;

#[derive(Serialize)]
struct Row {
    what: String,
    value: f64,
    unit: &'static str,
    goal: Option<String>,
    met: Option<bool>,
}

/// What was measured.
#[derive(Default)]
pub(crate) struct Results {
    rows: Vec<Row>,
}

impl Results {
    /// A figure without a goal.
    pub(crate) fn figure(&mut self, what: impl Into<String>, value: f64, unit: &'static str) {
        self.rows.push(Row { what: what.into(), value, unit, goal: None, met: None });
    }

    /// A figure that should not be above `most`.
    pub(crate) fn at_most(
        &mut self,
        what: impl Into<String>,
        value: f64,
        unit: &'static str,
        most: f64,
    ) {
        self.rows.push(Row {
            what: what.into(),
            value,
            unit,
            goal: Some(format!("at most {most} {unit}")),
            met: Some(value <= most),
        });
    }

    /// A figure that should not be below `least`.
    pub(crate) fn at_least(
        &mut self,
        what: impl Into<String>,
        value: f64,
        unit: &'static str,
        least: f64,
    ) {
        self.rows.push(Row {
            what: what.into(),
            value,
            unit,
            goal: Some(format!("at least {least} {unit}")),
            met: Some(value >= least),
        });
    }

    pub(crate) fn json(&self) -> String {
        serde_json::to_string(&self.rows).unwrap_or_default()
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for row in &self.rows {
            let verdict = match row.met {
                Some(true) => "ok  ",
                Some(false) => "MISS",
                None => "    ",
            };
            let goal = row.goal.as_deref().unwrap_or("");
            text +=
                &format!("{verdict} {:<66} {:>12.3} {:<6} {goal}\n", row.what, row.value, row.unit);
        }
        text
    }
}
