//! Where the keys of pairings are kept.

/// The vault, for the keys of apps and devices. Calls may block.
pub trait KeyVault: Send + Sync {
    /// Returns a value.
    ///
    /// # Errors
    /// Why the vault cannot be read.
    fn get(&self, name: &str) -> Result<Option<String>, String>;

    /// Stores a value.
    ///
    /// # Errors
    /// Why the vault cannot be written.
    fn set(&self, name: &str, value: &str) -> Result<(), String>;

    /// Removes a value.
    ///
    /// # Errors
    /// Why the vault cannot be written.
    fn remove(&self, name: &str) -> Result<(), String>;

    /// Masks a value in all output of this process.
    fn mask(&self, value: &str);
}
