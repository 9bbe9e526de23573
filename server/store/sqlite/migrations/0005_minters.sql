-- The id of the device or token that made it, empty for the console: revoking
-- one reaches what it made.
ALTER TABLE tokens ADD COLUMN minter TEXT NOT NULL DEFAULT '';
ALTER TABLE tickets ADD COLUMN minter TEXT NOT NULL DEFAULT '';
ALTER TABLE codes ADD COLUMN minter TEXT NOT NULL DEFAULT '';
ALTER TABLE devices ADD COLUMN minter TEXT NOT NULL DEFAULT '';
