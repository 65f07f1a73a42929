-- The functions of SQLite that the shared statements call. JSON is stored as text.

CREATE FUNCTION json_path(path text) RETURNS text[] IMMUTABLE PARALLEL SAFE LANGUAGE sql
    RETURN string_to_array(substr(path, 3), '.');

CREATE FUNCTION json_extract(document text, path text) RETURNS text
    IMMUTABLE PARALLEL SAFE LANGUAGE sql
    RETURN document::json #>> json_path(path);

CREATE FUNCTION json_set(document text, path text, value text) RETURNS text
    IMMUTABLE PARALLEL SAFE LANGUAGE sql
    RETURN jsonb_set(document::jsonb, json_path(path), coalesce(to_jsonb(value), 'null'::jsonb))::text;

CREATE FUNCTION json_remove(document text, path text) RETURNS text
    IMMUTABLE PARALLEL SAFE LANGUAGE sql
    RETURN (document::jsonb #- json_path(path))::text;

CREATE FUNCTION json_valid(document text) RETURNS boolean
    IMMUTABLE PARALLEL SAFE LANGUAGE sql
    RETURN document IS JSON;

CREATE FUNCTION json_array_length(document text, path text) RETURNS integer
    IMMUTABLE PARALLEL SAFE LANGUAGE sql
    RETURN coalesce(json_array_length(document::json #> json_path(path)), 0);

CREATE FUNCTION json_values(document text) RETURNS TABLE (value text)
    IMMUTABLE PARALLEL SAFE STRICT LANGUAGE sql ROWS 20
    BEGIN ATOMIC
        SELECT one FROM json_array_elements_text(document::json) AS one;
    END;

CREATE FUNCTION json_values(document text, path text) RETURNS TABLE (value text)
    IMMUTABLE PARALLEL SAFE STRICT LANGUAGE sql ROWS 20
    BEGIN ATOMIC
        SELECT one FROM json_array_elements_text(document::json #> json_path(path)) AS one;
    END;

CREATE FUNCTION json_append(list jsonb, value text) RETURNS jsonb
    IMMUTABLE PARALLEL SAFE LANGUAGE sql
    RETURN list || jsonb_build_array(value);

CREATE FUNCTION json_written(list jsonb) RETURNS text
    IMMUTABLE PARALLEL SAFE LANGUAGE sql
    RETURN list::text;

CREATE AGGREGATE json_group_array (text) (
    SFUNC = json_append, STYPE = jsonb, INITCOND = '[]', FINALFUNC = json_written);

CREATE FUNCTION instr(whole text, part text) RETURNS integer
    IMMUTABLE PARALLEL SAFE LANGUAGE sql
    RETURN strpos(whole, part);

CREATE FUNCTION host_of(url text) RETURNS text
    IMMUTABLE PARALLEL SAFE LANGUAGE sql
    RETURN lower(split_part(replace(substr(url, strpos(url, '://') + 3), '?', '/'), '/', 1));
