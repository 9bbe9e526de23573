package tailnet

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tailscale.com/ipn"
	"tailscale.com/ipn/ipnstate"
)

// Phase is how far a node has come.
type Phase string

// Phases, in the order in which a node passes through them.
const (
	PhaseStarting Phase = "starting" // talks to the control server
	PhaseLogin    Phase = "login"    // somebody has to open State.LoginURL
	PhaseApproval Phase = "approval" // an admin of the tailnet has to approve the machine
	PhaseNoHTTPS  Phase = "no_https" // in the tailnet, which gives no certificates
	PhaseUp       Phase = "up"       // serves
	PhaseFailed   Phase = "failed"   // State.Problem says why
)

// State is what a person wants to know of the node.
type State struct {
	Phase Phase
	// LoginURL is where the node's owner signs it in. It is a credential until
	// somebody has used it: never log it.
	LoginURL string
	// Name is the node's full name, without a dot at the end; URL is its address.
	Name, URL string
	// Owner is the login that the node belongs to; empty for a tagged node.
	Owner string
	// KeyExpires is when the node has to sign in again; zero for never.
	KeyExpires time.Time
	// Problem is one sentence that says what is wrong and what to do, empty when
	// nothing is.
	Problem string
}

// warnBefore is how long before its key expires a node begins to say so: time
// for somebody who looks in once a week.
const warnBefore = 14 * 24 * time.Hour

// stateOf reads what the node says of itself.
func stateOf(status *ipnstate.Status, ownCertificate bool, now time.Time) State {
	state := State{Phase: PhaseStarting, LoginURL: status.AuthURL}
	self := status.Self
	if self != nil {
		state.Name = strings.TrimSuffix(self.DNSName, ".")
		if self.KeyExpiry != nil {
			state.KeyExpires = *self.KeyExpiry
		}
		if self.Tags == nil || self.Tags.Len() == 0 {
			state.Owner = status.User[self.UserID].LoginName
		}
	}
	switch status.BackendState {
	case ipn.NeedsLogin.String():
		// Without an address it is still being asked for, or an auth key is tried.
		if status.AuthURL != "" {
			state.Phase, state.Problem = PhaseLogin, "The node is not signed in: open the link that serve printed, or give --tailscale-auth-key-file."
		}
	case ipn.NeedsMachineAuth.String():
		state.Phase, state.Problem = PhaseApproval, "An admin of the tailnet has to approve this machine in the admin console."
	case ipn.Running.String():
		state.LoginURL = ""
		state.Phase, state.Problem = runningPhase(status, ownCertificate)
		if state.Phase == PhaseUp {
			state.URL = "https://" + state.Name
		}
	}
	if state.Problem == "" {
		state.Problem = expiryProblem(state.KeyExpires, now)
	}
	return state
}

func runningPhase(status *ipnstate.Status, ownCertificate bool) (Phase, string) {
	switch {
	case status.CurrentTailnet == nil || !status.CurrentTailnet.MagicDNSEnabled:
		return PhaseNoHTTPS, "The tailnet has no MagicDNS, so the node has no name: enable it in the admin console under DNS."
	case !ownCertificate && !slices.Contains(status.CertDomains, strings.TrimSuffix(status.Self.DNSName, ".")):
		return PhaseNoHTTPS, "The tailnet gives no certificates: enable HTTPS in the admin console under DNS, or give --tls-cert and --tls-key."
	}
	return PhaseUp, ""
}

// expiryProblem warns before and after the node's key expires.
func expiryProblem(expires, now time.Time) string {
	switch left := expires.Sub(now); {
	case expires.IsZero() || left >= warnBefore:
		return ""
	case left <= 0:
		return "The node's key has expired: sign it in again, or disable key expiry for it in the admin console."
	default:
		return fmt.Sprintf("The node's key expires in %d days, and the tailnet address stops working then: sign in again, or disable key expiry for it in the admin console.",
			1+int(left/(24*time.Hour)))
	}
}
