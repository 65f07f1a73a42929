-- From version 4: comparisons of two ranking profiles.

CREATE TABLE comparisons (
    id INTEGER PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    collection TEXT NOT NULL,
    compared_at REAL NOT NULL,
    facts TEXT NOT NULL                 -- JSON
);
CREATE INDEX comparisons_by_collection ON comparisons (tenant_id, collection);
