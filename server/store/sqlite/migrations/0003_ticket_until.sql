-- When the device that a ticket pairs ends, 0 for as long as any other: a
-- guest's link gives an hour, whenever in it the link is opened.
ALTER TABLE tickets ADD COLUMN device_until INTEGER NOT NULL DEFAULT 0;
