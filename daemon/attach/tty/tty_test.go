package tty

import (
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/term"
)

func TestTerminal(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	if err := pty.Setsize(master, &pty.Winsize{Cols: 33, Rows: 7}); err != nil {
		t.Fatal(err)
	}
	before, err := term.GetState(int(slave.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := Open(slave, slave)
	if err != nil {
		t.Fatal(err)
	}
	if cols, rows := terminal.Size(); cols != 33 || rows != 7 {
		t.Errorf("size %d×%d", cols, rows)
	}
	for range 2 { // a second call of either changes nothing
		if err := terminal.Raw(); err != nil {
			t.Fatal(err)
		}
	}
	if raw, err := term.GetState(int(slave.Fd())); err != nil || *raw == *before {
		t.Errorf("not raw: %v", err)
	}
	if _, err := master.WriteString("\x03a"); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 8)
	if n, err := terminal.Read(buffer); err != nil || string(buffer[:n]) != "\x03a" {
		t.Errorf("read %q, %v", buffer[:n], err)
	}
	for range 2 {
		if err := terminal.Restore(); err != nil {
			t.Fatal(err)
		}
	}
	if after, err := term.GetState(int(slave.Fd())); err != nil || *after != *before {
		t.Errorf("not restored: %v", err)
	}
	if err := terminal.Close(); err != nil {
		t.Error(err)
	}
}

func TestTerminal_Cancel(t *testing.T) {
	in, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer feed.Close()
	terminal, err := OpenAny(in, feed)
	if err != nil {
		t.Fatal(err)
	}
	var reader sync.WaitGroup
	reader.Go(func() {
		if n, err := terminal.Read(make([]byte, 8)); !errors.Is(err, ErrCancelled) {
			t.Errorf("read %d bytes, %v", n, err)
		}
	})
	terminal.Cancel()
	reader.Wait()
	if _, err := terminal.Read(make([]byte, 8)); !errors.Is(err, ErrCancelled) {
		t.Errorf("a later read: %v", err)
	}
	if cols, rows := terminal.Size(); cols != 80 || rows != 24 {
		t.Errorf("size of a pipe: %d×%d", cols, rows)
	}
	if err := terminal.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpen_NotTerminal(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := Open(file, file); !errors.Is(err, ErrNotTerminal) {
		t.Errorf("got %v", err)
	}
}
