// Package web holds the built app (dist/) inside the server binary.
//
// It owns nothing but the files: server/httpapi serves them and sets their headers. A clean clone has only
// dist/placeholder.html, which keeps `go build` working without Node; Built tells the two apart.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Placeholder is the file, inside Files, to serve in place of the app when Built reports false.
const Placeholder = "placeholder.html"

// Files returns the contents of dist: the app's files when Built reports true, else only Placeholder.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil { // cannot happen: the directive above names the directory
		panic(err)
	}
	return files
}

// Built reports whether this binary carries a real build of the app.
func Built() bool {
	_, err := fs.Stat(dist, "dist/index.html")
	return err == nil
}
