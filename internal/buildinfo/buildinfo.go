// Package buildinfo says which build of agent-helm this is. Both programs
// print it; nothing else depends on its text.
package buildinfo

import "runtime/debug"

// version is set by the linker: -X …/internal/buildinfo.version=1.2.3.
var version = ""

// Version is the release, or "dev" with the commit where Go recorded one.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return "dev-" + setting.Value[:12]
		}
	}
	return "dev"
}
