-- One file: the runs of the HTTP server and their events.

CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,   -- the order of their beginning
    run_id TEXT NOT NULL UNIQUE,
    tenant_id TEXT NOT NULL,
    collection TEXT NOT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('running', 'waiting', 'done', 'failed', 'cancelled', 'interrupted')),
    owner TEXT NOT NULL,                -- empty: nobody executes it or cleans up after it
    created_at REAL NOT NULL,
    ended_at REAL,
    outcome TEXT,
    gate_id TEXT,
    facts TEXT NOT NULL,                -- JSON: what was asked, and by whom
    error TEXT,                         -- JSON
    output TEXT,                        -- JSON
    pages TEXT,                         -- JSON
    last_event INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX runs_of_tenant ON runs (tenant_id, id);
CREATE INDEX runs_at_work ON runs (id) WHERE status = 'running' OR owner != '';

CREATE TABLE events (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,            -- from 1, without gaps
    type TEXT NOT NULL,
    data TEXT NOT NULL,                 -- JSON
    PRIMARY KEY (run, number)
) WITHOUT ROWID;

-- Servers that are alive: the runs of one whose lease has run out are left to the others.
CREATE TABLE run_leases (
    owner TEXT PRIMARY KEY,
    until REAL NOT NULL
) WITHOUT ROWID;
