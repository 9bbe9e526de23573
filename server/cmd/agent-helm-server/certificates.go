package main

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// reloadEvery is how often a handshake looks whether the files have changed:
// certificates are renewed every few weeks.
const reloadEvery = time.Minute

// certificates reads a certificate from files, and again when they change.
type certificates struct {
	certFile, keyFile string

	mu       sync.Mutex
	current  *tls.Certificate // guarded by mu
	modified time.Time        // of current's files; guarded by mu
	checked  time.Time        // guarded by mu
}

// certificates returns nil for plain HTTP.
func (c *serveCommand) certificates() (*certificates, error) {
	if c.TLSCert == "" && c.TLSKey == "" {
		return nil, nil
	}
	if c.TLSCert == "" || c.TLSKey == "" {
		return nil, errors.New("--tls-cert and --tls-key belong together: give both")
	}
	certs := &certificates{certFile: c.TLSCert, keyFile: c.TLSKey}
	if err := certs.load(); err != nil {
		return nil, err
	}
	return certs, nil
}

// load reads the files. The caller holds mu, or is alone.
func (c *certificates) load() error {
	modified := newest(c.certFile, c.keyFile)
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("read certificate: %w", err)
	}
	c.current, c.modified, c.checked = &pair, modified, time.Now()
	return nil
}

func newest(files ...string) time.Time {
	var latest time.Time
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(latest) {
			latest = info.ModTime()
		}
	}
	return latest
}

// get is the certificate for a handshake. Files that are half written or gone
// leave the one that is known.
func (c *certificates) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= reloadEvery {
		c.checked = now
		if modified := newest(c.certFile, c.keyFile); modified.After(c.modified) {
			if pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile); err == nil {
				c.current, c.modified = &pair, modified
			}
		}
	}
	return c.current, nil
}

func (c *certificates) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}
}

// pin is the hash of the public key that hosts remember.
func (c *certificates) pin() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current.Leaf == nil {
		return "", errors.New("read certificate: it has no leaf")
	}
	sum := sha256.Sum256(c.current.Leaf.RawSubjectPublicKeyInfo)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}
