package main

import (
	"fmt"
	"path/filepath"

	"github.com/agent-helm/agent-helm/internal/e2e"
)

// memory: the server with idle sessions, and holders after output.
func (b *bench) memory() error {
	if err := b.idleMemory(); err != nil {
		return err
	}
	b.cleanup()
	return b.holderMemory()
}

// idleMemory: a hundred sessions where nothing happens.
func (b *bench) idleMemory() error {
	const sessions, hosts = 100, 2 // one host holds 64 sessions at most
	first := e2e.NewDirectStack(b)
	stacks := []*e2e.Stack{first, first.SecondHost("second-host")}
	server := first.ServerPID()
	baseRSS, basePSS := rss(server), pss(server)
	if baseRSS == 0 {
		b.report.skip("memory: this system does not tell it")
		return nil
	}
	for i := range sessions {
		stacks[i%hosts].Run(fmt.Sprintf("idle-%d", i), "/bin/cat")
	}
	allRSS, allPSS := rss(server), pss(server)
	one := func(v float64) []float64 { return []float64{v} }
	b.report.add("server at rest, RSS", "agent-helm", "MiB", one(baseRSS/1024))
	b.report.add("server at rest, PSS", "agent-helm", "MiB", one(basePSS/1024))
	b.report.add(fmt.Sprintf("server with %d idle sessions, RSS", sessions), "agent-helm", "MiB", one(allRSS/1024))
	b.report.add(fmt.Sprintf("server with %d idle sessions, PSS", sessions), "agent-helm", "MiB", one(allPSS/1024))
	each := b.report.add("server memory for each idle session, RSS", "agent-helm", "KiB", one((allRSS-baseRSS)/sessions))
	b.report.add("server memory for each idle session, PSS", "agent-helm", "KiB", one((allPSS-basePSS)/sessions))
	daemons := rss(stacks[0].DaemonPID()) + rss(stacks[1].DaemonPID())
	b.report.add(fmt.Sprintf("daemon with %d idle sessions, RSS", sessions/hosts), "agent-helm", "MiB", one(daemons/hosts/1024))
	b.report.add(fmt.Sprintf("server with %d idle sessions, share of a CPU", sessions), "agent-helm", "%", one(idleCPU(server)))
	b.report.goal("server memory at rest", baseRSS/1024, 40, "MiB")
	b.report.goal(fmt.Sprintf("server memory for each of %d idle sessions, 80×24", sessions), each, 250, "KiB")
	return nil
}

// holderMemory: holders with a full history. RSS counts the program's code in
// every one of them, PSS once.
func (b *bench) holderMemory() error {
	const holders, output = 20, 50 << 20
	s := e2e.NewDirectStack(b)
	for i := range holders {
		status := filepath.Join(s.Dir(), fmt.Sprintf("status-%d", i))
		id := s.Run(fmt.Sprintf("flood-%d", i), self("flood", fmt.Sprint(output), status)...)
		if _, err := s.Helm("send", "--no-enter", id, "s"); err != nil {
			return err
		}
		if err := e2e.Eventually(func() error { return finished(status, output) }); err != nil {
			return err
		}
	}
	var resident, shares []float64
	for _, pid := range s.HolderPIDs() {
		if share := pss(pid); share > 0 {
			resident, shares = append(resident, rss(pid)/1024), append(shares, share/1024)
		}
	}
	if len(shares) == 0 {
		b.report.skip("holder memory: this system does not tell it, or not to this user")
		return nil
	}
	b.report.add(fmt.Sprintf("each of %d holders after 50 MB of output, RSS", len(shares)), "agent-helm", "MiB", resident)
	share := b.report.add(fmt.Sprintf("each of %d holders after 50 MB of output, PSS", len(shares)), "agent-helm", "MiB", shares)
	b.report.goal(fmt.Sprintf("holder memory (PSS), %d sessions, after 50 MB each", holders), share, 6, "MiB")
	return nil
}
