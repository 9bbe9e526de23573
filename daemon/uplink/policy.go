package uplink

import (
	"io/fs"
	"os"
	"sync"

	"github.com/agent-helm/agent-helm/daemon"
)

// PolicyFile reads policy.json again only when the file changed, so that
// `agent-helm lock` holds from the next frame on and costs one stat a frame.
// Safe for concurrent use.
type PolicyFile struct {
	dirs daemon.Dirs

	mu     sync.Mutex
	read   bool
	stamp  fs.FileInfo // nil: the file was missing
	policy daemon.Policy
	err    error
}

// NewPolicyFile returns the policy of an installation.
func NewPolicyFile(dirs daemon.Dirs) *PolicyFile { return &PolicyFile{dirs: dirs} }

// Policy is the present policy. On an error it allows nothing.
func (p *PolicyFile) Policy() (daemon.Policy, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stamp, err := os.Lstat(p.dirs.PolicyPath())
	if err != nil {
		stamp = nil // LoadPolicy says whether that is an error
	}
	if p.read && err == nil && p.stamp != nil && sameFile(p.stamp, stamp) {
		return p.policy, p.err
	}
	p.policy, p.err = daemon.LoadPolicy(p.dirs)
	p.read, p.stamp = true, stamp
	return p.policy, p.err
}

func sameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}
