package supervisor

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

func TestSupervisor_SearchAndRecording(t *testing.T) {
	s, _ := open(t)
	session := start(t, s, "one", `seq 1 500 | sed 's/^/line /'; echo the end; exec cat`)
	search := func(params wire.SearchParams) vt.SearchResult {
		t.Helper()
		params.ID = session.ID
		raw, err := s.Search(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		var result vt.SearchResult
		if err := json.Unmarshal(raw, &result); err != nil {
			t.Fatal(err)
		}
		return result
	}
	// record plays the whole recording, in pieces of about max bytes.
	record := func(max int) string {
		t.Helper()
		terminal := vt.New(vt.Options{Cols: daemon.DefaultCols, Rows: daemon.DefaultRows})
		params := wire.RecordingParams{ID: session.ID, Max: max}
		last := int64(0)
		for range 10_000 {
			result, err := s.Recording(t.Context(), params)
			if err != nil {
				t.Fatal(err)
			}
			for _, event := range result.Events {
				if event.AtMS < last {
					t.Errorf("time goes back from %d to %d", last, event.AtMS)
				}
				last = event.AtMS
				terminal.Write(event.Data)
			}
			if result.Done {
				return terminal.Text(vt.TextOptions{})
			}
			params.From = &result.Next
		}
		t.Fatal("the recording does not end")
		return ""
	}
	check := func() {
		t.Helper()
		if r := search(wire.SearchParams{Query: "LINE 42"}); len(r.Matches) != 11 || r.Matches[10].Text != "line 42" || r.Matches[10].Line != 42 || r.More {
			t.Errorf("found %+v", r)
		}
		r := search(wire.SearchParams{Query: `line 49\d$`, Regexp: true, CaseSensitive: true, Max: 4})
		if len(r.Matches) != 4 || r.Matches[0].Text != "line 499" || r.Matches[0].Row < 0 || !r.More {
			t.Errorf("found %+v", r)
		}
		next, err := r.Next.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if r = search(wire.SearchParams{Query: `line 49\d$`, Regexp: true, Before: string(next)}); len(r.Matches) != 6 || r.Matches[0].Text != "line 495" {
			t.Errorf("then %+v", r)
		}
		for _, bad := range []wire.SearchParams{{ID: session.ID}, {ID: session.ID, Query: "(", Regexp: true}, {ID: session.ID, Query: "x", Before: "y"}} {
			if _, err := s.Search(t.Context(), bad); code(err) != wire.CodeInvalid {
				t.Errorf("search for %+v: %v", bad, err)
			}
		}
		for _, max := range []int{0, 1, 100} {
			if text := record(max); !strings.Contains(text, "line 500\nthe end\n") {
				t.Errorf("in pieces of %d it ends with %q", max, text)
			}
		}
	}
	eventually(t, "the output", func() bool {
		return len(search(wire.SearchParams{Query: "the end"}).Matches) == 1
	})
	check()
	if err := s.Kill(t.Context(), session.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end", func() bool { return byID(t, s, session.ID).State == daemon.StateExited })
	eventually(t, "the holder's end", func() bool {
		_, err := s.Dial(t.Context(), session.ID, wire.RoleTool)
		return errors.Is(err, ErrEnded)
	})
	check()
	if _, err := s.Recording(t.Context(), wire.RecordingParams{ID: daemon.NewSessionID()}); !errors.Is(err, ErrUnknownSession) {
		t.Errorf("recording of nothing: %v", err)
	}
}
