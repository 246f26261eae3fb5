-- Notifications. `body` has all that is in no column.

CREATE TABLE notifications (
    id         TEXT    NOT NULL PRIMARY KEY,
    owner      TEXT    NOT NULL,
    tag        TEXT,
    created_at INTEGER NOT NULL,
    body       TEXT    NOT NULL
) STRICT;

CREATE INDEX notifications_of_owner ON notifications (owner, id);
CREATE INDEX notifications_by_time ON notifications (created_at);
