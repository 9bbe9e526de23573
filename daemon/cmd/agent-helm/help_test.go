package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/agent-helm/agent-helm/daemon"
)

// Every command that a person sees has a help line and examples that use it.
func TestCommands_HaveHelpAndExamples(t *testing.T) {
	var line commands
	parser, err := kong.New(&line, kong.Vars{"agents": agentNames(), "version": ""})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range parser.Model.Children {
		if node.Name == "overview" {
			continue
		}
		with, ok := node.Target.Addr().Interface().(interface{ Examples() string })
		if !ok || node.Help == "" {
			t.Errorf("%s has no examples or no help", node.Name)
			continue
		}
		if examples := with.Examples(); !strings.Contains(examples, "agent-helm "+node.Name) {
			t.Errorf("the examples of %s do not use it: %s", node.Name, examples)
		}
		for _, flag := range node.Flags {
			if flag.Help == "" {
				t.Errorf("%s --%s has no help", node.Name, flag.Name)
			}
		}
	}
}

// What the server may do is shown for every field of the policy.
func TestPolicyLines_Complete(t *testing.T) {
	fields := reflect.TypeFor[daemon.Policy]()
	lines := map[string]bool{}
	for _, line := range policyLines(daemon.Policy{}) {
		lines[line.name] = true
	}
	for i := range fields.NumField() {
		name := fields.Field(i).Tag.Get("json")
		if name != "locked" && !lines[name] {
			t.Errorf("%s is not shown", name)
		}
	}
}
