package vt

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxPattern bounds what is searched for, in bytes.
	MaxPattern = 1000
	// maxProgram bounds a compiled regexp, in instructions: what a search costs
	// grows with it.
	maxProgram = 1000
	// programUnit is how many instructions cost as much as looking for a text.
	programUnit = 8
	// lineWork is what a line costs beside its text.
	lineWork = 16
	// maxLineMatches bounds the matches that are looked at in one line. A regexp
	// may have to read the rest of the line for each of them, so in lines of many
	// thousand characters it finds the first ones only, as lineBudget says.
	maxLineMatches = 4096
	lineBudget     = 8 << 20
)

// A Pattern is what Search looks for. It may be used by many searches at once.
type Pattern struct {
	// needle is the text looked for, folded unless exact.
	needle []byte
	exact  bool
	re     *regexp.Regexp
	// weight is what a byte costs, in bytes of a text's search.
	weight int
}

// PatternOptions say what a pattern is.
type PatternOptions struct {
	// Regexp takes the pattern as RE2 syntax (see regexp/syntax) instead of as a
	// text. It is matched against one logical line at a time.
	Regexp bool
	// CaseSensitive tells capitals from small letters; else letters that differ
	// by Unicode's simple folding alone are the same.
	CaseSensitive bool
}

// ErrPattern is in every error of NewPattern.
var ErrPattern = errors.New("the pattern cannot be used")

// NewPattern prepares a search. The error is a sentence for the person who
// typed the pattern.
func NewPattern(text string, o PatternOptions) (*Pattern, error) {
	switch {
	case text == "":
		return nil, fmt.Errorf("%w: it is empty", ErrPattern)
	case len(text) > MaxPattern:
		return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrPattern, MaxPattern)
	case !utf8.ValidString(text):
		return nil, fmt.Errorf("%w: it is not UTF-8", ErrPattern)
	case strings.ContainsFunc(text, unicode.IsControl):
		return nil, fmt.Errorf("%w: it has control characters, which no screen has", ErrPattern)
	}
	if !o.Regexp {
		p := &Pattern{needle: []byte(text), exact: o.CaseSensitive, weight: 1}
		if !p.exact {
			p.needle = appendFolded(nil, p.needle)
		}
		return p, nil
	}
	flags := syntax.Perl
	if !o.CaseSensitive {
		flags |= syntax.FoldCase
	}
	parsed, err := syntax.Parse(text, flags)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrPattern, describeSyntax(err))
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(program.Inst) > maxProgram {
		return nil, fmt.Errorf("%w: it repeats too much", ErrPattern)
	}
	if !o.CaseSensitive {
		text = "(?i)" + text
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrPattern, describeSyntax(err))
	}
	return &Pattern{re: re, weight: 1 + len(program.Inst)/programUnit}, nil
}

func describeSyntax(err error) string {
	var known *syntax.Error
	if errors.As(err, &known) {
		return fmt.Sprintf("%s: %s", known.Code, known.Expr)
	}
	return err.Error()
}

// cost is how much of a search's work a line was: every match of a regexp may
// have read it again.
func (p *Pattern) cost(bytes, matches int) int {
	if p.re == nil {
		return lineWork + bytes
	}
	return (lineWork + bytes) * p.weight * (1 + matches)
}

// span is a match in a text, in characters.
type span struct{ from, to int }

// find appends the matches in text, from left to right and none empty. folded
// is scratch memory.
func (p *Pattern) find(dst []span, text []byte, folded *[]byte) []span {
	if p.re != nil {
		limit := max(1, min(maxLineMatches, lineBudget/(p.weight*max(1, len(text)))))
		at, runes := 0, 0 // runes characters are before byte at
		for _, loc := range p.re.FindAllIndex(text, limit) {
			if loc[0] == loc[1] {
				continue
			}
			runes += utf8.RuneCount(text[at:loc[0]])
			from := runes
			runes += utf8.RuneCount(text[loc[0]:loc[1]])
			at = loc[1]
			dst = append(dst, span{from, runes})
		}
		return dst
	}
	if !p.exact {
		*folded = appendFolded((*folded)[:0], text)
		text = *folded // as many characters as before
	}
	length := utf8.RuneCount(p.needle)
	for runes := 0; len(dst) < maxLineMatches; runes += length {
		i := bytes.Index(text, p.needle)
		if i < 0 {
			break
		}
		runes += utf8.RuneCount(text[:i])
		dst = append(dst, span{runes, runes + length})
		text = text[i+len(p.needle):]
	}
	return dst
}

// appendFolded appends text with every character replaced by one that stands
// for all that simple folding makes equal to it. The number of characters stays,
// that of bytes need not.
func appendFolded(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		if b := text[i]; b < utf8.RuneSelf {
			if b >= 'a' && b <= 'z' {
				b -= 'a' - 'A'
			}
			dst = append(dst, b)
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		dst = utf8.AppendRune(dst, foldRune(r))
		i += size
	}
	return dst
}

// foldRune is the smallest of the characters that folding makes equal; of ASCII
// letters it is the capital.
func foldRune(r rune) rune {
	if r >= 0x2e80 && r < 0xa640 || r >= 0xac00 && r < 0xf900 {
		return r // Han, kana, Hangul: most of what is not ASCII, and without case
	}
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return least
}
