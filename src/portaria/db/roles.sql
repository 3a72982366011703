-- Cluster-wide roles (spec 7, "Logins"). Run before the migrations, as the owner, in every migrate.
-- Several databases of one cluster may migrate at once: losing that race is success.
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['service_role', 'authenticated'] LOOP
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = wanted) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
            END;
        END IF;
    END LOOP;

    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'portaria_app') THEN
        BEGIN
            CREATE ROLE portaria_app LOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
        END;
    END IF;

    -- The application's login inherits the service's rights and may only SET the tenant's.
    IF NOT pg_has_role('portaria_app', 'service_role', 'MEMBER') THEN
        GRANT service_role TO portaria_app;
    END IF;
    IF NOT pg_has_role('portaria_app', 'authenticated', 'MEMBER') THEN
        IF current_setting('server_version_num')::integer >= 160000 THEN
            EXECUTE 'GRANT authenticated TO portaria_app WITH INHERIT FALSE, SET TRUE';
        ELSE
            GRANT authenticated TO portaria_app;
        END IF;
    END IF;

    -- One-shot commands given the owner's URL do SET ROLE service_role first.
    IF NOT pg_has_role(current_user, 'service_role', 'MEMBER') THEN
        EXECUTE format('GRANT service_role, authenticated TO %I', current_user);
    END IF;
END
$$;
