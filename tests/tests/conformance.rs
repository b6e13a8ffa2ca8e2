//! The memory backend passes the conformance suite that every backend has to pass.

use idem_runtime::MemoryBackend;
use idem_runtime::testing::conformance;

conformance!(memory, async { MemoryBackend::new() });
