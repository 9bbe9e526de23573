// Command bench measures agent-helm as a person meets it: keystroke echo,
// floods, slow links, reconnection and memory. It drives the real binaries and
// measures, alternately in the same run, bare floors (the same hops without
// terminals) and the peers that this machine has installed. It writes JSON and
// the tables of docs/PERFORMANCE.md; it compares nothing with a stored number.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agent-helm/agent-helm/internal/e2e"
)

// bench carries what every measurement needs.
type bench struct {
	rounds int
	keys   int
	flood  int // bytes
	full   bool
	report *report
	mu     sync.Mutex
	clean  []func() // guarded by mu
	failed bool
	crowds int // tokens made for crowds, whose names differ
}

func main() {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "act-") {
		if err := act(os.Args[1], os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
		return
	}
	out := flag.String("out", "bench-out", "directory for bench.json")
	doc := flag.String("doc", "docs/PERFORMANCE.md", "the document to write, empty for none")
	rounds := flag.Int("rounds", 5, "alternating rounds of each measurement")
	keys := flag.Int("keys", 400, "keystrokes per round")
	flood := flag.Int("flood", 48, "MiB per flood")
	full := flag.Bool("full", false, "with 1,000 viewers")
	only := flag.String("only", "", "comma-separated measurements: echo,flood,slow,uplink,reconnect,memory,terminal,viewers")
	flag.Parse()

	b := &bench{rounds: *rounds, keys: *keys, flood: *flood << 20, full: *full, report: newReport()}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		// Holders outlive whoever started them.
		b.Fatal("stopped by ", <-interrupted)
	}()
	if err := b.run(*only); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		b.cleanup()
		os.Exit(1)
	}
	b.cleanup()
	if err := b.write(*out, *doc); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func (b *bench) run(only string) error {
	b.report.Load = load()
	measurements := []struct {
		name string
		full bool
		run  func() error
	}{
		{"echo", false, b.echo},
		{"flood", false, b.floods},
		{"slow", false, b.slowViewer},
		{"uplink", false, b.slowUplink},
		{"reconnect", false, b.reconnect},
		{"memory", false, b.memory},
		{"terminal", false, b.terminal},
		{"viewers", true, b.manyViewers},
	}
	for _, m := range measurements {
		if only != "" && !strings.Contains(","+only+",", ","+m.name+",") || only == "" && m.full && !b.full {
			continue
		}
		started := time.Now()
		fmt.Printf("== %s\n", m.name)
		if err := m.run(); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		b.cleanup()
		fmt.Printf("   %.0f s\n", time.Since(started).Seconds())
	}
	return nil
}

func (b *bench) write(out, doc string) error {
	b.report.Machine = fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	b.report.Finished = time.Now().UTC().Format(time.DateOnly)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	encoded, err := json.MarshalIndent(b.report, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "bench.json"), append(encoded, '\n'), 0o644); err != nil {
		return err
	}
	text := b.report.markdown()
	fmt.Println(text)
	if doc == "" {
		return nil
	}
	return os.WriteFile(doc, []byte(text), 0o644)
}

// bench is the TB of its stacks.

// Helper does nothing: there are no test lines to name.
func (b *bench) Helper() {}

// Cleanup has a function run after the present measurement.
func (b *bench) Cleanup(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clean = append(b.clean, f)
}

func (b *bench) cleanup() {
	for {
		b.mu.Lock()
		if len(b.clean) == 0 {
			b.mu.Unlock()
			return
		}
		last := b.clean[len(b.clean)-1]
		b.clean = b.clean[:len(b.clean)-1]
		b.mu.Unlock()
		last()
	}
}

// Errorf reports a fault that does not stop the run but fails it.
func (b *bench) Errorf(format string, args ...any) {
	b.failed = true
	fmt.Fprintf(os.Stderr, "error: "+format+"\n", args...)
}

// Logf reports.
func (b *bench) Logf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// Failed says whether Errorf was called.
func (b *bench) Failed() bool { return b.failed }

// Fatal ends the run.
func (b *bench) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, append([]any{"error:"}, args...)...)
	b.cleanup()
	os.Exit(1)
}

// Fatalf ends the run.
func (b *bench) Fatalf(format string, args ...any) { b.Fatal(fmt.Sprintf(format, args...)) }

// self is the argv that makes this program act as part of a measurement.
func self(role string, args ...string) []string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return append([]string{path, "act-" + role}, args...)
}

var _ e2e.TB = (*bench)(nil)
