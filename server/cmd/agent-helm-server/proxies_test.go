package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

const (
	proxiedName = "helm.example"
	// proxyPatience bounds waits for a proxy that must start or answer.
	proxyPatience = 30 * time.Second
)

// snippet is the part of docs/REMOTE-ACCESS.md in a fence of that kind: what
// people copy is what is tested.
func snippet(t *testing.T, kind string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/REMOTE-ACCESS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n```"+kind+"\n")
	body, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatalf("no %s in the page", kind)
	}
	return body + "\n"
}

func replaceAll(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the snippet does not say %q", pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// start runs a program in the foreground until the test ends.
func start(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed here", name)
	}
	var output bytes.Buffer
	command := exec.Command(path, args...)
	command.Stdout, command.Stderr = &output, &output
	command.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait() // a proxy's exit code says how it was ended
		if t.Failed() {
			t.Logf("%s said: %s", name, output.String())
		}
	})
}

// serving is a server in this process, behind a proxy.
type serving struct {
	t    *testing.T
	data string
}

func serveFor(t *testing.T, dir string, args ...string) *serving {
	t.Helper()
	s := &serving{t: t, data: filepath.Join(dir, "data")}
	address := filepath.Join(dir, "address")
	ctx, cancel := context.WithCancel(t.Context())
	var output bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{"serve", "--data", s.data, "--listen", "127.0.0.1:0", "--address-file", address, "--public-url", "https://" + proxiedName}, args...),
			streams{in: strings.NewReader(""), out: io.Discard, err: &output})
	}()
	t.Cleanup(func() {
		cancel()
		if code := <-ended; code != 0 {
			t.Errorf("the server ended with %d: %s", code, output.String())
		}
	})
	waitFor(t, "the server", func() error { _, err := os.Stat(address); return err })
	return s
}

func waitFor(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(proxyPatience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(10 * time.Millisecond) // between two looks, not to wait for something
	}
}

// device pairs through the proxy, as a browser at its public address does.
type device struct {
	t       *testing.T
	client  *http.Client
	headers http.Header
}

// throughProxy is a browser at address 127.0.0.5, for which the public name
// means the proxy.
func throughProxy(t *testing.T, port string, root []byte) *device {
	t.Helper()
	pool := x509.NewCertPool()
	block, _ := pem.Decode(root)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(certificate)
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 5)}}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: proxiedName},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", "127.0.0.1:"+port)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	d := &device{t: t, client: &http.Client{Transport: transport}, headers: http.Header{
		"Origin": {"https://" + proxiedName}, "Sec-Fetch-Site": {"same-origin"},
		// What a liar would send along.
		"X-Forwarded-For": {"203.0.113.66"}, "Tailscale-User-Login": {"owner@example.com"}, "X-Forwarded-Proto": {"https"},
	}}
	waitFor(t, "the proxy", func() error {
		status, _, err := d.do(http.MethodGet, "/api/health", nil)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("status %d", status)
		}
		return err
	})
	return d
}

func (d *device) do(method, path string, body any) (int, string, error) {
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return 0, "", err
		}
		reader = bytes.NewReader(encoded)
	}
	ctx, cancel := context.WithTimeout(d.t.Context(), proxyPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "https://"+proxiedName+path, reader)
	if err != nil {
		return 0, "", err
	}
	request.Header = d.headers.Clone()
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := d.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	for _, cookie := range response.Cookies() {
		d.headers.Set("Cookie", cookie.Name+"="+cookie.Value)
	}
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

func (d *device) wants(method, path string, body any, status int) string {
	d.t.Helper()
	got, content, err := d.do(method, path, body)
	if err != nil || got != status {
		d.t.Fatalf("%s %s: %d, %v, want %d: %.300s", method, path, got, err, status, content)
	}
	return content
}

// works goes through everything that a proxy can spoil.
func (d *device) works(s *serving) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), proxyPatience)
	defer cancel()
	d.wants(http.MethodGet, "/api/me", nil, http.StatusUnauthorized)
	data, err := dataFlag{Data: s.data}.open(ctx)
	if err != nil {
		d.t.Fatal(err)
	}
	ticket, _, err := data.auth.CreateTicket(ctx, auth.Console(), server.AllScopes)
	if err = data.close(err); err != nil {
		d.t.Fatal(err)
	}
	d.wants(http.MethodPost, "/api/pair", map[string]string{"ticket": ticket, "name": "Pixel"}, http.StatusOK)
	if !strings.HasPrefix(d.headers.Get("Cookie"), auth.SecureCookieName+"=") {
		d.t.Errorf("cookie %.30q: the server does not know that this is https", d.headers.Get("Cookie"))
	}
	// The caller's address, and not the one it wrote itself, nor the proxy's.
	if list := d.wants(http.MethodGet, "/api/devices", nil, http.StatusOK); !strings.Contains(list, `"address":"127.0.0.5"`) {
		d.t.Errorf("devices: %s", list)
	}
	if check := d.wants(http.MethodGet, "/api/check", nil, http.StatusOK); !strings.Contains(check, `"proxy":"trusted"`) || !strings.Contains(check, `"secure":true`) || !strings.Contains(check, `"public":true`) {
		d.t.Errorf("check: %s", check)
	}

	// Events come as they happen: the stream's first one while it stays open.
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+proxiedName+"/api/events", nil)
	if err != nil {
		d.t.Fatal(err)
	}
	request.Header = d.headers.Clone()
	response, err := d.client.Do(request)
	if err != nil {
		d.t.Fatal(err)
	}
	defer response.Body.Close()
	if line, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil || response.StatusCode != http.StatusOK || line == "" {
		d.t.Errorf("events: %d %q, %v", response.StatusCode, line, err)
	}

	conn, _, err := websocket.Dial(ctx, "https://"+proxiedName+"/api/ws", &websocket.DialOptions{HTTPClient: d.client, HTTPHeader: d.headers})
	if err != nil {
		d.t.Fatalf("socket: %v", err)
	}
	defer conn.CloseNow()
	hello, err := wire.Append(wire.AppendPreamble(nil), &wire.ViewerHello{Version: "test", Visible: true})
	if err == nil {
		err = conn.Write(ctx, websocket.MessageBinary, hello)
	}
	if err == nil {
		_, _, err = conn.Read(ctx)
	}
	if err != nil {
		d.t.Errorf("socket: %v", err)
	}
}

// shortDir has a path that is short enough for a unix socket, which a proxy
// that runs as another user may enter.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "helm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

func nginxConfig(t *testing.T, dir, http string) string {
	t.Helper()
	user := ""
	if os.Getuid() == 0 {
		user = "user root;\n" // its workers would be another user, who may not open our socket
	}
	config := fmt.Sprintf(`%sdaemon off;
pid %[2]s/nginx.pid;
error_log stderr warn;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path %[2]s/body; proxy_temp_path %[2]s/proxy; fastcgi_temp_path %[2]s/fastcgi; uwsgi_temp_path %[2]s/uwsgi; scgi_temp_path %[2]s/scgi;
%[3]s
}
`, user, dir, http)
	path := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestProxy_nginx(t *testing.T) {
	dir := shortDir(t)
	writeCertificate(t, dir, time.Now())
	port, plain := freePort(t), freePort(t)
	config := replaceAll(t, snippet(t, "nginx"), "listen 443", "listen 127.0.0.1:"+port, "listen 80", "listen 127.0.0.1:"+plain,
		"/etc/ssl/helm.example/fullchain.pem", dir+"/cert.pem", "/etc/ssl/helm.example/privkey.pem", dir+"/key.pem", "/run/agent-helm/helm.sock", dir+"/helm.sock")
	start(t, dir, "nginx", "-p", dir, "-c", nginxConfig(t, dir, config))
	s := serveFor(t, dir, "--proxy-socket", dir+"/helm.sock")
	d := throughProxy(t, port, readFile(t, dir+"/cert.pem"))
	d.works(s)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+plain+"/hosts", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = proxiedName
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if got := response.Header.Get("Location"); response.StatusCode != http.StatusPermanentRedirect || got != "https://"+proxiedName+"/hosts" {
		t.Errorf("plain HTTP: %d to %q", response.StatusCode, got)
	}
}

// Nginx Proxy Manager writes the server block itself and puts what stands under
// Advanced into it, below settings of its own: short timeouts, no compression
// towards the server, and what Websockets Support and Force SSL add.
func TestProxy_nginx_proxy_manager(t *testing.T) {
	dir := shortDir(t)
	writeCertificate(t, dir, time.Now())
	port := freePort(t)
	advanced := replaceAll(t, snippet(t, "nginx-proxy-manager"), "/run/agent-helm/helm.sock", dir+"/helm.sock")
	block := fmt.Sprintf(`server {
    set $forward_scheme http; set $server "192.0.2.1"; set $port 80;
    listen 127.0.0.1:%s ssl http2;
    server_name helm.example;
    ssl_certificate %s/cert.pem; ssl_certificate_key %[2]s/key.pem;
    if ($scheme = "http") { return 301 https://$host$request_uri; }
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection $http_connection;
%s}`, port, dir, advanced)
	own := "gzip on; proxy_read_timeout 90s; proxy_send_timeout 90s; proxy_http_version 1.1; proxy_set_header Accept-Encoding \"\"; proxy_set_header X-Forwarded-Scheme $scheme;\n"
	start(t, dir, "nginx", "-p", dir, "-c", nginxConfig(t, dir, own+block))
	s := serveFor(t, dir, "--proxy-socket", dir+"/helm.sock")
	throughProxy(t, port, readFile(t, dir+"/cert.pem")).works(s)
}

// A proxy elsewhere proves itself by address and secret, over TLS.
func TestProxy_on_another_machine(t *testing.T) {
	dir := shortDir(t)
	writeCertificate(t, dir, time.Now())
	const secret = "0123456789abcdef0123456789abcdef"
	for name, content := range map[string]string{"secret": secret, "secret.conf": "proxy_set_header X-Agent-Helm-Proxy-Secret \"" + secret + "\";\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := serveFor(t, dir, "--tls-cert", dir+"/cert.pem", "--tls-key", dir+"/key.pem", "--trusted-proxy", "127.0.0.1", "--proxy-secret-file", dir+"/secret")
	address := strings.TrimPrefix(strings.TrimSpace(string(readFile(t, dir+"/address"))), "https://")
	port := freePort(t)
	location := replaceAll(t, snippet(t, "nginx-remote"), "10.0.0.5:7777", address, "/etc/ssl/helm.example/agent-helm.pem", dir+"/cert.pem",
		"/etc/nginx/agent-helm-secret.conf", dir+"/secret.conf")
	block := fmt.Sprintf(`map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
server {
    listen 127.0.0.1:%s ssl;
    server_name helm.example;
    ssl_certificate %s/cert.pem; ssl_certificate_key %[2]s/key.pem;
%s}`, port, dir, location)
	start(t, dir, "nginx", "-p", dir, "-c", nginxConfig(t, dir, block))
	throughProxy(t, port, readFile(t, dir+"/cert.pem")).works(s)
}

func TestProxy_caddy(t *testing.T) {
	dir := shortDir(t)
	writeCertificate(t, dir, time.Now())
	port := freePort(t)
	// Only the certificate and the port differ from what people use.
	site := replaceAll(t, snippet(t, "caddyfile"), "helm.example {", "https://helm.example:"+port+" {\n\ttls "+dir+"/cert.pem "+dir+"/key.pem", "/run/agent-helm/helm.sock", dir+"/helm.sock")
	config := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(config, []byte("{\n\tadmin off\n\tauto_https off\n}\n"+site), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, dir, "caddy", "run", "--config", config, "--adapter", "caddyfile")
	s := serveFor(t, dir, "--proxy-socket", dir+"/helm.sock")
	throughProxy(t, port, readFile(t, dir+"/cert.pem")).works(s)
}

// A socket that a dead server left is replaced; anything else is not.
func TestBindSocket(t *testing.T) {
	dir := shortDir(t)
	path := filepath.Join(dir, "helm.sock")
	listener, err := bindSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	if _, err := bindSocket(path); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second one: %v", err)
	}
	listener.Close()
	again, err := bindSocket(path)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if err := os.Symlink("/dev/null", path); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	if _, err := bindSocket(path); err == nil {
		t.Error("a symbolic link was replaced")
	}
}
