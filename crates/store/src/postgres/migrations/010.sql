-- Notifications. `body` has all that is in no column.

CREATE TABLE notifications (
    id         text   COLLATE "C" PRIMARY KEY,
    owner      text   COLLATE "C" NOT NULL,
    tag        text   COLLATE "C",
    created_at bigint NOT NULL,
    body       text   COLLATE "C" NOT NULL
);

CREATE INDEX notifications_of_owner ON notifications (owner, id);
CREATE INDEX notifications_by_time ON notifications (created_at);
