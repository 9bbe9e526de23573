// Package sqlite keeps the server's store in one SQLite database, in WAL mode,
// inside the data directory. It owns the database file, its migrations and the
// lock that keeps a second server off the directory; it decides nothing about
// who may do what. server/cmd opens it once per process; commands on the same
// directory open it beside a running server. It lives until Close.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/agent-helm/agent-helm/server"
)

// Names inside the data directory.
const (
	DatabaseName = "agent-helm.db"
	lockName     = "server.lock"
)

// busyTimeout is how long a write waits for another process's write. Writes
// take milliseconds; a state of many megabytes on an SD card takes seconds.
const busyTimeout = 10 * time.Second

// readers is how many reads may run beside each other.
const readers = 4

// Options choose how to open a store.
type Options struct {
	// Server takes the lock of the data directory: at most one server at a time.
	Server bool
}

// Store is a server.Store on SQLite.
type Store struct {
	dir    string
	writer *sql.DB // one connection: SQLite has one writer anyway
	reader *sql.DB
	lock   *os.File // nil unless Options.Server

	watchMu sync.Mutex
	watch   *sql.Conn // its data_version changes with every other connection's commit
}

var _ server.Store = (*Store)(nil)

// Open opens the store in dir, creates both where they are missing, and brings
// the schema up to date. It fails, with a sentence for the person, when other
// users could read dir and it is not plainly ours to close, when another
// server has it (Options.Server), and when a newer version has written it.
func Open(ctx context.Context, dir string, options Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := prepareDirectory(dir); err != nil {
		return nil, err
	}
	s := &Store{dir: dir}
	if options.Server {
		if s.lock, err = lockDirectory(filepath.Join(dir, lockName)); err != nil {
			return nil, err
		}
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open store in %s: %w", dir, err), s.Close())
	}
	return s, nil
}

// Exists says whether dir holds a store.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, DatabaseName))
	return err == nil
}

func (s *Store) open(ctx context.Context) error {
	path := filepath.Join(s.dir, DatabaseName)
	// SQLite would create the file by the umask. Its WAL copies the mode.
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Chmod(0o600), file.Close()); err != nil {
		return err
	}
	if s.writer, err = connect(path, "rw", 1); err != nil {
		return err
	}
	if err := migrate(ctx, s.writer); err != nil {
		return err
	}
	if s.reader, err = connect(path, "ro", readers+1); err != nil {
		return err
	}
	s.watch, err = s.reader.Conn(ctx)
	return err
}

func connect(path, mode string, connections int) (*sql.DB, error) {
	query := url.Values{}
	query.Set("_txlock", "immediate")
	query.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()))
	if mode == "rw" {
		query.Add("_pragma", "journal_mode(WAL)")
		// A revocation that was acknowledged must survive a power cut, and writes
		// are few: FULL, not the NORMAL that is usual with WAL.
		query.Add("_pragma", "synchronous(FULL)")
		query.Add("_pragma", "foreign_keys(1)")
		query.Add("_pragma", "secure_delete(FAST)")
	} else {
		query.Add("_pragma", "query_only(1)")
	}
	source := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// Close waits for calls in flight and gives the lock back.
func (s *Store) Close() error {
	var errs []error
	s.watchMu.Lock()
	if s.watch != nil {
		errs = append(errs, s.watch.Close())
		s.watch = nil
	}
	s.watchMu.Unlock()
	if s.reader != nil {
		errs = append(errs, s.reader.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// Changed is SQLite's data_version as one connection sees it.
func (s *Store) Changed(ctx context.Context) (int64, error) {
	s.watchMu.Lock()
	defer s.watchMu.Unlock()
	if s.watch == nil {
		return 0, sql.ErrConnDone
	}
	var version int64
	if err := s.watch.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
		return 0, fmt.Errorf("read data version: %w", err)
	}
	return version, nil
}

// prepareDirectory makes dir, or closes an existing one to other users when it
// is empty or already ours. It never changes the mode of a directory that holds
// something else, such as /tmp.
func prepareDirectory(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("data directory: %s is not a directory", dir)
	}
	if !openToOthers(info) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if len(entries) > 0 && !Exists(dir) {
		return fmt.Errorf("data directory: other users can read %s (mode %04o) and it holds other files: choose an empty one, or chmod 700 it", dir, info.Mode().Perm())
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("data directory: close %s to other users: %w", dir, err)
	}
	return nil
}

// write runs do in one transaction.
func (s *Store) write(ctx context.Context, what string, do func(*sql.Tx) error) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := do(tx); err != nil {
		rollback := tx.Rollback()
		if known, ok := errors.AsType[*server.Error](err); ok {
			return errors.Join(known, ignoreDone(rollback))
		}
		return fmt.Errorf("%s: %w", what, errors.Join(err, ignoreDone(rollback)))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// needRow turns "nothing was changed" into an Error.
func needRow(result sql.Result, code server.Code) error {
	count, err := result.RowsAffected()
	if err != nil {
		return err
	}
	if count == 0 {
		return server.NewError(code)
	}
	return nil
}

// orCode turns "no rows" into an Error and wraps everything else.
func orCode(err error, code server.Code, what string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		return server.NewError(code)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

func isUnique(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

func isForeignKey(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code() == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
}

// milliseconds is the stored form of a time, 0 for the zero time.
func milliseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// fromMilliseconds is the time of a stored form.
func fromMilliseconds(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
