-- From version 1: when each site may be asked next, for the workers of all hosts.

CREATE UNLOGGED TABLE request_turns (   -- after a crash of the server it is empty
    site text PRIMARY KEY,
    next_at timestamptz NOT NULL
);
