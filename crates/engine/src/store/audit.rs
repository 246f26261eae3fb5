//! The audit, in memory.

use std::collections::VecDeque;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use toolcrib_core::audit::{CHECKPOINT_RECORDS, Hash, LOCAL_CHAIN, chain_hash, genesis};
use toolcrib_core::{
    AuditCheckpoint, AuditEvent, AuditRow, AuditSigner, AuditStore, BoxFuture, CallId, Clock,
    StoreError, SystemClock, canonical_json,
};

/// Maximum number of records; the oldest are dropped first.
const KEPT: usize = 10_000;

/// An [`AuditStore`] that lives as long as the process and remembers the newest 10,000 records.
/// Older ones are dropped, with the checkpoints that cover nothing else; the remaining chain
/// verifies from its first record on.
pub struct MemoryAudit {
    state: Mutex<State>,
    signer: Option<Arc<dyn AuditSigner>>,
    clock: Arc<dyn Clock>,
}

struct State {
    rows: VecDeque<AuditRow>,
    /// The call of each record.
    calls: VecDeque<Option<CallId>>,
    /// Number and hash of the newest record.
    last: (u64, Hash),
    checkpoints: VecDeque<AuditCheckpoint>,
}

impl Default for MemoryAudit {
    fn default() -> Self {
        let state = State {
            rows: VecDeque::new(),
            calls: VecDeque::new(),
            last: (0, genesis(LOCAL_CHAIN)),
            checkpoints: VecDeque::new(),
        };
        Self { state: Mutex::new(state), signer: None, clock: Arc::new(SystemClock) }
    }
}

impl MemoryAudit {
    /// Creates an audit store with signed checkpoints, every 1,000 records and on request.
    #[must_use]
    pub fn signed_by(signer: Arc<dyn AuditSigner>) -> Self {
        Self { signer: Some(signer), ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sign(&self, state: &mut State) -> Option<AuditCheckpoint> {
        let signer = self.signer.as_ref()?;
        let (seq, head) = (state.last.0, canonical_json::hex(&state.last.1));
        if seq == state.signed() {
            return None;
        }
        let (chain, at) = (LOCAL_CHAIN, self.clock.now_ms());
        let signature =
            signer.sign(AuditCheckpoint::signing_payload(chain, seq, &head, at).as_bytes());
        let key = signer.public_key();
        let checkpoint = AuditCheckpoint { chain, seq, head, at, key, signature };
        state.checkpoints.push_back(checkpoint.clone());
        Some(checkpoint)
    }
}

impl State {
    /// Returns the number of the newest signed record.
    fn signed(&self) -> u64 {
        self.checkpoints.back().map_or(0, |checkpoint| checkpoint.seq)
    }

    fn append(&mut self, event: &AuditEvent) {
        let (chain, seq) = (LOCAL_CHAIN, self.last.0 + 1);
        let text = event.text(chain, seq);
        let hash = chain_hash(&self.last.1, &text);
        self.last = (seq, hash);
        self.rows.push_back(AuditRow { chain, seq, text, hash: canonical_json::hex(&hash) });
        self.calls.push_back(event.call);
        if self.rows.len() > KEPT {
            self.rows.pop_front();
            self.calls.pop_front();
        }
        let first = self.rows.front().map_or(0, |row| row.seq);
        while self.checkpoints.front().is_some_and(|oldest| oldest.seq < first) {
            self.checkpoints.pop_front();
        }
    }
}

impl AuditStore for MemoryAudit {
    fn append(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), StoreError>> {
        let mut state = self.lock();
        state.append(&event);
        if state.last.0 - state.signed() >= CHECKPOINT_RECORDS {
            self.sign(&mut state);
        }
        Box::pin(ready(Ok(())))
    }

    fn chains(&self) -> BoxFuture<'_, Result<Vec<(u64, u64)>, StoreError>> {
        let last = self.lock().last.0;
        Box::pin(ready(Ok(if last == 0 { Vec::new() } else { vec![(LOCAL_CHAIN, last)] })))
    }

    fn records(
        &self,
        chain: u64,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<AuditRow>, StoreError>> {
        let state = self.lock();
        // Numbers have no gaps, so the position of a record is known.
        let first = state.rows.front().map_or(1, |row| row.seq);
        let skipped = usize::try_from(after.saturating_add(1).saturating_sub(first));
        let rows = state.rows.iter().skip(skipped.unwrap_or(usize::MAX)).take(limit);
        let rows = if chain == LOCAL_CHAIN { rows.cloned().collect() } else { Vec::new() };
        Box::pin(ready(Ok(rows)))
    }

    fn records_of(&self, call: CallId) -> BoxFuture<'_, Result<Vec<AuditRow>, StoreError>> {
        let state = self.lock();
        let rows = state.rows.iter().zip(&state.calls);
        let rows = rows.filter(|(_, of)| **of == Some(call)).map(|(row, _)| row.clone());
        Box::pin(ready(Ok(rows.collect())))
    }

    fn checkpoint_now(&self) -> BoxFuture<'_, Result<Option<AuditCheckpoint>, StoreError>> {
        let made = self.sign(&mut self.lock());
        Box::pin(ready(Ok(made)))
    }

    fn checkpoints(&self, chain: u64) -> BoxFuture<'_, Result<Vec<AuditCheckpoint>, StoreError>> {
        let state = self.lock();
        let of_chain = state.checkpoints.iter().filter(|checkpoint| checkpoint.chain == chain);
        Box::pin(ready(Ok(of_chain.cloned().collect())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_audit::{AuditKey, Evidence, Start, TrustedKeys, verify};
    use toolcrib_core::{AuditKind, Context};

    fn event(at: i64, call: Option<CallId>) -> AuditEvent {
        AuditEvent { call, ..AuditEvent::new(AuditKind::Settled, at, Arc::new(Context::default())) }
    }

    #[tokio::test]
    async fn what_is_kept_verifies_although_the_oldest_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let key = Arc::new(AuditKey::open(folder.path()).unwrap());
        let keys = TrustedKeys::parse(&key.public_key()).unwrap();
        let audit = MemoryAudit::signed_by(key);
        assert!(audit.chains().await.unwrap().is_empty());
        assert_eq!(audit.checkpoint_now().await.unwrap(), None);
        let call = CallId::fresh();
        let total = KEPT as u64 + 1_500;
        for at in 0..total {
            let call = (at % 5_000 == 0).then_some(call);
            audit.append(event(i64::try_from(at).unwrap(), call)).await.unwrap();
        }
        assert_eq!(audit.chains().await.unwrap(), [(LOCAL_CHAIN, total)]);
        let of_call: Vec<u64> =
            audit.records_of(call).await.unwrap().iter().map(|row| row.seq).collect();
        assert_eq!(of_call, [5_001, 10_001], "1 is forgotten");
        let seqs = async |after, limit| {
            let rows = audit.records(LOCAL_CHAIN, after, limit).await.unwrap();
            rows.iter().map(|row| row.seq).collect::<Vec<_>>()
        };
        assert_eq!(seqs(0, 2).await, [1_501, 1_502]);
        assert_eq!(seqs(1_501, 2).await, [1_502, 1_503]);
        assert_eq!(seqs(total - 1, 9).await, [total]);
        assert!(seqs(total, 9).await.is_empty() && seqs(u64::MAX, 9).await.is_empty());
        assert!(audit.records(2, 0, 9).await.unwrap().is_empty());
        assert_eq!(audit.checkpoint_now().await.unwrap().unwrap().seq, total);
        assert_eq!(audit.checkpoint_now().await.unwrap(), None, "nothing new");
        let evidence = Evidence { keys, start: Start::Kept, ..Evidence::default() };
        let report = &verify(&audit, &evidence).await.unwrap()[0];
        assert!(report.is_sound() && report.remarks.is_empty(), "{report:?}");
        assert_eq!((report.records, report.signed, report.checkpoints), (KEPT as u64, total, 11));
        audit.lock().rows[77].text.push(' ');
        let report = &verify(&audit, &evidence).await.unwrap()[0];
        assert_eq!(report.findings[0].seq, 1_501 + 77);
    }
}
