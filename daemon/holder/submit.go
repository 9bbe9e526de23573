package holder

import "github.com/agent-helm/agent-helm/daemon"

// submitProfile is how text is entered into the program that has the terminal
// now: the agent a shell runs, rather than the shell.
func (s *session) submitProfile() daemon.SubmitProfile {
	name := s.spec.Agent
	if name == "" || name == daemon.AgentShell {
		if group, err := s.process.Foreground(); err == nil && group > 0 && group != s.process.PID() {
			name = daemon.DetectAgent(argvOf(group))
		}
	}
	if agent, known := daemon.AgentByName(name); known {
		return agent.Submit
	}
	return daemon.UnknownSubmit()
}
