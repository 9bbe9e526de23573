// Package logging makes the slog.Logger of both programs: text on a terminal,
// JSON for machines, and attributes that carry a secret by their key never
// printed. Messages are constant phrases; facts are attributes. PTY bytes and
// keystrokes are never logged by anybody.
package logging

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Attribute keys used in more than one package.
const (
	KeySession = "session"
	KeyHost    = "host"
	KeyDevice  = "device"
	KeyError   = "error"
	KeyAddress = "address"
)

const redacted = "[redacted]"

// secretWords mark an attribute as secret when its key contains one of them.
var secretWords = []string{"token", "secret", "password", "authorization", "cookie", "ticket", "proof", "code", "capability"}

// Options choose how a logger writes.
type Options struct {
	// Level is "debug", "info", "warn" or "error"; empty is "info".
	Level string
	// JSON selects machine-readable lines.
	JSON bool
}

// New returns a logger that writes to w, or an error that names the bad level.
func New(w io.Writer, options Options) (*slog.Logger, error) {
	level := slog.LevelInfo
	if options.Level != "" {
		if err := level.UnmarshalText([]byte(options.Level)); err != nil {
			return nil, fmt.Errorf("log level %q: use debug, info, warn or error", options.Level)
		}
	}
	handlerOptions := &slog.HandlerOptions{Level: level, ReplaceAttr: redact}
	if options.JSON {
		return slog.New(slog.NewJSONHandler(w, handlerOptions)), nil
	}
	return slog.New(slog.NewTextHandler(w, handlerOptions)), nil
}

func redact(_ []string, attr slog.Attr) slog.Attr {
	key := strings.ToLower(attr.Key)
	for _, word := range secretWords {
		// "exit_code" and "status_code" are numbers that help; a pairing code is a string.
		if strings.Contains(key, word) && attr.Value.Kind() == slog.KindString {
			return slog.String(attr.Key, redacted)
		}
	}
	return attr
}
