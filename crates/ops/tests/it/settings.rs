//! Operations on the configuration.

use std::sync::Mutex;

use toolcrib_app::Secrets;
use toolcrib_core::BoxFuture;
use toolcrib_core::audit::LOCAL_CHAIN;
use toolcrib_ops::administration::Recorder;
use toolcrib_ops::settings::{
    self, ChangeSettingRequest, Configuration, Reloaded, SECRET_MASK, SettingRow,
};
use toolcrib_ops::{ErrorClass, OpError};

use crate::fixture::Fixture;

/// A configuration file with one key, `limits.calls`, which a reload applies.
#[derive(Default)]
pub(crate) struct OneKey {
    file: Mutex<Option<String>>,
    in_force: Mutex<Option<String>>,
    pub(crate) reloads: Mutex<usize>,
}

impl Configuration for OneKey {
    fn settings(&self) -> Result<Vec<SettingRow>, OpError> {
        let row = |value: String| SettingRow {
            key: "limits.calls".to_owned(),
            value: value.into(),
            layer: "user".to_owned(),
            origin: "config.toml:1".to_owned(),
            secret: false,
            live: true,
        };
        Ok(self.in_force.lock().unwrap().clone().map(row).into_iter().collect())
    }

    fn write(&self, key: &str, value: Option<&str>) -> Result<(), OpError> {
        if key != "limits.calls" {
            return Err(OpError::Invalid(format!("{key}: unknown key")));
        }
        *self.file.lock().unwrap() = value.map(str::to_owned);
        Ok(())
    }

    fn reload(&self) -> BoxFuture<'_, Result<Reloaded, OpError>> {
        Box::pin(async {
            let file = self.file.lock().unwrap().clone();
            if file.as_deref() == Some("bad") {
                return Err(OpError::Unusable("bad is not a number".to_owned()));
            }
            *self.in_force.lock().unwrap() = file;
            *self.reloads.lock().unwrap() += 1;
            Ok(Reloaded { needs_restart: vec!["server".to_owned()], ..Reloaded::default() })
        })
    }
}

#[tokio::test]
async fn a_key_is_set_and_removed_in_force_and_without_its_value_in_the_audit() {
    let fixture = Fixture::new().await;
    let (configuration, secrets) = (OneKey::default(), Secrets::default());
    let recorder = Recorder::Audit { store: fixture.store(), secrets: &secrets };
    let change = async |key: &str, value: Option<&str>| {
        let request = ChangeSettingRequest { key: key.to_owned(), value: value.map(str::to_owned) };
        settings::change(&configuration, &recorder, request).await
    };
    let changed = change("limits.calls", Some("7-as-text")).await.unwrap();
    assert_eq!(changed.setting.as_ref().map(|row| &row.value), Some(&"7-as-text".into()));
    assert_eq!(changed.reloaded.needs_restart, ["server"]);
    assert_eq!(settings::list(&configuration).unwrap(), [changed.setting.unwrap()]);
    // Writing the mask back keeps the value.
    let kept = change("limits.calls", Some(SECRET_MASK)).await.unwrap();
    assert_eq!(kept.setting.map(|row| row.value), Some("7-as-text".into()));
    assert_eq!(*configuration.reloads.lock().unwrap(), 1);
    assert_eq!(change("limits.call", Some("7")).await.unwrap_err().class(), ErrorClass::Invalid);
    let unusable = change("limits.calls", Some("bad")).await.unwrap_err();
    assert!(unusable.to_string().contains("is written"), "{unusable}");
    assert_eq!(change("limits.calls", None).await.unwrap().setting, None);
    assert_eq!(settings::reload(&configuration, &recorder).await.unwrap().remarks, [""; 0]);
    let records = fixture.toolcrib.stores().audit.records(LOCAL_CHAIN, 0, 100).await.unwrap();
    let texts: Vec<&str> = records.iter().map(|record| record.text.as_str()).collect();
    for (act, times) in [("setting.set", 2), ("setting.unset", 1), ("settings.reload", 1)] {
        assert_eq!(texts.iter().filter(|text| text.contains(act)).count(), times, "{act}");
    }
    assert!(!texts.concat().contains("7-as-text"), "{texts:?}");
}
