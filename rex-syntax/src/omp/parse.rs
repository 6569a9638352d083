//! Reads the text of a directive into the model.
