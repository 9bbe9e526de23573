package supervisor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// StartRemote starts what a server asked for, in the environment of the user's
// login shell. Whether the server may is the caller's matter. The directory is
// the user's home unless named; a known agent has to be installed.
func (s *Supervisor) StartRemote(ctx context.Context, params wire.StartParams) (daemon.Session, error) {
	environment := s.login.environ(ctx)
	argv, err := remoteArgv(params, environment)
	if err != nil {
		return daemon.Session{}, err
	}
	cwd, err := remoteDir(params.Cwd)
	if err != nil {
		return daemon.Session{}, err
	}
	return s.Start(ctx, daemon.Spec{
		Name: params.Name, Argv: argv, Agent: params.Agent, Cwd: cwd,
		Cols: params.Cols, Rows: params.Rows, Env: environment,
	})
}

func remoteArgv(params wire.StartParams, environment []string) ([]string, error) {
	if len(params.Argv) > 0 {
		return params.Argv, nil
	}
	agent, known := daemon.AgentByName(params.Agent)
	switch {
	case !known:
		return nil, &wire.Fault{Code: wire.CodeInvalid, Message: fmt.Sprintf("agent %q is not known", untrusted.Clean(params.Agent, daemon.MaxNameRunes))}
	case len(agent.Argv) == 0:
		return []string{userShell()}, nil
	case !installed(agent.Argv[0], environment):
		return nil, &wire.Fault{Code: wire.CodeInvalid, Message: agent.Name + " is not installed on this host, or not in the PATH of its login shell"}
	}
	return agent.Argv, nil
}

// installed says whether a program is in the PATH of an environment.
func installed(program string, environment []string) bool {
	var path string
	for _, entry := range environment {
		if value, found := strings.CutPrefix(entry, "PATH="); found {
			path = value
		}
	}
	for _, directory := range filepath.SplitList(path) {
		if !filepath.IsAbs(directory) {
			continue
		}
		info, err := os.Stat(filepath.Join(directory, program))
		if err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return true
		}
	}
	return false
}

func remoteDir(cwd string) (string, error) {
	switch {
	case cwd == "":
		return homeDir(), nil
	case cwd == "~":
		return homeDir(), nil
	case strings.HasPrefix(cwd, "~/"):
		cwd = filepath.Join(homeDir(), cwd[2:])
	}
	if !filepath.IsAbs(cwd) || strings.ContainsRune(cwd, 0) {
		return "", &wire.Fault{Code: wire.CodeInvalid, Message: "the directory has to be an absolute path, or begin with ~/"}
	}
	cwd = filepath.Clean(cwd)
	if info, err := os.Stat(cwd); err != nil || !info.IsDir() {
		return "", &wire.Fault{Code: wire.CodeInvalid, Message: "there is no such directory on this host: " + untrusted.Clean(cwd, 200)}
	}
	return cwd, nil
}
