package main

import (
	"runtime"

	"github.com/agent-helm/agent-helm/internal/buildinfo"
	"github.com/agent-helm/agent-helm/internal/wire"
)

type versionCommand struct {
	JSON bool `name:"json" help:"Print an object with version, protocol, go and platform."`
}

func (versionCommand) Examples() string { return "agent-helm version\nagent-helm version --json" }

func (c *versionCommand) Run(app *app) error {
	if !c.JSON {
		app.print("agent-helm %s", buildinfo.Version())
		return nil
	}
	return app.printJSON(struct {
		Version  string `json:"version"`
		Protocol string `json:"protocol"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{buildinfo.Version(), protocolVersion(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
}

func protocolVersion() string {
	return string([]byte{'0' + wire.VersionMajor, '.', '0' + wire.VersionMinor})
}
