//! What the tests of idem share.
