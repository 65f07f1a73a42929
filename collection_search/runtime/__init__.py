"""Runtime support: bridges between sync and async code, tracing, garbage collection."""
