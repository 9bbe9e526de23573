package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migration is one numbered step. Steps only go forward.
type migration struct {
	number int
	name   string
	sql    string
}

func loadMigrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	list := make([]migration, 0, len(names))
	for i, path := range names {
		name := strings.TrimSuffix(strings.TrimPrefix(path, "migrations/"), ".sql")
		digits, _, _ := strings.Cut(name, "_")
		number, err := strconv.Atoi(digits)
		if err != nil || number != i+1 {
			return nil, fmt.Errorf("migration %s: want number %d", name, i+1)
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, err
		}
		list = append(list, migration{number: number, name: name, sql: string(text)})
	}
	return list, nil
}

// migrate applies what is missing, each step in a transaction that also
// records it. Another process may do the same at the same time: the step's
// transaction has the write lock, and looks again before it acts.
func migrate(ctx context.Context, db *sql.DB) error {
	steps, err := loadMigrations(migrations)
	if err != nil {
		return err
	}
	return applyMigrations(ctx, db, steps)
}

func applyMigrations(ctx context.Context, db *sql.DB, steps []migration) error {
	const table = `CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`
	if _, err := db.ExecContext(ctx, table); err != nil {
		return fmt.Errorf("migrations table: %w", err)
	}
	newest, err := newestMigration(ctx, db)
	if err != nil {
		return err
	}
	if newest > len(steps) {
		return fmt.Errorf("a newer agent-helm-server has written it (schema %d, this program knows %d): update this program", newest, len(steps))
	}
	for _, step := range steps[newest:] {
		if err := applyMigration(ctx, db, step); err != nil {
			return fmt.Errorf("migration %s: %w", step.name, err)
		}
	}
	return nil
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func newestMigration(ctx context.Context, db queryer) (int, error) {
	var newest int
	if err := db.QueryRowContext(ctx, "SELECT coalesce(max(number), 0) FROM migrations").Scan(&newest); err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	return newest, nil
}

func applyMigration(ctx context.Context, db *sql.DB, step migration) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // a no-op after Commit; before it the first error counts
	newest, err := newestMigration(ctx, tx)
	if err != nil {
		return err
	}
	if newest >= step.number {
		return nil
	}
	if _, err := tx.ExecContext(ctx, step.sql); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO migrations (number, name, applied_at) VALUES (?, ?, unixepoch() * 1000)", step.number, step.name); err != nil {
		return err
	}
	return tx.Commit()
}

// SchemaVersion is the number of the newest migration that was applied.
func (s *Store) SchemaVersion(ctx context.Context) (int, error) {
	return newestMigration(ctx, s.reader)
}
