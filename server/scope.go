package server

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agent-helm/agent-helm/internal/untrusted"
)

// Scopes is a set of what a principal may do. Whoever gets ScopeAdmin gets all
// others with it; beyond that no scope includes another, so that a script may
// be able to type without being able to read.
type Scopes uint8

// The scopes. Each holds for every route, socket frame and event alike.
const (
	ScopeRead   Scopes = 1 << iota // see sessions, screens and history
	ScopeAnswer                    // allow or deny what was asked
	ScopeInput                     // type, resize, stop and rename; start known agents
	ScopeExec                      // start an arbitrary command
	ScopeAdmin                     // devices, tokens, hosts, codes; everything else too
)

// AllScopes is every scope: what ScopeAdmin means.
const AllScopes = ScopeRead | ScopeAnswer | ScopeInput | ScopeExec | ScopeAdmin

// InsecureScopes is the most that anybody gets over plain HTTP off loopback
// (THREATS S-13): never exec or admin.
const InsecureScopes = ScopeRead | ScopeAnswer | ScopeInput

var scopeNames = []struct {
	scope Scopes
	name  string
}{
	{ScopeRead, "read"}, {ScopeInput, "input"}, {ScopeAnswer, "answer"}, {ScopeExec, "exec"}, {ScopeAdmin, "admin"},
}

// ParseScopes reads a comma-separated list such as "read,input". It fails with
// CodeInvalid on an unknown name and on an empty list.
func ParseScopes(list string) (Scopes, error) {
	var scopes Scopes
	for name := range strings.SplitSeq(list, ",") {
		scope := scopeByName(strings.TrimSpace(name))
		if scope == 0 {
			return 0, Errorf(CodeInvalid, "unknown scope %q: use read, input, answer, exec or admin", untrusted.Clean(name, 20))
		}
		scopes |= scope
	}
	return scopes.whole(), nil
}

// whole adds what admin includes.
func (s Scopes) whole() Scopes {
	if s&ScopeAdmin != 0 {
		return AllScopes
	}
	return s
}

func scopeByName(name string) Scopes {
	for _, entry := range scopeNames {
		if entry.name == name {
			return entry.scope
		}
	}
	return 0
}

// Has says whether the set grants every scope of needed. Nothing needed is
// always granted.
func (s Scopes) Has(needed Scopes) bool { return s.whole()&needed == needed }

// Within says whether s grants nothing that limit does not.
func (s Scopes) Within(limit Scopes) bool { return limit.Has(s) }

// Limit is what remains of s where at most limit may be granted.
func (s Scopes) Limit(limit Scopes) Scopes { return s.whole() & limit.whole() }

// Names lists the scopes in a fixed order, each by its own name.
func (s Scopes) Names() []string {
	names := make([]string, 0, len(scopeNames))
	for _, entry := range scopeNames {
		if s&entry.scope != 0 {
			names = append(names, entry.name)
		}
	}
	return names
}

// String is the form that ParseScopes reads.
func (s Scopes) String() string { return strings.Join(s.Names(), ",") }

// MarshalJSON writes the list of names.
func (s Scopes) MarshalJSON() ([]byte, error) { return json.Marshal(s.Names()) }

// UnmarshalJSON reads a list of names.
func (s *Scopes) UnmarshalJSON(data []byte) error {
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return fmt.Errorf("scopes: %w", err)
	}
	*s = 0
	for _, name := range names {
		scope := scopeByName(name)
		if scope == 0 {
			return fmt.Errorf("scopes: unknown scope %q", untrusted.Clean(name, 20))
		}
		*s |= scope
	}
	*s = s.whole()
	return nil
}
