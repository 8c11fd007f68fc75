//! sojourn._core (filled by the Python binding).
