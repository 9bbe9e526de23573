package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/store"
)

// crashEnv makes this test binary write settings until it is killed.
const crashEnv = "AGENT_HELM_TEST_CRASH_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashEnv); dir != "" {
		writeUntilKilled(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

func open(t *testing.T, dir string, options Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore_conforms(t *testing.T) {
	store.Conform(t, func(t *testing.T) server.Store {
		s, err := Open(t.Context(), t.TempDir(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func TestOpen_files_are_the_owners_only(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := open(t, dir, Options{Server: true})
	if err := s.PutSetting(t.Context(), "url", "a"); err != nil { // makes the WAL
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{
		".": 0o700, DatabaseName: 0o600, DatabaseName + "-wal": 0o600, DatabaseName + "-shm": 0o600, lockName: 0o600,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %04o, want %04o", name, got, want)
		}
	}
}

func TestOpen_directory(t *testing.T) {
	t.Run("an empty open one is closed", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		open(t, dir, Options{})
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	})
	t.Run("an open one with other files is refused and left alone", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "shared")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "other"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), dir, Options{}); err == nil || !strings.Contains(err.Error(), "chmod 700") {
			t.Errorf("error %v", err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	})
	t.Run("a file is refused", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), file, Options{}); err == nil {
			t.Error("no error")
		}
	})
	t.Run("a damaged database is an error", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, DatabaseName), []byte(strings.Repeat("not a database ", 500)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), dir, Options{}); err == nil {
			t.Error("no error")
		}
	})
}

func TestOpen_second_server_is_refused(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, Options{Server: true})
	_, err := Open(t.Context(), dir, Options{Server: true})
	if err == nil || !strings.Contains(err.Error(), "another agent-helm-server") || !strings.Contains(err.Error(), dir) ||
		!strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("error %v", err)
	}
	// Commands on the directory work beside it, and both see each other.
	command := open(t, dir, Options{})
	before, err := first.Changed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := command.PutSetting(t.Context(), "url", "a"); err != nil {
		t.Fatal(err)
	}
	if after, err := first.Changed(t.Context()); err != nil || after == before {
		t.Errorf("the server does not see the command's write: %d, %v", after, err)
	}
	if value, err := first.Setting(t.Context(), "url"); err != nil || value != "a" {
		t.Errorf("setting %q, %v", value, err)
	}
}

func TestOpen_lock_is_free_after_Close(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		s, err := Open(t.Context(), dir, Options{Server: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMigrate_newer_database_is_refused(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	if _, err := s.writer.ExecContext(t.Context(), "INSERT INTO migrations (number, name, applied_at) VALUES (9999, 'future', 0)"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir, Options{}); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("error %v", err)
	}
}

func TestMigrate_failed_step_leaves_nothing(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	steps, err := loadMigrations(migrations)
	if err != nil {
		t.Fatal(err)
	}
	bad := append(steps, migration{number: len(steps) + 1, name: "bad", sql: "CREATE TABLE half (id INTEGER); SELECT nonsense;"})
	if err := applyMigrations(t.Context(), s.writer, bad); err == nil {
		t.Fatal("no error")
	}
	var count int
	if err := s.reader.QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_master WHERE name = 'half'").Scan(&count); err != nil || count != 0 {
		t.Errorf("%d tables of the failed step remain, %v", count, err)
	}
	if version, err := s.SchemaVersion(t.Context()); err != nil || version != len(steps) {
		t.Errorf("schema version %d, %v", version, err)
	}
}

func TestLoadMigrations_numbers_have_no_gap(t *testing.T) {
	for _, names := range [][]string{{"0002_b.sql"}, {"0001_a.sql", "0003_c.sql"}, {"first.sql"}} {
		files := fstest.MapFS{}
		for _, name := range names {
			files["migrations/"+name] = &fstest.MapFile{}
		}
		if _, err := loadMigrations(files); err == nil {
			t.Errorf("%v: no error", names)
		}
	}
}

func TestAudit_is_append_only(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	for range 3 {
		if err := s.AppendAudit(t.Context(), server.AuditRecord{At: time.Now(), Action: server.AuditKill}); err != nil {
			t.Fatal(err)
		}
	}
	for _, statement := range []string{"UPDATE audit SET action = 'x' WHERE id = 2", "DELETE FROM audit WHERE id = 2"} {
		if _, err := s.writer.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("%s: no error", statement)
		}
	}
	// Somebody with the file can drop the trigger; the chain then shows it.
	for _, statement := range []string{"DROP TRIGGER audit_is_not_changed", "UPDATE audit SET action = 'x' WHERE id = 2"} {
		if _, err := s.writer.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if bad, err := s.VerifyAudit(t.Context()); err != nil || bad != 2 {
		t.Errorf("first bad line %d, %v", bad, err)
	}
}

// A process that is killed between two writes leaves every write that it was
// told of, and a database that opens.
func TestStore_survives_kill(t *testing.T) {
	dir := t.TempDir()
	for round := range 3 {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), crashEnv+"="+dir)
		out, err := command.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		last := -1
		for lines.Scan() {
			if last, err = strconv.Atoi(lines.Text()); err != nil {
				t.Fatal(err)
			}
			if last >= 20*(round+1) && command.Process.Kill() != nil {
				t.Fatal("kill")
			}
		}
		if err := command.Wait(); err == nil {
			t.Fatal("the writer was not killed")
		}
		s, err := Open(context.Background(), dir, Options{Server: true})
		if err != nil {
			t.Fatalf("open after kill: %v", err)
		}
		value, err := s.Setting(t.Context(), "counter")
		if err != nil {
			t.Fatal(err)
		}
		if counter, err := strconv.Atoi(value); err != nil || counter < last {
			t.Errorf("counter %q after %d was acknowledged", value, last)
		}
		if bad, err := s.VerifyAudit(t.Context()); err != nil || bad != 0 {
			t.Errorf("first bad audit line %d, %v", bad, err)
		}
		var integrity string
		if err := s.reader.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&integrity); err != nil || integrity != "ok" {
			t.Errorf("integrity %q, %v", integrity, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func writeUntilKilled(dir string) {
	ctx := context.Background()
	s, err := Open(ctx, dir, Options{Server: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		err := errors.Join(
			s.PutSetting(ctx, "counter", strconv.Itoa(i)),
			s.AppendAudit(ctx, server.AuditRecord{At: time.Now(), Action: server.AuditKill, Detail: strconv.Itoa(i)}),
		)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(i)
	}
}

// An idle server batches what it saw: the WAL of a day of such writes is small.
func TestStore_seen_times_write_little(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	ctx := t.Context()
	ticket := server.TicketRecord{Secret: server.Hash{1}, Grant: server.Grant{Kind: server.PrincipalDevice, Scopes: server.ScopeRead, CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour)}}
	if err := s.CreateTicket(ctx, ticket); err != nil {
		t.Fatal(err)
	}
	device := server.DeviceRecord{ID: "d", Name: "d", CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour)}
	if _, err := s.RedeemTicket(ctx, ticket.Secret, time.Now(), server.AllScopes, device, server.LoginRecord{ID: server.Hash{2}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.writer.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	const writesAnHour = 6
	for i := range writesAnHour {
		if err := s.SeeDevices(ctx, map[string]time.Time{"d": time.Now().Add(time.Duration(i) * time.Minute)}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(s.dir, DatabaseName+"-wal"))
	if err != nil {
		t.Fatal(err)
	}
	// What is in the WAL is written once more by the checkpoint.
	if written := 2 * info.Size(); written > 500<<10 {
		t.Errorf("an idle hour writes %d bytes", written)
	}
}
