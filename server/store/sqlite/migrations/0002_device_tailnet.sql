-- Whose tailnet login or tag a device's cookie belongs to; empty for a device
-- that was paired elsewhere.
ALTER TABLE devices ADD COLUMN tailnet TEXT NOT NULL DEFAULT '';
