//! Runs of scripted models.

use serde_json::Value;

use super::TestEnv;
use super::test_env::Ended;

impl TestEnv {
    /// Writes a script of these turns (YAML) beside the workspace; returns the option that selects
    /// it.
    pub(crate) fn script(&self, name: &str, turns: &str) -> String {
        let path = self.outside().join(format!("{name}.yaml"));
        std::fs::write(&path, format!("version: 1\nturns:\n{turns}")).unwrap();
        format!("scripted:{}", path.display())
    }

    /// Runs `run --model SCRIPT MORE… TASK` with a script of these turns.
    #[track_caller]
    pub(crate) fn play(&self, turns: &str, more: &[&str]) -> Ended {
        let model = self.script("script", turns);
        self.run(&[&["run", "--model", &model], more, &["Do it"]].concat())
    }

    /// Writes a file of the person's own configuration folder.
    pub(crate) fn own(&self, path: &str, text: &str) {
        let path = self.outside().join("home").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// Returns the events of one type.
pub(crate) fn of_type<'e>(events: &'e [Value], name: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["type"] == name).collect()
}
