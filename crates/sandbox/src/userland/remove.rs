//! Removes a userland.

use std::fs;

use super::Userland;
use super::atomic_folder;
use super::error::UserlandError;
use super::state::State;

impl Userland {
    /// Removes everything, complete or not, and the home folder if requested. `false` if there was
    /// nothing.
    ///
    /// # Errors
    /// [`UserlandError::Busy`], or the system's error; the state is then `broken`, and removal can
    /// be repeated.
    pub fn uninstall(&self, home_too: bool) -> Result<bool, UserlandError> {
        let store = self.store();
        let was = store.folder().is_dir();
        if was {
            let lock = store.lock()?;
            store.set(&State::Broken { reason: "it was not removed to the end".to_owned() })?;
            for entry in
                fs::read_dir(store.folder()).map_err(UserlandError::io_at(store.folder()))?
            {
                let path = entry.map_err(UserlandError::io_at(store.folder()))?.path();
                // The state file is removed last.
                if !path.ends_with("state.json") && !path.ends_with("lock") {
                    atomic_folder::remove_all(&path).map_err(UserlandError::io_at(&path))?;
                }
            }
            atomic_folder::remove_all(store.folder())
                .map_err(UserlandError::io_at(store.folder()))?;
            drop(lock);
        }
        let had_home = home_too && self.home.is_dir();
        if had_home {
            atomic_folder::remove_all(&self.home).map_err(UserlandError::io_at(&self.home))?;
        }
        Ok(was || had_home)
    }
}
