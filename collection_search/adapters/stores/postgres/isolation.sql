-- The second line of isolation: a transaction sees the rows of the tenant that it was opened for.
-- The empty name stands for the work that goes over all tenants; without a name nothing is seen.

CREATE FUNCTION is_open(tenant text) RETURNS boolean STABLE PARALLEL SAFE LANGUAGE sql
    RETURN current_setting('collection_search.tenant', true) IN ('', tenant);

CREATE FUNCTION is_open() RETURNS boolean STABLE PARALLEL SAFE LANGUAGE sql
    RETURN coalesce(current_setting('collection_search.tenant', true) = '', FALSE);

ALTER TABLE staged ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON staged USING (is_open(tenant_id));

ALTER TABLE collections ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON collections USING (is_open(tenant_id));

ALTER TABLE sessions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON sessions USING (is_open(tenant_id));

ALTER TABLE gates ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON gates USING (is_open(tenant_id));

ALTER TABLE comparisons ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON comparisons USING (is_open(tenant_id));

ALTER TABLE documents ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON documents
    USING (is_open() OR collection_id IN (SELECT id FROM collections));

ALTER TABLE chunks ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON chunks
    USING (is_open() OR part IN (SELECT id FROM collections));

ALTER TABLE ledger ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON ledger
    USING (is_open() OR collection_id IN (SELECT id FROM collections));

ALTER TABLE tickets ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON tickets
    USING (is_open() OR collection_id IN (SELECT id FROM collections));

ALTER TABLE questions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON questions
    USING (is_open() OR collection_id IN (SELECT id FROM collections));

ALTER TABLE addresses ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON addresses
    USING (is_open() OR collection_id IN (SELECT id FROM collections));

ALTER TABLE crawls ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON crawls
    USING (is_open() OR collection_id IN (SELECT id FROM collections));

ALTER TABLE host_turns ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON host_turns
    USING (is_open() OR collection_id IN (SELECT id FROM collections));

ALTER TABLE ticket_rows ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON ticket_rows
    USING (is_open() OR EXISTS (SELECT 1 FROM tickets WHERE tickets.id = ticket_id));

ALTER TABLE session_candidates ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON session_candidates
    USING (is_open() OR EXISTS (SELECT 1 FROM sessions WHERE sessions.id = session_id));

ALTER TABLE gate_contents ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON gate_contents
    USING (is_open() OR EXISTS (SELECT 1 FROM gates WHERE gates.id = gate));

ALTER TABLE prepared_vectors ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON prepared_vectors
    USING (is_open() OR EXISTS (SELECT 1 FROM chunks WHERE chunks.id = chunk_id));

ALTER TABLE answers ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON answers USING (is_open(tenant_id));

ALTER TABLE spend ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON spend USING (is_open(tenant_id));

ALTER TABLE run_questions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON run_questions USING (is_open(tenant_id));

ALTER TABLE runs ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON runs USING (is_open(tenant_id));

ALTER TABLE events ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY of_tenant ON events
    USING (is_open() OR EXISTS (SELECT 1 FROM runs WHERE runs.id = run));
