package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/agent-helm/agent-helm/internal/e2e"
)

// act plays a part of the bare floor, or a program in a PTY.
func act(role string, args []string) error {
	switch role {
	case "act-echo":
		// Echoes what it reads; "ready" first.
		if err := raw(); err != nil {
			return err
		}
		fmt.Print("ready\r\n")
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	case "act-flood":
		return actFlood(args)
	case "act-floor-holder":
		return floorHolder(args[0], args[1:])
	case "act-floor-daemon":
		return floorDaemon(args[0], args[1])
	case "act-floor-server":
		return floorServer(args[0])
	}
	return fmt.Errorf("no such part: %s", role)
}

func raw() error {
	_, err := term.MakeRaw(int(os.Stdin.Fd()))
	return err
}

// actFlood BYTES STATUS: waits for an "s", then prints BYTES of log lines as
// fast as the PTY takes them (0: for ever), then "over". ^C ends a flood with
// a prompt. The bytes printed so far and the nanoseconds that took are written
// to STATUS every quarter of a second and at the end.
func actFlood(args []string) error {
	if err := raw(); err != nil {
		return err
	}
	size, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	input := make(chan byte, 64)
	go func() {
		defer close(input)
		in := bufio.NewReader(os.Stdin)
		for {
			c, err := in.ReadByte()
			if err != nil {
				return
			}
			input <- c
		}
	}()
	fmt.Print(floodReady)
	for start := range input {
		if start != 's' {
			continue
		}
		ending, err := flood(size, args[1], input)
		if err != nil {
			return err
		}
		fmt.Print(ending)
	}
	return nil
}

const (
	floodReady = "ready\r\n"
	floodOver  = "\r\nover\r\n"
)

func appendFloodLine(dst []byte, line int) []byte {
	return fmt.Appendf(dst, "2026-11-30 12:00:00 worker[%d] did step %d of the job\r\n", line%97, line)
}

// floodSize is how many bytes a flood of at least size bytes prints.
func floodSize(size int) int {
	printed := 0
	var buffer []byte
	for line := 1; printed < size; line++ {
		buffer = appendFloodLine(buffer[:0], line)
		printed += len(buffer)
	}
	return printed
}

func flood(size int, status string, input <-chan byte) (ending string, err error) {
	printed, began := 0, time.Now()
	report := func() error {
		// By renaming: whoever reads it must not find half of it.
		if err := os.WriteFile(status+".new", fmt.Appendf(nil, "%d %d", printed, time.Since(began).Nanoseconds()), 0o600); err != nil {
			return err
		}
		return os.Rename(status+".new", status)
	}
	reported := began
	out := bufio.NewWriterSize(os.Stdout, 16<<10)
	var buffer []byte
	for line := 1; size == 0 || printed < size; line++ {
		buffer = appendFloodLine(buffer[:0], line)
		n, err := out.Write(buffer)
		if err != nil {
			return "", err
		}
		printed += n
		if line%64 != 0 {
			continue
		}
		select {
		case c, open := <-input:
			if !open || c == 3 {
				return "\r\nprompt$ ", report()
			}
		default:
		}
		if time.Since(reported) > 250*time.Millisecond {
			reported = time.Now()
			if err := report(); err != nil {
				return "", err
			}
		}
	}
	if err := out.Flush(); err != nil {
		return "", err
	}
	return floodOver, report()
}

// floorHolder runs a program in a PTY and relays it to one client at a time.
func floorHolder(socket string, argv []string) error {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	program, err := pty.StartWithSize(exec.Command(argv[0], argv[1:]...), &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		return err
	}
	client, err := listener.Accept()
	if err != nil {
		return err
	}
	go func() { _, _ = io.CopyBuffer(onlyWriter{program}, client, make([]byte, 64<<10)) }()
	_, err = io.CopyBuffer(onlyWriter{client}, onlyReader{program}, make([]byte, 64<<10))
	return err
}

// onlyWriter and onlyReader hide ReadFrom and WriteTo, so that the copy is one
// read and one write, as in every relay.
type onlyWriter struct{ io.Writer }
type onlyReader struct{ io.Reader }

// floorDaemon relays a holder's socket to the server.
func floorDaemon(socket, server string) error {
	holder, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	ctx := context.Background()
	conn, _, err := websocket.Dial(ctx, server+"/host", nil)
	if err != nil {
		return err
	}
	conn.SetReadLimit(-1)
	go func() {
		for {
			_, message, err := conn.Read(ctx)
			if err != nil {
				return
			}
			if _, err := holder.Write(message); err != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := holder.Read(buffer)
		if err != nil {
			return err
		}
		if err := conn.Write(ctx, websocket.MessageBinary, buffer[:n]); err != nil {
			return err
		}
	}
}

// floorServer relays one host to every viewer and every viewer to the host.
func floorServer(addressFile string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var host *websocket.Conn
	viewers := make(map[*websocket.Conn]bool)
	ctx := context.Background()
	mux := http.NewServeMux()
	mux.HandleFunc("/host", func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		conn.SetReadLimit(-1)
		mu.Lock()
		host = conn
		mu.Unlock()
		for {
			_, message, err := conn.Read(ctx)
			if err != nil {
				return
			}
			mu.Lock()
			for viewer := range viewers {
				if viewer.Write(ctx, websocket.MessageBinary, message) != nil {
					delete(viewers, viewer)
				}
			}
			mu.Unlock()
		}
	})
	mux.HandleFunc("/view", func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		mu.Lock()
		viewers[conn] = true
		mu.Unlock()
		for {
			_, message, err := conn.Read(ctx)
			if err != nil {
				mu.Lock()
				delete(viewers, conn)
				mu.Unlock()
				return
			}
			mu.Lock()
			to := host
			mu.Unlock()
			if to == nil || to.Write(ctx, websocket.MessageBinary, message) != nil {
				return
			}
		}
	})
	if err := os.WriteFile(addressFile, []byte("ws://"+listener.Addr().String()), 0o600); err != nil {
		return err
	}
	return http.Serve(listener, mux)
}

// floor is a running bare relay with a program at its end.
type floor struct {
	url string
	// Process ids.
	server, holder, daemon int
}

// startFloor starts the three processes around a program of this binary.
func (b *bench) startFloor(program []string) (*floor, error) {
	dir, err := os.MkdirTemp("", "floor")
	if err != nil {
		return nil, err
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	socket, addressFile := filepath.Join(dir, "holder"), filepath.Join(dir, "address")
	start := func(pid *int, role string, args ...string) error {
		argv := self(role, args...)
		command := exec.Command(argv[0], argv[1:]...)
		command.Stderr = os.Stderr
		if err := command.Start(); err != nil {
			return err
		}
		*pid = command.Process.Pid
		b.Cleanup(func() {
			_ = command.Process.Kill()
			_ = command.Wait()
		})
		return nil
	}
	f := &floor{}
	if err := start(&f.server, "floor-server", addressFile); err != nil {
		return nil, err
	}
	if err := start(&f.holder, "floor-holder", append([]string{socket}, program...)...); err != nil {
		return nil, err
	}
	err = e2e.Eventually(func() error {
		address, err := os.ReadFile(addressFile)
		if err != nil {
			return err
		}
		if len(address) == 0 {
			return errors.New("the address is not written yet")
		}
		f.url = string(address)
		_, err = os.Stat(socket)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, start(&f.daemon, "floor-daemon", socket, f.url)
}

// view connects a viewer to the floor.
func (f *floor) view(b *bench) (*websocket.Conn, error) {
	conn, _, err := websocket.Dial(context.Background(), f.url+"/view", nil)
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(-1)
	b.Cleanup(func() { conn.CloseNow() })
	return conn, nil
}

// until reads a floor viewer until the text was seen.
func until(ctx context.Context, conn *websocket.Conn, text string) error {
	window := ""
	for {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("waiting for %q: %w", text, err)
		}
		window += string(message)
		if strings.Contains(window, text) {
			return nil
		}
		window = window[max(0, len(window)-len(text)):]
	}
}

var errNotInstalled = errors.New("not installed")
