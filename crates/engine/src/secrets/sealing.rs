//! Sealing for stored calls: arguments that contain a secret are sealed, and opened again when the
//! call resumes.
#![deny(clippy::indexing_slicing)]

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::Value;
use toolcrib_core::seal::SEALED;
use toolcrib_core::{Batch, Decision, DecisionRecord, RawArgs, SealError, Sealer};

use super::Secrets;

/// The known secrets, and the sealer for texts that contain one.
#[derive(Clone)]
pub struct Sealing {
    /// The secrets.
    pub secrets: Secrets,
    sealer: Arc<dyn Sealer>,
}

impl Default for Sealing {
    /// Creates a sealing without secrets, with a key that ends with the process.
    fn default() -> Self {
        Self::new(Secrets::default(), Arc::new(ProcessSealer::default()))
    }
}

impl Sealing {
    /// Creates a sealing of these secrets with this key.
    #[must_use]
    pub fn new(secrets: Secrets, sealer: Arc<dyn Sealer>) -> Self {
        Self { secrets, sealer }
    }

    /// Returns the sealed text to store; `None` if the text contains no secret and can be stored
    /// unchanged.
    ///
    /// # Errors
    /// [`SealError`] if it cannot be sealed.
    pub fn seal(&self, text: &str) -> Result<Option<String>, SealError> {
        if self.must_seal(text) { self.seal_always(text).map(Some) } else { Ok(None) }
    }

    /// Returns whether a text must be sealed because it contains a secret. A text that looks like a
    /// sealed one is sealed too, so that every text of that form can be opened.
    #[must_use]
    pub fn must_seal(&self, text: &str) -> bool {
        self.secrets.occurs_in(text) || text.starts_with(SEALED)
    }

    /// Seals a text regardless of its content.
    ///
    /// # Errors
    /// [`SealError`] if it cannot be sealed.
    pub fn seal_always(&self, text: &str) -> Result<String, SealError> {
        self.sealer.seal(text)
    }

    /// Opens a stored text if it is sealed, and otherwise returns it unchanged.
    ///
    /// # Errors
    /// [`SealError`] if it cannot be opened.
    pub fn open_if_sealed(&self, kept: String) -> Result<String, SealError> {
        if kept.starts_with(SEALED) { self.open(&kept) } else { Ok(kept) }
    }

    /// Opens a sealed text.
    ///
    /// # Errors
    /// [`SealError`] if it cannot be opened.
    pub fn open(&self, sealed: &str) -> Result<String, SealError> {
        self.sealer.open(sealed)
    }

    /// Seals arguments for the store, if they contain a secret.
    pub(crate) fn seal_args(&self, args: RawArgs) -> Result<RawArgs, SealError> {
        let holds = match &args {
            RawArgs::Text(text) | RawArgs::Broken(text) => self.secrets.occurs_in(text),
            RawArgs::Value(value) => self.secrets.occurs_in_json(value),
            RawArgs::Sealed(_) => false,
        };
        if !holds {
            return Ok(args);
        }
        self.sealer.seal(&serde_json::to_string(&args).map_err(written)?).map(RawArgs::Sealed)
    }

    /// Restores stored arguments.
    pub(crate) fn open_args(&self, args: RawArgs) -> Result<RawArgs, SealError> {
        match args {
            RawArgs::Sealed(sealed) => serde_json::from_str(&self.open(&sealed)?).map_err(written),
            args => Ok(args),
        }
    }

    /// Returns the batch with sealed arguments, for the store.
    pub(crate) fn seal_batch(&self, batch: &Batch) -> Result<Batch, SealError> {
        let mut kept = batch.clone();
        for call in &mut kept.calls {
            let args = std::mem::replace(&mut call.args, RawArgs::Value(Value::Null));
            call.args = self.seal_args(args)?;
        }
        Ok(kept)
    }

    /// Prepares a decision for the store: texts are masked, and arguments that contain a secret
    /// become one sealed text.
    ///
    /// # Errors
    /// [`SealError`] if it cannot be sealed, or if it would create a grant for arguments that
    /// contain a secret.
    pub fn seal_decision(&self, record: DecisionRecord) -> Result<DecisionRecord, SealError> {
        let mask = |text: String| self.secrets.mask(text);
        let decision = match record.decision {
            Decision::Deny { note } => Decision::Deny { note: note.map(mask) },
            Decision::Answer { text } => Decision::Answer { text: mask(text) },
            Decision::Edit { args } if self.secrets.occurs_in_json(&args) => {
                Decision::Edit { args: Value::String(self.sealer.seal(&args.to_string())?) }
            }
            Decision::Approve { only, .. }
                if only.values().any(|glob| self.secrets.occurs_in(glob)) =>
            {
                return Err(SealError(
                    "an approval cannot be remembered for arguments that hold a secret".to_owned(),
                ));
            }
            decision => decision,
        };
        Ok(DecisionRecord { decision, ..record })
    }

    /// Restores the arguments of an edit as the person wrote them.
    pub(crate) fn open_edit(&self, args: &Value) -> Result<Value, SealError> {
        match args {
            // Arguments are objects; a text is a sealed object.
            Value::String(sealed) => serde_json::from_str(&self.open(sealed)?).map_err(written),
            args => Ok(args.clone()),
        }
    }
}

fn written(_: serde_json::Error) -> SealError {
    // The error text could repeat a part of the sealed text.
    SealError("it is not in the form that was sealed".to_owned())
}

/// A sealer whose key ends with the process: no other process can open its texts.
struct ProcessSealer {
    key: Option<LessSafeKey>,
}

/// Marks texts of this sealer, after the prefix of every sealed text; base64 contains no dot.
const PROCESS_PREFIX: &str = "process.";

impl Default for ProcessSealer {
    fn default() -> Self {
        let mut key = [0; 32];
        let filled = SystemRandom::new().fill(&mut key);
        let key = filled.and_then(|()| UnboundKey::new(&AES_256_GCM, &key));
        Self { key: key.ok().map(LessSafeKey::new) }
    }
}

impl ProcessSealer {
    fn key(&self) -> Result<&LessSafeKey, SealError> {
        self.key.as_ref().ok_or_else(no_randomness)
    }
}

fn no_randomness() -> SealError {
    SealError("the system's random number generator failed".to_owned())
}

impl Sealer for ProcessSealer {
    fn seal(&self, text: &str) -> Result<String, SealError> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| no_randomness())?;
        let mut sealed = text.as_bytes().to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        self.key()?
            .seal_in_place_append_tag(unique, Aad::empty(), &mut sealed)
            .map_err(|_| SealError("it is too long to be sealed".to_owned()))?;
        Ok(format!(
            "{SEALED}{PROCESS_PREFIX}{}",
            URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat())
        ))
    }

    fn open(&self, sealed: &str) -> Result<String, SealError> {
        let wrong = || SealError("another process sealed it, and its key is gone".to_owned());
        let text = sealed.strip_prefix(SEALED).and_then(|text| text.strip_prefix(PROCESS_PREFIX));
        let text = text.ok_or_else(wrong)?;
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| wrong())?;
        let (nonce, rest) = bytes.split_first_chunk::<NONCE_LEN>().ok_or_else(wrong)?;
        let (unique, mut rest) = (Nonce::assume_unique_for_key(*nonce), rest.to_vec());
        let opened = self.key()?.open_in_place(unique, Aad::empty(), &mut rest);
        let opened = opened.map_err(|_| wrong())?;
        String::from_utf8(opened.to_vec()).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toolcrib_core::GrantScope;

    fn sealing() -> Sealing {
        let sealing = Sealing::default();
        sealing.secrets.add(["s3cr3t-value"]);
        sealing
    }

    #[test]
    fn only_what_holds_a_secret_is_sealed_and_opens_again() {
        let sealing = sealing();
        let check = |args: RawArgs, seals: bool| {
            let kept = sealing.seal_args(args.clone()).unwrap();
            assert_eq!(matches!(kept, RawArgs::Sealed(_)), seals, "{kept:?}");
            assert!(!serde_json::to_string(&kept).unwrap().contains("s3cr3t"));
            assert_eq!(sealing.open_args(kept).unwrap(), args);
        };
        check(RawArgs::Text("{\"a\": \"s3cr3t-value\"".into()), true);
        check(RawArgs::Value(json!({"a": ["s3cr3t-value"]})), true);
        check(RawArgs::Broken("cut at s3cr3t-value".into()), true);
        check(RawArgs::Value(json!({"a": 1})), false);
        assert!(sealing.open_args(RawArgs::Sealed("x".into())).is_err());
        assert_eq!(sealing.seal("plain").unwrap(), None);
        let looks_so = sealing.seal("toolcrib-sealed-1.x").unwrap().unwrap();
        assert_eq!(sealing.open_if_sealed(looks_so).unwrap(), "toolcrib-sealed-1.x");
        assert_eq!(sealing.open_if_sealed("plain".into()).unwrap(), "plain");
        let sealed = sealing.seal("a s3cr3t-value").unwrap().unwrap();
        assert_eq!(sealing.open(&sealed).unwrap(), "a s3cr3t-value");
        assert!(Sealing::default().open(&sealed).is_err(), "of another process");
    }

    #[test]
    fn decisions_are_kept_without_secrets() {
        let sealing = sealing();
        let check = |decision: Decision| {
            let record = DecisionRecord { decision, decided_by: "ann".into(), decided_at: 1 };
            let kept = sealing.seal_decision(record).unwrap();
            assert!(!serde_json::to_string(&kept).unwrap().contains("s3cr3t"));
            kept.decision
        };
        let note = check(Decision::Deny { note: Some("not s3cr3t-value".into()) });
        assert_eq!(note, Decision::Deny { note: Some("not ***".into()) });
        check(Decision::Answer { text: "s3cr3t-value".into() });
        let args = json!({"key": "s3cr3t-value"});
        let Decision::Edit { args: kept } = check(Decision::Edit { args: args.clone() }) else {
            panic!("it stays an edit")
        };
        assert_eq!(sealing.open_edit(&kept).unwrap(), args);
        assert_eq!(sealing.open_edit(&json!({"a": 1})).unwrap(), json!({"a": 1}));
        let only = [("key".to_owned(), "s3cr3t-value*".to_owned())].into();
        let decision = Decision::Approve { scope: GrantScope::Always, only, taint: false };
        let record = DecisionRecord { decision, decided_by: "ann".into(), decided_at: 1 };
        assert!(sealing.seal_decision(record).is_err());
    }
}
