"""How the code runs: synchronous and asynchronous, observed, with a garbage collector."""
