package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-helm/agent-helm/server"
)

// Sizes of secrets in bytes before encoding.
const (
	ticketBytes      = 16 // 128 bits: no lockout is needed
	tokenIDBytes     = 10
	tokenSecretBytes = 32
	cookieBytes      = 32
	proofBytes       = 32
	keyBytes         = 32
	deviceIDBytes    = 10
)

// TokenPrefix opens every bearer token, so that secret scanners can find one.
const TokenPrefix = "ah_"

// secretEncoding has neither the separator of a token nor letters in two cases.
var secretEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// randomText returns size random bytes as text.
func randomText(size int) string {
	secret := make([]byte, size)
	// crypto/rand never fails: it ends the process instead.
	rand.Read(secret)
	return secretEncoding.EncodeToString(secret)
}

func hashOf(secret string) server.Hash { return sha256.Sum256([]byte(secret)) }

func sameHash(a, b server.Hash) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }

// formatToken is a bearer token's text.
func formatToken(id, secret string) string { return TokenPrefix + id + "_" + secret }

// parseToken splits a bearer token. It accepts exactly what formatToken makes
// of our own random texts.
func parseToken(token string) (id, secret string, ok bool) {
	rest, ok := strings.CutPrefix(token, TokenPrefix)
	if !ok {
		return "", "", false
	}
	id, secret, ok = strings.Cut(rest, "_")
	if !ok || !isRandomText(id, tokenIDBytes) || !isRandomText(secret, tokenSecretBytes) {
		return "", "", false
	}
	return id, secret, true
}

func isRandomText(text string, size int) bool {
	if len(text) != secretEncoding.EncodedLen(size) {
		return false
	}
	decoded, err := secretEncoding.DecodeString(text)
	// The last character may hold bits that decoding drops: only one spelling is ours.
	return err == nil && secretEncoding.EncodeToString(decoded) == text
}

// CodeAlphabet has no character that is read as another: no 0 and O, no 1, I
// and L.
const CodeAlphabet = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"

// CodeLength is how many characters a code has: 31⁶ = 887,503,681 codes.
const CodeLength = 6

// drawCode draws every code with the same probability: bytes that would favour
// the start of the alphabet are drawn again.
func drawCode() string { return draw(CodeLength) }

// draw draws characters of CodeAlphabet.
func draw(length int) string {
	const limit = 256 - 256%len(CodeAlphabet)
	code := make([]byte, 0, length)
	for len(code) < length {
		var bytes [2 * CodeLength]byte
		rand.Read(bytes[:])
		for _, b := range bytes {
			if int(b) < limit && len(code) < length {
				code = append(code, CodeAlphabet[int(b)%len(CodeAlphabet)])
			}
		}
	}
	return string(code)
}

// normalizeCode makes what a person typed comparable: capitals, no spaces or
// hyphens. It reports false for what cannot be a code.
func normalizeCode(typed string) (string, bool) {
	if len(typed) > 4*CodeLength {
		return "", false
	}
	var code strings.Builder
	for _, r := range strings.ToUpper(typed) {
		switch {
		case r == ' ' || r == '-':
		case r < 0x80 && strings.ContainsRune(CodeAlphabet, r):
			code.WriteRune(r)
		default:
			return "", false
		}
	}
	return code.String(), code.Len() == CodeLength
}

// Key is the server's own secret: it signs cookies and keys the hashes of codes.
type Key [keyBytes]byte

const keyName = "server.key"

// LoadKey reads the key in the data directory, and makes it where it is
// missing. Two processes may do so at once; both return the same key.
func LoadKey(dir string) (Key, error) {
	path := filepath.Join(dir, keyName)
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	temporary, err := os.CreateTemp(dir, keyName+".*") // mode 0600
	if err != nil {
		return Key{}, fmt.Errorf("make server key: %w", err)
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.WriteString(randomText(keyBytes) + "\n")
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return Key{}, fmt.Errorf("make server key: %w", err)
	}
	// A link, unlike a rename, never replaces the key that another process made.
	if err := os.Link(temporary.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return Key{}, fmt.Errorf("make server key: %w", err)
	}
	return readKey(path)
}

func readKey(path string) (Key, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Key{}, fmt.Errorf("read server key: %w", err)
	}
	decoded, err := secretEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(decoded) != keyBytes {
		return Key{}, fmt.Errorf("read server key: %s is damaged: restore it, or remove it and pair every device again", path)
	}
	return Key(decoded), nil
}

// derive makes a secret for one purpose from the key.
func (k Key) derive(purpose string) []byte {
	mac := hmac.New(sha256.New, k[:])
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

// hashCode is a code's stored form. The key makes the few codes there are
// useless to whoever has only the database.
func (k Key) hashCode(code string) server.Hash {
	mac := hmac.New(sha256.New, k.derive("pairing code"))
	mac.Write([]byte(code))
	return server.Hash(mac.Sum(nil))
}

// newUUID is a random (version 4) UUID.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}
