package vt

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"
)

type queryCase struct {
	Name, Query, Class           string
	Prefix, Intermediates, Final string
	Osc                          *int
	Params                       []int32
	Answer, Claims               string
}

func readQueries(tb testing.TB) []queryCase {
	tb.Helper()
	p, err := os.ReadFile("testdata/queries/queries.json")
	if err != nil {
		tb.Fatal(err)
	}
	var list []queryCase
	if err := json.Unmarshal(p, &list); err != nil {
		tb.Fatal(err)
	}
	return list
}

// TestQueries checks that each query of the table gets its answer and nothing
// else, and that the filter takes it out, at every cut.
func TestQueries(t *testing.T) {
	for _, q := range readQueries(t) {
		t.Run(q.Name, func(t *testing.T) {
			term := New(Options{Cols: 80, Rows: 24})
			term.Write([]byte(q.Query))
			if got := string(term.TakeReplies()); got != q.Answer {
				t.Errorf("answer %q, want %q", got, q.Answer)
			}
			term.Write([]byte("x"))
			if got := term.Text(TextOptions{}); got != "x\n" {
				t.Errorf("screen %q after it", got)
			}
			stream := []byte("a\u00e9" + q.Query + "\u65e5b")
			want := "a\u00e9\u65e5b"
			if q.Query == "\x05" {
				want = "a\u00e9\x00\u65e5b" // NUL, which draws nothing, stands in its place
			}
			for cut := range stream {
				f := NewQueryFilter()
				out := f.Filter(nil, stream[:cut])
				out = f.Filter(out, stream[cut:])
				if out = f.Flush(out); string(out) != want {
					t.Fatalf("cut at %d: filtered to %q", cut, out)
				}
			}
			if q.Answer == "" {
				return
			}
			// Answers of a real terminal look like ours.
			f := NewReplyFilter()
			if out := f.Flush(f.Filter(nil, []byte("k"+q.Answer+"l"))); string(out) != "kl" && q.Name != "CPR" {
				t.Errorf("answer filtered to %q", out)
			}
		})
	}
}

// TestQueries_complete checks that the code's tables and the file agree.
func TestQueries_complete(t *testing.T) {
	csi, dcs, osc := map[uint32][]int32{}, map[uint32]bool{}, map[int]bool{}
	for _, q := range readQueries(t) {
		one := func(s string) byte {
			if s == "" {
				return 0
			}
			return s[0]
		}
		k := key(one(q.Prefix), one(q.Intermediates), one(q.Final))
		switch q.Class {
		case "csi":
			csi[k] = append(csi[k], q.Params...)
		case "dcs":
			dcs[k] = true
		case "osc":
			osc[*q.Osc] = true
		}
	}
	for k, params := range csiQueries {
		listed, ok := csi[k]
		slices.Sort(listed)
		if !ok || !slices.Equal(listed, params) {
			t.Errorf("CSI %x with %v is in the code, the file has %v", k, params, listed)
		}
		delete(csi, k)
	}
	for k := range dcsQueries {
		if !dcs[k] {
			t.Errorf("DCS %x is not in the file", k)
		}
		delete(dcs, k)
	}
	for n := range oscQueries {
		if !osc[n] {
			t.Errorf("OSC %d is not in the file", n)
		}
		delete(osc, n)
	}
	if len(csi)+len(dcs)+len(osc) != 0 {
		t.Errorf("not in the code: CSI %v, DCS %v, OSC %v", csi, dcs, osc)
	}
}

// TestQueryFilter_passes feeds what is no query.
func TestQueryFilter_passes(t *testing.T) {
	for _, s := range []string{
		"plain text \u65e5\u672c\r\n", "\x1b[31mred\x1b[m", "\x1b[2J\x1b[H", "\x1b]0;a title?\a", "\x1b]2;\u2733 Claude\x1b\\",
		"\x1b]4;1;rgb:00/00/00\a", "\x1b]10;#ffffff\x1b\\", "\x1b]52;c;aGVsbG8=\a", "\x1b]8;;http://x/?a\x1b\\link\x1b]8;;\x1b\\",
		"\x1b[22;0t", "\x1b[8;24;80t", "\x1b[>4;2m", "\x1b[>1u", "\x1b[<u", "\x1b[?1049h", "\x1b[1;2r", "\x1b[s\x1b[u",
		"\x1bP1;2q#0;2;0;0;0-\x1b\\", "\x1b_Ga=t;AAAA\x1b\\", "\x1b_other\x1b\\", "\x1b^pm\x1b\\", "\x1bXsos\x1b\\",
		"\x1b[", "\x1b]52;c;", "\x1b", "\xc2\x9b31m", "\xff\xfe\xc3", "\xe2\x80", "\x1b[1;\x18", "\x1b]7501;state=idle:app=x\a",
		"\x1b]1337;File=name=x:AAAA\a", "\x1b]99;i=1;hello\x1b\\", "\x1b(B\x1b)0\x1b#8", "\x1b[ q\x1b[2 q", "\x1b[1q",
	} {
		for cut := range len(s) {
			f := NewQueryFilter()
			out := f.Filter(nil, []byte(s[:cut]))
			out = f.Filter(out, []byte(s[cut:]))
			if out = f.Flush(out); string(out) != s {
				t.Errorf("%q cut at %d became %q", s, cut, out)
			}
		}
	}
	// What a terminal obeys inside of a query stays.
	f := NewQueryFilter()
	if out := f.Filter(nil, []byte("a\x1b[\r\n6nb\x1b[5\bnc")); string(out) != "a\r\nb\bc" {
		t.Errorf("controls inside: %q", out)
	}
}

// TestReplyFilter_passes feeds what people and mice send.
func TestReplyFilter_passes(t *testing.T) {
	for _, s := range []string{
		"hello", "\x1b[A", "\x1bOA", "\x1b[1;5C", "\x1b[3~", "\x1b[15;2~", "\x1bOR", "\x1b[1;2R", "\x1b[1;8R", "\x1b[Z", "\x1bb",
		"\x1b[97;5u", "\x1b[27;5;97~", "\x1b[<0;10;20M", "\x1b[<0;10;20m", "\x1b[I", "\x1b[O", "\x1b[M \xc2\x9b", "\x1b[M\x1b]x",
		"\x1b[200~pasted \x1b[?1;2c \x1b]11;rgb:0/0/0\a text\x1b[201~", "\x03", "\u00e9\u65e5", "\x1b\x1b[A", "\x1b",
	} {
		for cut := range len(s) {
			f := NewReplyFilter()
			out := f.Filter(nil, []byte(s[:cut]))
			out = f.Filter(out, []byte(s[cut:]))
			if out = f.Flush(out); string(out) != s {
				t.Errorf("%q cut at %d became %q", s, cut, out)
			}
		}
	}
}

// TestReplyFilter_removes feeds answers of real terminals between keys.
func TestReplyFilter_removes(t *testing.T) {
	for _, s := range []string{
		"\x1b[?64;1;2;6;9;15;16;17;18;21;22;28c", "\x1b[>41;377;0c", "\x1b[24;80R", "\x1b[?24;80;1R", "\x1b[0n", "\x1b[?2026;2$y",
		"\x1b[4;1$y", "\x1b[?5u", "\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\", "\x1b]10;rgb:ff/ff/ff\a", "\x1b]4;3;rgb:00/00/00\x1b\\",
		"\x1bP>|xterm(377)\x1b\\", "\x1bP1$r0m\x1b\\", "\x1bP1+r544e=787465726d\x1b\\", "\x1bP!|00000000\x1b\\", "\x1b[8;24;80t",
		"\x1b[4;600;800t", "\x1b]52;c;aGVsbG8=\a", "\x1b]lTitle\x1b\\", "\x1b]LIcon\x1b\\", "\x1b[?997;1n", "\x1b[>4;2m", "\x1b_Gi=31;OK\x1b\\",
	} {
		for cut := range len(s) {
			f := NewReplyFilter()
			out := f.Filter(nil, []byte("a"+s[:cut]))
			out = f.Filter(out, []byte(s[cut:]+"\x1b[Bz"))
			if string(out) != "a\x1b[Bz" {
				t.Errorf("%q cut at %d left %q", s, cut, out)
			}
		}
	}
}

// TestReplyFilter_flush: a lone Escape is held until Flush, and then gone.
func TestReplyFilter_flush(t *testing.T) {
	f := NewReplyFilter()
	if out := f.Filter(nil, []byte("\x1b")); len(out) != 0 || !f.Held() {
		t.Fatalf("escape passed at once: %q", out)
	}
	if out := f.Flush(nil); string(out) != "\x1b" || f.Held() {
		t.Fatalf("flush gave %q", out)
	}
	if out := f.Filter(nil, []byte("]11;rgb:0/0/0\a")); string(out) != "]11;rgb:0/0/0\a" {
		t.Fatalf("typed text became %q", out)
	}
}

// fuzzSplit checks that a filter does not care for cuts, and gives back what it
// filtered unchanged when it filters that again.
func fuzzSplit(t *testing.T, stream []byte, cut uint16, filter func() (func(dst, src []byte) []byte, func(dst []byte) []byte)) []byte {
	t.Helper()
	f, flush := filter()
	whole := flush(f(nil, stream))
	at := 0
	if len(stream) > 0 {
		at = int(cut) % len(stream)
	}
	f, flush = filter()
	if parts := flush(f(f(nil, stream[:at]), stream[at:])); !bytes.Equal(parts, whole) {
		t.Fatalf("%q cut at %d: %q, whole %q", stream, at, parts, whole)
	}
	f, flush = filter()
	var single []byte
	for _, b := range stream {
		single = f(single, []byte{b})
	}
	if single = flush(single); !bytes.Equal(single, whole) {
		t.Fatalf("%q byte by byte: %q, whole %q", stream, single, whole)
	}
	return whole
}

func FuzzQueryFilter(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(newGenerator(seed, false).stream(30), uint16(seed*7))
	}
	for _, q := range readQueries(f) {
		f.Add([]byte("x"+q.Query+"y"), uint16(2))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cut uint16) {
		out := fuzzSplit(t, stream, cut, func() (func(dst, src []byte) []byte, func([]byte) []byte) {
			f := NewQueryFilter()
			return f.Filter, f.Flush
		})
		// Nothing that passed makes our terminal answer.
		term := New(Options{Cols: 20, Rows: 5, Scrollback: -1, Archive: -1})
		term.Write(out)
		if r := term.TakeReplies(); len(r) > 0 {
			t.Fatalf("%q passed as %q, which gets the answer %q", stream, out, r)
		}
		// And the screen is the same as without the filter.
		plain := New(Options{Cols: 20, Rows: 5, Scrollback: -1, Archive: -1})
		plain.Write(stream)
		if plain.parser.state == stGround && term.parser.state == stGround {
			if a, b := plain.Text(TextOptions{}), term.Text(TextOptions{}); a != b && !bytes.Contains(stream, []byte("\x1b[")) {
				t.Fatalf("%q: screen %q, filtered %q", stream, a, b)
			}
		}
	})
}

func FuzzReplyFilter(f *testing.F) {
	for _, s := range []string{"a\x1b[?1;2cb", "\x1b[200~\x1b[?1;2c\x1b[201~", "\x1b[M abc", "\x1b]11;rgb:0/0/0\x1b\\", "\x1bP>|x\x1b\\", "\xc2\x9b6n"} {
		f.Add([]byte(s), uint16(3))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cut uint16) {
		fuzzSplit(t, stream, cut, func() (func(dst, src []byte) []byte, func([]byte) []byte) {
			f := NewReplyFilter()
			return f.Filter, f.Flush
		})
	})
}
