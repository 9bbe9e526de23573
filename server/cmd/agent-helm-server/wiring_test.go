package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
	"github.com/agent-helm/agent-helm/server/fleet"
)

// A host that a command removes leaves the registry of a running server.
func TestDropRemoved(t *testing.T) {
	ctx := t.Context()
	data, err := dataFlag{Data: t.TempDir()}.open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := fleet.Open(ctx, fleet.Config{Store: data.store, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := data.close(registry.Close(context.Background())); err != nil {
			t.Error(err)
		}
	}()
	enrol := func(name string) server.HostRecord {
		t.Helper()
		code, _, err := data.auth.CreateCode(ctx, auth.Console(), server.PrincipalHost, 0)
		if err != nil {
			t.Fatal(err)
		}
		host, _, err := data.auth.EnrolHost(ctx, code, name, "192.0.2.7")
		if err != nil {
			t.Fatal(err)
		}
		return host
	}
	names := func() string {
		t.Helper()
		if err := dropRemoved(ctx, data.store, registry); err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, host := range registry.Hosts() {
			list = append(list, host.Name)
		}
		return strings.Join(list, " ")
	}
	laptop, desk := enrol("laptop"), enrol("desk")
	registry.AddHost(laptop)
	registry.AddHost(desk)
	if got := names(); got != "desk laptop" {
		t.Errorf("hosts %q", got)
	}
	if err := data.auth.RemoveHost(ctx, auth.Console(), laptop.ID); err != nil {
		t.Fatal(err)
	}
	if got := names(); got != "desk" {
		t.Errorf("after one was removed: %q", got)
	}
}

// writeCertificate makes a certificate of its own and returns its pin.
func writeCertificate(t *testing.T, dir string, modified time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"helm.example"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: keyDER}} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, modified, modified); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(parsed.RawSubjectPublicKeyInfo)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func TestCertificates_are_read_again(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		written := time.Now()
		first := writeCertificate(t, dir, written)
		command := &serveCommand{TLSCert: filepath.Join(dir, "cert.pem"), TLSKey: filepath.Join(dir, "key.pem")}
		certs, err := command.certificates()
		if err != nil {
			t.Fatal(err)
		}
		serves := func(want string) {
			t.Helper()
			if _, err := certs.get(nil); err != nil {
				t.Fatal(err)
			}
			if pin, err := certs.pin(); err != nil || pin != want {
				t.Errorf("pin %q, %v, want %q", pin, err, want)
			}
		}
		serves(first)
		second := writeCertificate(t, dir, written.Add(time.Second))
		serves(first) // not with every handshake
		time.Sleep(reloadEvery)
		serves(second)
		// A renewal that went wrong leaves what is known.
		if err := os.WriteFile(command.TLSCert, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		later := written.Add(time.Minute)
		if err := os.Chtimes(command.TLSCert, later, later); err != nil {
			t.Fatal(err)
		}
		time.Sleep(reloadEvery)
		serves(second)
	})
}

func TestWritePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "link")
	for _, line := range []string{"one", "two"} {
		if err := writePrivate(path, line); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil || string(content) != line+"\n" {
			t.Errorf("%q, %v", content, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	// A link that somebody put there is not followed.
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.Symlink(victim, path+".new"); err != nil {
		t.Fatal(err)
	}
	if err := writePrivate(path, "three"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(victim); !os.IsNotExist(err) {
		t.Error("the link was followed")
	}
}
