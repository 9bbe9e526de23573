package tailnet

import (
	"net"
	"net/http"
	"time"
)

// redirectTimeout bounds a request that is only sent elsewhere.
const redirectTimeout = 10 * time.Second

// redirect sends whoever typed the bare name to HTTPS, until the listener is
// closed. It looks at nothing but the path: no cookie is read or set here.
func redirect(listener net.Listener, target func() string) {
	server := &http.Server{
		ReadTimeout: redirectTimeout, WriteTimeout: redirectTimeout, IdleTimeout: redirectTimeout, MaxHeaderBytes: 8 << 10,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet && r.Method != http.MethodHead {
				// A body was sent in the clear already; do not ask for it again.
				http.Error(w, "use "+target(), http.StatusMisdirectedRequest)
				return
			}
			w.Header().Set("Connection", "close")
			http.Redirect(w, r, target()+r.URL.EscapedPath(), http.StatusTemporaryRedirect)
		}),
	}
	// It ends when the node closes the listener, which is no fault.
	_ = server.Serve(listener)
}
