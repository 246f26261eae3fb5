-- An expired lease alone is no death: after an outage of this server every lease has expired. Another process first notes that it saw one
-- expired, and the holder has five seconds from then to renew it, which it tries every second.

ALTER TABLE workers ADD COLUMN suspected_at timestamptz;

CREATE OR REPLACE FUNCTION works(of bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT of = 0 OR EXISTS (
        SELECT FROM workers WHERE epoch = of AND state = 'working' AND (
            expires_at > clock_timestamp() OR suspected_at IS NULL OR suspected_at < expires_at
            OR suspected_at > clock_timestamp() - interval '5 seconds'
        )
    )
$$;
