package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/internal/vt"
)

// ledger is what the chaos test knows: every line the program printed, every
// key that was typed, and what became of them.
type ledger struct {
	mu      sync.Mutex
	partial []byte
	lines   []int // numbers in the order in which they were seen
	missing []gap // holes left by repaints, to be filled from pages
	typed   int
}

// gap is a hole between two lines of the stream.
type gap struct{ after, before int }

var lineNumber = regexp.MustCompile(`line (\d{8})`)

// output takes fresh bytes of the stream.
func (l *ledger) output(_ uint64, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, data...)
	for {
		end := slices.Index(l.partial, '\n')
		if end < 0 {
			return
		}
		line := l.partial[:end]
		l.partial = l.partial[end+1:]
		match := lineNumber.FindSubmatch(line)
		if match == nil {
			continue
		}
		number, _ := strconv.Atoi(string(match[1]))
		if n := len(l.lines); n > 0 && number != l.lines[n-1]+1 {
			l.missing = append(l.missing, gap{after: l.lines[n-1], before: number})
		}
		l.lines = append(l.lines, number)
	}
}

// repaint notes that the stream goes on somewhere else; what lies between
// shows as a gap once the next whole line is seen.
func (l *ledger) repaint() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = nil
}

func (l *ledger) last() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) == 0 {
		return 0
	}
	return l.lines[len(l.lines)-1]
}

// fill looks for the lines of every gap in the screen and the history.
func (l *ledger) fill(ctx context.Context, stream *Stream) error {
	l.mu.Lock()
	missing := l.missing
	l.missing = nil
	l.mu.Unlock()
	if len(missing) == 0 {
		return nil
	}
	oldest := missing[0].after
	found := make(map[int]int)
	count := func(text string) (lowest int) {
		for _, match := range lineNumber.FindAllStringSubmatch(text, -1) {
			number, _ := strconv.Atoi(match[1])
			found[number]++
			if lowest == 0 || number < lowest {
				lowest = number
			}
		}
		return lowest
	}
	var before uint64
	for {
		reply, err := stream.Page(ctx, before, 1000)
		if err != nil {
			return fmt.Errorf("read history: %w", err)
		}
		var page vt.Page
		if err := json.Unmarshal(reply.Body, &page); err != nil {
			return err
		}
		lowest := 0
		for _, line := range page.Lines {
			if line.Open {
				continue
			}
			if n := count(lineText(line)); n != 0 && (lowest == 0 || n < lowest) {
				lowest = n
			}
			if id := uint64(line.ID); before == 0 || id < before {
				before = id
			}
		}
		if len(page.Lines) == 0 || lowest != 0 && lowest <= oldest || !page.More {
			break
		}
	}
	screen := stream.Snapshot().Text
	onScreen := make(map[int]bool)
	for _, match := range lineNumber.FindAllStringSubmatch(screen, -1) {
		number, _ := strconv.Atoi(match[1])
		onScreen[number] = true
	}
	for _, hole := range missing {
		for number := hole.after + 1; number < hole.before; number++ {
			if found[number] == 0 && !onScreen[number] {
				return fmt.Errorf("line %d, between %d and %d, is neither in the stream nor in the history", number, hole.after, hole.before)
			}
			if found[number] > 1 {
				return fmt.Errorf("line %d is %d times in the history", number, found[number])
			}
		}
	}
	return nil
}

func lineText(line vt.PageLine) string {
	var text strings.Builder
	for _, run := range line.Runs {
		text.WriteString(run.Text)
	}
	return text.String()
}

// faults are what chaos does; each leaves the installation healed.
type fault struct {
	name string
	play func(s *Stack, v *Viewer, random *rand.Rand)
}

func pause(random *rand.Rand, least, most time.Duration) {
	time.Sleep(least + time.Duration(random.Int64N(int64(most-least))))
}

var faults = []fault{
	{"cut the uplink", func(s *Stack, _ *Viewer, _ *rand.Rand) { s.Uplink.Cut() }},
	{"cut the viewer", func(s *Stack, _ *Viewer, _ *rand.Rand) { s.Downlink.Cut() }},
	{"stall the uplink", func(s *Stack, _ *Viewer, random *rand.Rand) {
		s.Uplink.Stall()
		pause(random, 50*time.Millisecond, 800*time.Millisecond)
		s.Uplink.Resume()
	}},
	{"stall the viewer", func(s *Stack, _ *Viewer, random *rand.Rand) {
		s.Downlink.Stall()
		pause(random, 50*time.Millisecond, 800*time.Millisecond)
		s.Downlink.Resume()
	}},
	{"refuse the uplink", func(s *Stack, _ *Viewer, random *rand.Rand) {
		s.Uplink.Refuse(true)
		s.Uplink.Cut()
		pause(random, 50*time.Millisecond, 800*time.Millisecond)
		s.Uplink.Refuse(false)
	}},
	{"refuse the viewer", func(s *Stack, _ *Viewer, random *rand.Rand) {
		s.Downlink.Refuse(true)
		s.Downlink.Cut()
		pause(random, 50*time.Millisecond, 800*time.Millisecond)
		s.Downlink.Refuse(false)
	}},
	{"slow the viewer", func(s *Stack, _ *Viewer, random *rand.Rand) {
		s.Downlink.Throttle(20_000, 20_000)
		pause(random, 50*time.Millisecond, 500*time.Millisecond)
		s.Downlink.Throttle(0, 0)
	}},
	{"kill -9 the daemon", func(s *Stack, _ *Viewer, _ *rand.Rand) {
		s.KillDaemon()
		s.StartDaemon()
	}},
	{"kill -9 the server", func(s *Stack, _ *Viewer, _ *rand.Rand) {
		s.KillServer()
		s.RestartServer()
	}},
}

// TestChaos plays faults with a printed seed while a program counts and
// numbered keys are typed. AGENT_HELM_CHAOS_FAULTS and AGENT_HELM_CHAOS_SEED
// set their number and the seed.
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("plays faults against real processes; run without -short")
	}
	count := 100
	if text := os.Getenv("AGENT_HELM_CHAOS_FAULTS"); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("AGENT_HELM_CHAOS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d (AGENT_HELM_CHAOS_SEED=%d repeats it), %d faults", seed, seed, count)
	random := rand.New(rand.NewPCG(seed, seed))

	s := NewStack(t)
	keys := filepath.Join(s.Dir(), "keys")
	id := s.Run("counter", program(t, "counter", keys, "10ms")...)
	var book ledger
	v := s.Viewer()
	stream := v.Attach(s.HostID, id, book.output)
	stream.OnRepaint(book.repaint)
	must(t, stream.WaitFor(s.Context(), "the first lines", func(now Snapshot) bool { return strings.Contains(now.Text, "line 0000") }))

	typing, stopTyping := context.WithCancel(context.Background())
	var typist sync.WaitGroup
	typist.Go(func() {
		ticker := time.NewTicker(40 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-typing.Done():
				return
			case <-ticker.C:
			}
			book.mu.Lock()
			book.typed++
			number := book.typed
			book.mu.Unlock()
			stream.Type(fmt.Sprintf("<%06d>", number))
		}
	})
	defer func() {
		stopTyping()
		typist.Wait()
	}()

	played := make(map[string]int)
	for i := range count {
		next := faults[random.IntN(len(faults))]
		began := book.last()
		t.Logf("fault %d: %s at line %d", i+1, next.name, began)
		next.play(s, v, random)
		played[next.name]++
		pause(random, 0, 200*time.Millisecond)
		if i%10 == 9 {
			healed(t, s, stream, &book)
		}
	}
	healed(t, s, stream, &book)
	stopTyping()
	typist.Wait()
	must(t, stream.WaitFor(s.Context(), "every key's fate", func(now Snapshot) bool { return now.Outstanding == 0 }))
	settle(t, s, stream, &book, keys, played)
}

// healed waits until the stream is live again and new lines come, and fills
// what a repaint skipped.
func healed(t *testing.T, s *Stack, stream *Stream, book *ledger) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*Patience)
	defer cancel()
	from := book.last()
	must(t, stream.WaitFor(ctx, "new lines after the faults", func(now Snapshot) bool { return now.Live && book.last() > from+3 }))
	must(t, book.fill(ctx, stream))
}

// settle checks the ledger and prints it.
func settle(t *testing.T, s *Stack, stream *Stream, book *ledger, keys string, played map[string]int) {
	t.Helper()
	now := stream.Snapshot()
	recorded := recordedInput(t, s, keys, now.Applied*len("<000000>"))
	arrived := regexp.MustCompile(`<(\d{6})>`).FindAllStringSubmatch(string(recorded), -1)
	if want := len(arrived) * len("<000000>"); want != len(recorded) {
		t.Errorf("the program read %d bytes, of which %d are whole keys: some were torn", len(recorded), want)
	}
	seen := make(map[int]bool)
	previous := 0
	for _, match := range arrived {
		number, _ := strconv.Atoi(match[1])
		if seen[number] {
			t.Errorf("key %d arrived twice", number)
		}
		if number < previous {
			t.Errorf("key %d arrived after %d", number, previous)
		}
		seen[number], previous = true, number
	}
	returned := 0
	for _, text := range now.Draft {
		for _, match := range regexp.MustCompile(`<(\d{6})>`).FindAllStringSubmatch(text, -1) {
			number, _ := strconv.Atoi(match[1])
			if seen[number] {
				t.Errorf("key %d arrived and was returned", number)
			}
			returned++
		}
	}
	book.mu.Lock()
	defer book.mu.Unlock()
	for i := 1; i < len(book.lines); i++ {
		if book.lines[i] <= book.lines[i-1] {
			t.Errorf("line %d was seen after line %d", book.lines[i], book.lines[i-1])
		}
	}
	if book.typed != len(arrived)+returned {
		t.Errorf("typed %d keys, %d arrived, %d returned: %d vanished", book.typed, len(arrived), returned, book.typed-len(arrived)-returned)
	}
	t.Logf("ledger: printed %d lines, seen %d in the stream and the rest in the history; typed %d keys, arrived %d, returned %d; %d repaints; retired %v; faults %v",
		book.lines[len(book.lines)-1], len(book.lines), book.typed, len(arrived), returned, now.Repaints, now.Retired, played)
}

// recordedInput is what a program recorded of its input, once it is at least
// size bytes: the PTY takes bytes before the program reads them.
func recordedInput(t *testing.T, s *Stack, path string, size int) (recorded []byte) {
	t.Helper()
	s.Eventually("the program reads its input", func() (err error) {
		if recorded, err = os.ReadFile(path); err == nil && len(recorded) < size {
			err = fmt.Errorf("%d of %d bytes", len(recorded), size)
		}
		return err
	})
	return recorded
}

// TestLongCut: keys typed into a cut of more than ten seconds come back to the
// draft and never arrive.
func TestLongCut(t *testing.T) {
	if testing.Short() {
		t.Skip("waits longer than an input lives")
	}
	s := NewStack(t)
	keys := filepath.Join(s.Dir(), "keys")
	id := s.Run("record", program(t, "record", keys)...)
	stream := s.Viewer().Attach(s.HostID, id, nil)
	must(t, stream.WaitFor(s.Context(), "live", func(now Snapshot) bool { return strings.Contains(now.Text, "ready") }))
	stream.Type("before ")
	must(t, stream.WaitFor(s.Context(), "the first key", func(now Snapshot) bool { return now.Applied == 1 }))
	s.Downlink.Refuse(true)
	s.Downlink.Cut()
	stream.Type("lost ")
	time.Sleep(11 * time.Second)
	s.Downlink.Refuse(false)
	must(t, stream.WaitFor(s.Context(), "the key back in the draft", func(now Snapshot) bool {
		return now.Outstanding == 0 && slices.Equal(now.Draft, []string{"lost "})
	}))
	stream.Type("after")
	must(t, stream.WaitFor(s.Context(), "the next key", func(now Snapshot) bool { return now.Applied == 2 }))
	if recorded := recordedInput(t, s, keys, len("before after")); string(recorded) != "before after" {
		t.Errorf("the program read %q, want %q", recorded, "before after")
	}
}
