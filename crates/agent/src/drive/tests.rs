//! The driver with scripted models and a real engine.
