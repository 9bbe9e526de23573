package holder_test

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// typed is what the program "hex" says it read.
func (r *reader) typed() string {
	_, text, _ := strings.Cut(string(r.output), "ready\r\n")
	decoded, _ := hex.DecodeString(strings.ReplaceAll(text, "|", "")) // what is whole so far
	return string(decoded)
}

func (r *reader) untilTyped(text string) {
	r.t.Helper()
	r.until("typed "+text, func() bool { return strings.HasSuffix(r.typed(), text) })
}

func hexSession(t *testing.T) (daemon.Dirs, daemon.Session, *reader) {
	t.Helper()
	dirs := testDirs(t)
	session := startProgram(t, dirs, "hex")
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilOutput("ready\r\n")
	return dirs, session, r
}

func TestInput_EveryByte(t *testing.T) {
	_, _, r := hexSession(t)
	r.typist().applied(wire.InputBytes, string(allBytes()))
	r.until("every byte", func() bool { return len(r.typed()) == len(allBytes()) })
	if got := r.typed(); got != string(allBytes()) {
		t.Errorf("got %x", got)
	}
}

func TestInput_Kinds(t *testing.T) {
	_, _, r := hexSession(t)
	y := r.typist()
	for _, c := range []struct {
		kind wire.InputKind
		data string
		want string
	}{
		{wire.InputKeys, "up ctrl+c enter", "\x1b[A\x03\r"},
		{wire.InputKeys, "shift+tab esc", "\x1b[Z\x1b"},
		{wire.InputPaste, "a\nb\x1b[31m\x07\u0085c", "a\rb[31m\x07c"},
		{wire.InputSubmit, "hello", "hello\r"},
		{wire.InputSubmit, "", "\r"},
	} {
		y.applied(c.kind, c.data)
		r.untilTyped(c.want)
	}
	for _, c := range []struct {
		kind wire.InputKind
		data string
	}{
		{wire.InputKeys, "no-such-key"}, {wire.InputKeys, ""}, {wire.InputPaste, "\xff"}, {wire.InputSubmit, "\xc0"}, {wire.InputKind(77), "x"},
		{wire.InputKeys, strings.Repeat("a ", 500)},
	} {
		refused := r.typist()
		refused.send(c.kind, c.data)
		if ack := refused.answer(); ack.Status != wire.InputInvalid {
			t.Errorf("%d %q: %+v", c.kind, c.data, ack)
		}
	}
}

// TestInput_PasteToDeaf gives 300 KB to a program that does not read: that
// blocks its own input and nothing else.
func TestInput_PasteToDeaf(t *testing.T) {
	t.Parallel()
	dirs := testDirs(t)
	session := startProgram(t, dirs, "mute")
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilOutput("ready\r\n")
	y := r.typist()
	y.send(wire.InputPaste, strings.Repeat("p", 200<<10))
	y.send(wire.InputPaste, strings.Repeat("q", 100<<10))
	y.send(wire.InputBytes, "more")
	if ack := y.answer(); ack.Status != wire.InputBlocked || ack.Seq != 3 {
		t.Errorf("answer %+v", ack)
	}
	r.until("blocked is told", func() bool { return len(r.updates) > 0 && r.updates[len(r.updates)-1].Meta.InputBlocked })
	if !inspect(t, dirs, session.ID).InputBlocked {
		t.Error("blocked is not shown")
	}
	// Output, other requests and readers go on.
	for range 3 {
		if err := syscall.Kill(session.PID, syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		eventually(t, "signal taken", func() bool { return r.next() == nil })
	}
	r.untilOutput("signal 1\r\n")
	other := attachAs(t, dirs, session.ID, wire.RoleTool, wire.HolderAttach{Want: wire.WantRepaint})
	other.until("live", func() bool { return other.live })
	var text wire.TextResult
	call(t, other.client, wire.MethodText, wire.TextParams{}, &text)
	if !strings.Contains(text.Text, "ready") {
		t.Errorf("screen %q", text.Text)
	}
	// The retired rest returns, what has begun does not.
	send(t, r.client, &wire.Retire{Client: y.id})
	r.until("retired", func() bool { return r.acks[len(r.acks)-1].Status == wire.InputRetired })
	if ack := r.acks[len(r.acks)-1]; ack.Seq != 1 {
		t.Errorf("retired %+v", ack)
	}
	// The interrupt key cannot get through, its signal does.
	call(t, other.client, wire.MethodSignal, wire.SessionParams{Signal: "ctrl-c"}, nil)
	r.untilOutput("interrupted\r\n")
	r.untilExit()
	if r.exit.Code != 3 {
		t.Errorf("exit %+v", r.exit)
	}
}

// TestInput_Submits lets several people submit at once; no text may be split.
func TestInput_Submits(t *testing.T) {
	t.Parallel()
	dirs, session, r := hexSession(t)
	const people, rounds = 4, 5
	readers := []*reader{r}
	for range people - 1 {
		readers = append(readers, attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream}))
	}
	var want int
	for i, person := range readers {
		y := person.typist()
		for range rounds {
			text := strings.Repeat(string(rune('a'+i)), 50)
			y.send(wire.InputSubmit, text)
			want += len(text) + 1
		}
	}
	loner := r.typist()
	for range 10 {
		loner.send(wire.InputBytes, "!")
		want++
	}
	r.until("all of it", func() bool { return len(r.typed()) == want })
	for _, line := range strings.Split(strings.ReplaceAll(r.typed(), "!", ""), "\r") {
		if strings.Trim(line, line[:min(1, len(line))]) != "" || len(line) != 50 && line != "" {
			t.Errorf("line %q is mixed", line)
		}
	}
	if n := strings.Count(r.typed(), "\r"); n != people*rounds {
		t.Errorf("%d of %d lines", n, people*rounds)
	}
	for _, piece := range strings.Split(r.typed(), "!") {
		if piece != "" && !strings.HasSuffix(piece, "\r") {
			t.Errorf("a key came into a text: %q", piece)
		}
	}
}

// TestInput_SameOverTwoConnections resends on another connection what the
// first one did not get an answer for.
func TestInput_SameOverTwoConnections(t *testing.T) {
	dirs, session, r := hexSession(t)
	y := r.typist()
	for i := range 10 {
		y.send(wire.InputBytes, string(rune('0'+i)))
	}
	r.client.Close()
	again := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	for i := range 10 {
		send(t, again.client, &wire.Input{Client: y.id, Seq: uint64(i + 1), Data: []byte{byte('0' + i)}})
	}
	y.r = again
	y.answer()
	y.applied(wire.InputBytes, "$")
	again.untilTyped("$")
	if got := again.typed(); got != "0123456789$" {
		t.Errorf("typed %q", got)
	}
}

// TestInput_HeldUp: what was late on its way is refused, by the stamps alone.
func TestInput_HeldUp(t *testing.T) {
	_, _, r := hexSession(t)
	send(t, r.client, &wire.Ping{Nonce: 1, Sent: 60_000})
	y := r.typist()
	y.seq++
	send(t, r.client, &wire.Input{Client: y.id, Seq: 1, Sent: 60_000 - 10_001, Data: []byte("late")})
	if ack := y.answer(); ack.Status != wire.InputLate {
		t.Errorf("answer %+v", ack)
	}
	old := r.typist()
	old.seq++
	send(t, r.client, &wire.Input{Client: old.id, Seq: 1, Age: 10_001, Sent: 60_000, Data: []byte("old")})
	if ack := old.answer(); ack.Status != wire.InputLate {
		t.Errorf("answer %+v", ack)
	}
	young := r.typist()
	young.seq++
	send(t, r.client, &wire.Input{Client: young.id, Seq: 1, Age: 9_000, Sent: 61_000, Data: []byte("$")})
	r.untilTyped("$")
	if got := r.typed(); got != "$" {
		t.Errorf("typed %q", got)
	}
}

// TestInput_Focus: the program hears of the focus when it asked for it.
func TestInput_Focus(t *testing.T) {
	dirs := testDirs(t)
	session := start(t, dirs, daemon.Spec{Argv: []string{"bash", "-c", `stty raw -echo; printf '\033[?1004hready'; for i in 1 2; do IFS= read -r -N 3 x; printf '%q;' "$x"; done; sleep 1000`}})
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilOutput("ready")
	desk := attachAs(t, dirs, session.ID, wire.RoleLocal, wire.HolderAttach{Want: wire.WantStream})
	send(t, desk.client, &wire.Presence{Client: newClientID(), Visible: true, Focused: true})
	r.untilOutput(`[I'`)
	phone := newClientID()
	send(t, r.client, &wire.Presence{Client: phone, Visible: true, Focused: true})
	call(t, r.client, wire.MethodInfo, nil, nil)
	desk.client.Close() // the phone still has it
	send(t, r.client, &wire.Presence{Client: phone, Visible: true})
	r.untilOutput(`[O'`)
}

func TestSize_Resizes(t *testing.T) {
	dirs := testDirs(t)
	session := startProgram(t, dirs, "sizes")
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilOutput("[80x24]")
	desk := attachAs(t, dirs, session.ID, wire.RoleLocal, wire.HolderAttach{Want: wire.WantStream})
	me := newClientID()
	send(t, desk.client, &wire.ClaimSize{Client: me, Reason: wire.ClaimAttach, Cols: 100, Rows: 30})
	r.untilOutput("[100x30]")
	// A window that is dragged sends few signals, and the last size counts.
	for cols := range uint16(200) {
		send(t, desk.client, &wire.ClaimSize{Client: me, Reason: wire.ClaimResize, Cols: 101 + cols, Rows: 31})
	}
	r.untilOutput("[300x31]")
	if n := bytes.Count(r.output, []byte("[")); n > 60 {
		t.Errorf("%d sizes", n)
	}
	phone := newClientID()
	send(t, r.client, &wire.ClaimSize{Client: phone, Reason: wire.ClaimTyping, Cols: 45, Rows: 20}) // the desk has just attached
	send(t, r.client, &wire.ClaimSize{Client: phone, Reason: wire.ClaimFit, Cols: 46, Rows: 21})
	r.untilOutput("[46x21]")
	send(t, r.client, &wire.ReleaseSize{Client: phone})
	r.until("desk's size returns", func() bool { return bytes.HasSuffix(r.output, []byte("[300x31]")) })
	if bytes.Contains(r.output, []byte("[45x20]")) {
		t.Error("typing took the size from a present owner")
	}
	var owners []string
	for _, owner := range r.owners {
		owners = append(owners, map[wire.ClientID]string{me: "desk", phone: "phone", {}: "nobody"}[owner.Client])
	}
	if text := strings.Join(owners, " "); !strings.HasPrefix(text, "nobody desk") || !strings.HasSuffix(text, "phone desk") {
		t.Errorf("owners %s", text)
	}
	// Each mark stands before what the program printed about it.
	text := "[80x24]"
	for _, mark := range r.marks {
		if i := bytes.Index(r.output, []byte(sizeText(mark))); i >= 0 && uint64(i) < mark.Offset-min(mark.Offset, uint64(len("ready\r\n"))) && !strings.Contains(text, sizeText(mark)) {
			t.Errorf("size %s was printed at %d before its mark at %d", sizeText(mark), i, mark.Offset)
		}
		text += sizeText(mark)
	}
	var info wire.SessionInfo
	call(t, r.client, wire.MethodInfo, nil, &info)
	if info.Cols != 300 || info.Rows != 31 || info.End != r.position {
		t.Errorf("info %+v at %v", info, r.position)
	}
	// Nothing changes when the desk leaves.
	desk.client.Close()
	r.until("nobody owns the size", func() bool { return r.owners[len(r.owners)-1].Kind == wire.OwnerNone })
	if last := r.owners[len(r.owners)-1]; last.Cols != 300 || last.Rows != 31 {
		t.Errorf("owner %+v", last)
	}
}

func sizeText(mark wire.Resize) string {
	return "[" + itoa(mark.Cols) + "x" + itoa(mark.Rows) + "]"
}

func TestRPC(t *testing.T) {
	dirs, session, r := hexSession(t)
	call(t, r.client, wire.MethodRename, wire.SessionParams{Name: "new name"}, nil)
	r.until("rename is told", func() bool { return len(r.updates) > 0 && r.updates[len(r.updates)-1].Meta.Name == "new name" })
	if got := inspect(t, dirs, session.ID); got.Name != "new name" {
		t.Errorf("session %+v", got)
	}
	for method, params := range map[string]any{
		wire.MethodRename: wire.SessionParams{Name: "a\x1bb"},
		wire.MethodSignal: wire.SessionParams{Signal: "dance"},
		wire.MethodPage:   "no object",
	} {
		fault, ok := errorOf(r, method, params).(*wire.Fault)
		if !ok || fault.Code != wire.CodeInvalid {
			t.Errorf("%s: %v", method, fault)
		}
	}
	var page struct {
		Lines []any `json:"lines"`
	}
	call(t, r.client, wire.MethodPage, wire.PageParams{Max: 10}, &page)
	call(t, r.client, wire.MethodSignal, wire.SessionParams{Signal: "esc"}, nil)
	call(t, r.client, wire.MethodSignal, wire.SessionParams{Signal: "ctrl-c"}, nil)
	r.untilTyped("\x1b\x03")
	call(t, r.client, wire.MethodSignal, wire.SessionParams{Signal: "term"}, nil)
	r.untilExit()
	if r.exit.Signal != "SIGTERM" {
		t.Errorf("exit %+v", r.exit)
	}
	if fault, ok := errorOf(r, wire.MethodSignal, wire.SessionParams{Signal: "esc"}).(*wire.Fault); !ok || fault.Code != wire.CodeSessionEnded {
		t.Errorf("signal after the end: %v", fault)
	}
}

func TestPing(t *testing.T) {
	_, _, r := hexSession(t)
	send(t, r.client, &wire.Ping{Nonce: 42, Sent: 1})
	stop := time.AfterFunc(patience, func() { r.client.Close() })
	defer stop.Stop()
	for {
		frame, err := r.client.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if pong, ok := frame.(*wire.Pong); ok {
			if pong.Nonce != 42 {
				t.Errorf("pong %+v", pong)
			}
			return
		}
	}
}

// TestInput_WholeAmongAnswers: the terminal's answers never come into the
// middle of an input.
func TestInput_WholeAmongAnswers(t *testing.T) {
	dirs := testDirs(t)
	session := startProgram(t, dirs, "nosy")
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilOutput("ready\r\n")
	y := r.typist()
	large := strings.Repeat("0123456789abcdef", 8<<10)
	for range 3 {
		y.applied(wire.InputPaste, large)
	}
	y.applied(wire.InputBytes, "$")
	queries := regexp.MustCompile(`\x1b\[6n`)
	typed := func() string {
		_, text, _ := strings.Cut(string(r.output), "ready\r\n")
		text = strings.ReplaceAll(strings.ReplaceAll(queries.ReplaceAllString(text, ""), "ready\r\n", ""), "|", "")
		decoded, _ := hex.DecodeString(text)
		return string(decoded)
	}
	hexEnd := []byte(hex.EncodeToString([]byte("$")))
	r.until("the last key", func() bool { return bytes.Contains(tail(r.output), hexEnd) && strings.Contains(typed(), "$") })
	answers := regexp.MustCompile(`\x1b\[\d+;\d+R`)
	got := typed()
	got = got[:strings.Index(got, "$")]
	if n := strings.Count(got, large); n != 3 {
		t.Errorf("%d of 3 pastes came whole", n)
	}
	if rest := answers.ReplaceAllString(strings.ReplaceAll(got, large, ""), ""); rest != "" {
		t.Errorf("between them came %q", rest)
	}
}

// TestInput_Cuts types numbers over connections that break at random moments,
// and resends what was not answered: each arrives once, in order.
func TestInput_Cuts(t *testing.T) {
	t.Parallel()
	dirs, session, r := hexSession(t)
	const count = 400
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	me := newClientID()
	var want strings.Builder
	for i := range count {
		want.WriteString(itoa(uint16(i)) + ";")
	}
	acked, cuts := 0, 0
	for acked < count {
		part := &reader{t: t, client: dial(t, dirs, session.ID, wire.RoleDaemon)}
		sent := acked
		for acked < count && random.IntN(40) != 0 {
			for sent < min(count, acked+8) {
				kind := []wire.InputKind{wire.InputBytes, wire.InputPaste}[sent%2]
				send(t, part.client, &wire.Input{Client: me, Seq: uint64(sent + 1), Kind: kind, Sent: part.client.Sent(), Data: []byte(itoa(uint16(sent)) + ";")})
				sent++
			}
			known := len(part.acks)
			part.until("an answer", func() bool { return len(part.acks) > known })
			for _, ack := range part.acks[known:] {
				if ack.Status != wire.InputApplied {
					t.Fatalf("answer %+v", ack)
				}
				acked = max(acked, int(ack.Seq))
			}
		}
		part.client.Close()
		cuts++
	}
	r.until("all numbers", func() bool { return len(r.typed()) >= want.Len() })
	if got := r.typed(); got != want.String() {
		t.Errorf("after %d cuts: typed %q", cuts, got)
	}
}
