package web

import (
	"io/fs"
	"testing"
)

func TestPlaceholderIsAlwaysThere(t *testing.T) {
	if _, err := fs.Stat(Files(), Placeholder); err != nil {
		t.Fatalf("a build without Node has nothing to show: %v", err)
	}
}

func TestBuiltFollowsTheIndexPage(t *testing.T) {
	_, err := fs.Stat(Files(), "index.html")
	if got, want := Built(), err == nil; got != want {
		t.Fatalf("Built() = %v, index.html present: %v", got, want)
	}
}
