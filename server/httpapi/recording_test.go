package httpapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

// replay reads a recording strictly and plays it.
func replay(t *testing.T, recording string) (terminal *vt.Terminal, markers []string) {
	t.Helper()
	var header struct {
		Version, Width, Height int
		Timestamp              int64
	}
	last := 0.0
	lines := bufio.NewScanner(strings.NewReader(recording))
	for n := 0; lines.Scan(); n++ {
		if n == 0 {
			if err := json.Unmarshal(lines.Bytes(), &header); err != nil || header.Version != 2 || header.Timestamp == 0 {
				t.Fatalf("header %s: %v", lines.Text(), err)
			}
			terminal = vt.New(vt.Options{Cols: header.Width, Rows: header.Height})
			continue
		}
		var at float64
		var kind, data string
		if err := json.Unmarshal(lines.Bytes(), &[]any{&at, &kind, &data}); err != nil {
			t.Fatalf("line %d %s: %v", n, lines.Text(), err)
		}
		if at < last {
			t.Errorf("line %d goes back from %v to %v", n, last, at)
		}
		last = at
		switch kind {
		case "o":
			terminal.Write([]byte(data))
		case "m":
			markers = append(markers, data)
		case "r":
			var cols, rows int
			if _, err := fmt.Sscanf(data, "%dx%d", &cols, &rows); err != nil {
				t.Errorf("line %d: size %q", n, data)
			}
			terminal.Resize(cols, rows)
		default:
			t.Errorf("line %d is of kind %q", n, kind)
		}
	}
	return terminal, markers
}

func TestRecording(t *testing.T) {
	b := newBench(t)
	b.fleet.sessions[1].Name = "my \"session\"/\u202eé"
	at := func(offset uint64) wire.Position { return wire.Position{Offset: offset} }
	pieces := map[wire.Position]wire.RecordingResult{
		{}: {Cols: 20, Rows: 5, BeginMS: 1000, AgeMS: 60_000, Next: at(10), End: at(30), Events: []wire.RecordingEvent{
			{AtMS: 1000, Remark: "begins\x1b[31m here"}, {AtMS: 1000, Data: []byte("one \xe6\x97")}}},
		at(10): {Next: at(30), End: at(40), Events: []wire.RecordingEvent{
			{AtMS: 500, Data: []byte("\xa5 two")}, {AtMS: 3000, Cols: 30, Rows: 6}, {AtMS: 3000, Cols: 5000, Rows: 6}}},
		at(30): {Next: at(35), End: at(50), Events: []wire.RecordingEvent{{AtMS: 4000, Data: []byte("\r\nthree\xff")}}},
	}
	asked := 0
	b.fleet.recording = func(from *wire.Position) (wire.RecordingResult, error) {
		asked++
		if from == nil {
			return pieces[wire.Position{}], nil
		}
		return pieces[*from], nil
	}
	c := b.token(server.ScopeRead)
	path := "/api/sessions/" + sessionA + "/recording"
	answer := c.get(path).is(http.StatusOK)
	for name, want := range map[string]string{
		"Content-Type": "application/x-asciicast", "Content-Disposition": `attachment; filename="my--session.cast"`,
		"Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
	} {
		if got := answer.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	terminal, markers := replay(t, answer.Body.String())
	if got := terminal.Text(vt.TextOptions{}); got != "one 日 two\nthree\ufffd\n" {
		t.Errorf("it ends with %q\n%s", got, answer.Body)
	}
	if cols, rows := terminal.Size(); cols != 30 || rows != 6 {
		t.Errorf("size %d×%d", cols, rows)
	}
	if len(markers) != 1 || markers[0] != "begins[31m here" {
		t.Errorf("markers %q", markers)
	}
	// It went past the log's end of the first answer, and no further.
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
	b.fleet.recording = func(*wire.Position) (wire.RecordingResult, error) {
		return wire.RecordingResult{}, server.NewError(server.CodeHostOffline)
	}
	c.get(path).refused(server.CodeHostOffline)
}

// What breaks off must not look like the end.
func TestRecording_broken_off(t *testing.T) {
	b := newBench(t)
	b.fleet.recording = func(from *wire.Position) (wire.RecordingResult, error) {
		if from != nil {
			return wire.RecordingResult{}, server.NewError(server.CodeTimeout)
		}
		return wire.RecordingResult{Cols: 80, Rows: 24, End: wire.Position{Offset: 9}, Events: []wire.RecordingEvent{{Data: []byte("x")}}}, nil
	}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = "127.0.0.1:7777"
		b.api.ServeHTTP(w, r)
	}))
	defer listener.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, listener.URL+"/api/sessions/"+sessionA+"/recording", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = b.token(server.ScopeRead).headers
	response, err := listener.Client().Do(request)
	if err == nil {
		defer response.Body.Close()
		_, err = io.ReadAll(response.Body)
	}
	if err == nil {
		t.Error("it ended like a whole one")
	}
}
