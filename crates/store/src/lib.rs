//! The stores on disk: SQLite behind the store traits of `core`.
