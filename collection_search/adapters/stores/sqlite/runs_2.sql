-- From version 1: servers have leases.

-- Servers that are alive: the runs of one whose lease has run out are left to the others.
CREATE TABLE run_leases (
    owner TEXT PRIMARY KEY,
    until REAL NOT NULL
) WITHOUT ROWID;
