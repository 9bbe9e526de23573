package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/daemon/uplink"
)

const (
	// hostName is what the Host header has to be. No browser can be made to
	// send it: the socket is not reachable for one, and this is not a name of
	// the DNS.
	hostName = "agent-helm"
	// maxBody bounds a request's body in bytes.
	maxBody = 4 << 10
	// requestTimeout bounds one request, reading and writing together.
	requestTimeout = 10 * time.Second
	// rebindInterval is how often the socket is looked for; a deleted one
	// comes back.
	rebindInterval = 2 * time.Second
	// shutdownGrace is how long requests may take to end.
	shutdownGrace = 2 * time.Second
)

// Status is what the daemon says of itself.
type Status struct {
	Version string    `json:"version"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	// Uplink is the link to the server.
	Uplink uplink.Status `json:"uplink"`
	// Sessions are those of this host.
	Sessions []daemon.Session `json:"sessions"`
}

// Handler is what the daemon does when it is asked. All of it may be called
// from several goroutines at once.
type Handler struct {
	Status   func(context.Context) (Status, error)
	Nudge    func()
	Shutdown func()
	// Pair asks the server for a code; see uplink.Uplink.AskForCode.
	Pair func(ctx context.Context, scopes []string, noted func(uplink.Asked) error) (uplink.Answer, error)
}

// Server is the daemon's end of the socket, and the claim on the state directory.
type Server struct {
	dirs daemon.Dirs
	lock *lock
	log  *slog.Logger

	mu       sync.Mutex
	listener *net.UnixListener
}

// Listen claims the state directory and opens the socket. *BusyError: another
// daemon is there. Close gives both back. log may be nil.
func Listen(dirs daemon.Dirs, logger *slog.Logger) (*Server, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if err := dirs.Create(); err != nil {
		return nil, err
	}
	lock, err := acquire(dirs)
	if err != nil {
		return nil, err
	}
	listener, err := bind(dirs)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return &Server{dirs: dirs, lock: lock, log: logger, listener: listener}, nil
}

// bind opens the socket with mode 0600. What stands in its place is stale,
// because the lock is ours.
func bind(dirs daemon.Dirs) (*net.UnixListener, error) {
	path := dirs.DaemonSocket()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("replace socket: %w", err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("open socket: %w", err)
	}
	// Another daemon's socket may stand there when this one is closed.
	listener.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("open socket: %w", err), listener.Close())
	}
	return listener, nil
}

// Serve answers requests until ctx ends. It returns nil then, after the last
// request and its own goroutines have ended.
func (s *Server) Serve(ctx context.Context, handler Handler) error {
	server := &http.Server{
		Handler:           s.routes(handler),
		ConnContext:       withConnection,
		ReadTimeout:       requestTimeout,
		ReadHeaderTimeout: requestTimeout,
		WriteTimeout:      requestTimeout,
		IdleTimeout:       requestTimeout,
		MaxHeaderBytes:    maxBody,
		ErrorLog:          log.New(logWriter{s.log}, "", 0),
	}
	failed := make(chan error, 1)
	var serving sync.WaitGroup
	serve := func(listener *net.UnixListener) {
		serving.Go(func() {
			err := server.Serve(ownerOnly{listener, s.log})
			// A listener that was replaced because its socket vanished has ended
			// on purpose.
			if !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	serve(s.current())
	ticker := time.NewTicker(rebindInterval)
	defer ticker.Stop()
	var result error
	for running := true; running; {
		select {
		case <-ticker.C:
			if fresh := s.rebind(); fresh != nil {
				serve(fresh)
			}
		case err := <-failed:
			result, running = fmt.Errorf("serve control socket: %w", err), false
		case <-ctx.Done():
			running = false
		}
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if server.Shutdown(ending) != nil {
		server.Close()
	}
	serving.Wait()
	return result
}

func (s *Server) current() *net.UnixListener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listener
}

// rebind opens the socket again when it was deleted; nil when all is well.
func (s *Server) rebind() *net.UnixListener {
	if info, err := os.Lstat(s.dirs.DaemonSocket()); err == nil && info.Mode()&fs.ModeSocket != 0 {
		return nil
	}
	fresh, err := bind(s.dirs)
	if err != nil {
		s.log.Warn("control socket cannot be opened again", "error", err)
		return nil
	}
	s.mu.Lock()
	old := s.listener
	s.listener = fresh
	s.mu.Unlock()
	old.Close()
	return fresh
}

// Close removes the socket and gives the state directory free.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener.Close() // Serve has closed it already
	err := os.Remove(s.dirs.DaemonSocket())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, s.lock.release())
}

// ownerOnly accepts connections of our own user. Nothing is said to others.
type ownerOnly struct {
	*net.UnixListener
	log *slog.Logger
}

func (l ownerOnly) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		uid, _, err := holder.Peer(conn)
		if err == nil && uid == os.Getuid() {
			return conn, nil
		}
		l.log.Warn("connection of another user refused", "uid", uid, "error", err)
		conn.Close()
	}
}

type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(p []byte) (int, error) {
	w.log.Debug("control request failed", "error", string(p))
	return len(p), nil
}

// failure is an error as it is sent.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// connectionKey is the context's key of a request's connection.
type connectionKey struct{}

func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// inside says whether a request comes from a program inside a session. In
// doubt it does.
func (s *Server) inside(r *http.Request) bool {
	conn, ok := r.Context().Value(connectionKey{}).(*net.UnixConn)
	if !ok {
		return true
	}
	_, pid, err := holder.Peer(conn)
	return err != nil || holder.InsideSession(s.dirs, pid)
}

func (s *Server) routes(handler Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		status, err := handler.Status(r.Context())
		if err != nil {
			answer(w, http.StatusInternalServerError, failure{"internal", err.Error()})
			return
		}
		answer(w, http.StatusOK, status)
	})
	mux.HandleFunc("POST /nudge", func(w http.ResponseWriter, _ *http.Request) {
		handler.Nudge()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /shutdown", func(w http.ResponseWriter, r *http.Request) {
		if s.inside(r) {
			s.log.Warn("a program inside a session tried to end the daemon")
			answer(w, http.StatusForbidden, failure{"forbidden", "a program inside a session may not end the daemon: do it from another terminal"})
			return
		}
		w.WriteHeader(http.StatusAccepted)
		handler.Shutdown()
	})
	mux.HandleFunc("POST /pairing", func(w http.ResponseWriter, r *http.Request) {
		if s.inside(r) {
			s.log.Warn("a program inside a session tried to ask for a pairing code")
			answer(w, http.StatusForbidden, failure{"forbidden", "a program inside a session may not let a device in: do it from another terminal"})
			return
		}
		s.pair(w, r, handler)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusNotFound, failure{"not_found", "the daemon has no such request: its version may be older than the command's"})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != hostName || len(r.Header.Values("Origin")) > 0 {
			answer(w, http.StatusForbidden, failure{"forbidden", "this socket is for agent-helm's own command line"})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		mux.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(body) //nolint:errcheck // the client has gone; there is nobody to tell
}
