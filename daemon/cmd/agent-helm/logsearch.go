package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/vt"
)

const (
	// maxSearched bounds the matches that logs prints; older ones are left out.
	maxSearched = 100_000
	// searchPage is how many matches are looked for at once.
	searchPage = 1000
)

// checkModes refuses flags that ask for two things.
func (c *logsCommand) checkModes() error {
	switch {
	case c.Search == "" && (c.Regexp || c.JSON):
		return usage("--regexp and --json belong to --search TEXT")
	case c.Search != "" && (c.Raw || c.Follow || c.Cast != ""):
		return usage("--search looks at what there is: leave --raw, --follow and --cast out")
	case c.Cast != "" && (c.Raw || c.Follow || c.Lines > 0 || c.Color != "auto"):
		return usage("--cast records all there is: leave --raw, --follow, -n and --color out")
	}
	return nil
}

// printSearch prints the lines that match, oldest first as they were printed.
func (c *logsCommand) printSearch(app *app, source logSource, out *bufio.Writer) error {
	pattern, err := vt.NewPattern(c.Search, vt.PatternOptions{Regexp: c.Regexp})
	if err != nil {
		return usage("--search: %w", err)
	}
	terminal, err := drawLog(source)
	if err != nil {
		return err
	}
	matches := c.find(terminal, pattern)
	if len(matches) == maxSearched {
		app.note("only the newest %d matches are shown", maxSearched)
	}
	if c.JSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(matches)
	}
	if len(matches) == 0 {
		return errors.New("no line matches")
	}
	for i := 0; i < len(matches); {
		n := 1
		for i+n < len(matches) && sameExcerpt(matches[i], matches[i+n]) {
			n++
		}
		if _, err := fmt.Fprintln(out, showMatches(matches[i:i+n], c.colours(app))); err != nil {
			return err
		}
		i += n
	}
	return nil
}

// drawLog draws the whole log in a terminal of our own.
func drawLog(source logSource) (*vt.Terminal, error) {
	cols, rows := source.Size()
	terminal := vt.New(vt.Options{Cols: int(cols), Rows: int(rows), Scrollback: -1, Archive: maxRendered})
	for {
		piece, err := source.Next()
		switch {
		case errors.Is(err, io.EOF) || err == nil && piece.live:
			return terminal, nil
		case err != nil:
			return nil, err
		case piece.state != nil:
			if terminal, err = vt.Restore(piece.state); err != nil {
				return nil, fmt.Errorf("read last screen: %w", err)
			}
		case piece.cols > 0:
			terminal.Resize(int(piece.cols), int(piece.rows))
		default:
			_, _ = terminal.Write(piece.data) // never fails
			terminal.TakeReplies()
		}
	}
}

// find returns the newest matches, as many lines of them as asked for, in the
// order in which they were printed.
func (c *logsCommand) find(terminal *vt.Terminal, pattern *vt.Pattern) []vt.Match {
	found := []vt.Match{}
	lines := 0
	for o := (vt.SearchOptions{Max: searchPage}); ; {
		result := terminal.Search(pattern, o)
		for _, m := range result.Matches {
			if n := len(found); n == 0 || found[n-1].Line != m.Line {
				lines++
			}
			if c.Lines > 0 && lines > c.Lines || len(found) == maxSearched {
				slices.Reverse(found)
				return found
			}
			// A program may have turned the direction of text.
			m.Text = untrusted.Mask(m.Text)
			found = append(found, m)
		}
		if !result.More {
			slices.Reverse(found)
			return found
		}
		o.Before = result.Next
	}
}

func sameExcerpt(a, b vt.Match) bool { return a.Line == b.Line && a.TextStart == b.TextStart }

// showMatches is one line, cut where it is long, with its matches marked.
func showMatches(matches []vt.Match, colours bool) string {
	const maxExcerpt = 200 // of vt.Match
	text := []rune(matches[0].Text)
	var b strings.Builder
	if matches[0].TextStart > 0 {
		b.WriteString("…")
	}
	at := 0
	for _, m := range matches {
		from := min(m.Rune-m.TextStart, len(text))
		to := min(from+m.Runes, len(text))
		if !colours || from < at {
			continue
		}
		b.WriteString(string(text[at:from]) + "\x1b[1;" + styleRed + "m" + string(text[from:to]) + "\x1b[0m")
		at = to
	}
	b.WriteString(string(text[at:]))
	if len(text) == maxExcerpt {
		b.WriteString("…")
	}
	return b.String()
}
