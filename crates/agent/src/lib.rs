//! The loop: a model, its tools and a person, until the answer is there.
