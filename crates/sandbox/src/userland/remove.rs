//! The end of a userland.

use std::fs;

use super::Userland;
use super::error::UserlandError;
use super::place;
use super::state::State;

impl Userland {
    /// Removes everything of it, half installed or whole; of its home too, if that is wanted. `false` = there was nothing.
    ///
    /// # Errors
    /// [`UserlandError::Busy`], or what the system refuses; then it is called broken, and may be removed again.
    pub fn uninstall(&self, home_too: bool) -> Result<bool, UserlandError> {
        let store = self.store();
        let was = store.folder().is_dir();
        if was {
            let lock = store.lock()?;
            store.set(&State::Broken { reason: "it was not removed to the end".to_owned() })?;
            for entry in fs::read_dir(store.folder()).map_err(UserlandError::at(store.folder()))? {
                let path = entry.map_err(UserlandError::at(store.folder()))?.path();
                // What says so goes last.
                if !path.ends_with("state.json") && !path.ends_with("lock") {
                    place::clear(&path).map_err(UserlandError::at(&path))?;
                }
            }
            place::clear(store.folder()).map_err(UserlandError::at(store.folder()))?;
            drop(lock);
        }
        let had_home = home_too && self.home.is_dir();
        if had_home {
            place::clear(&self.home).map_err(UserlandError::at(&self.home))?;
        }
        Ok(was || had_home)
    }
}
