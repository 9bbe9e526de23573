package logging

import (
	"bytes"
	"strings"
	"testing"
)

func TestNew(t *testing.T) {
	for _, json := range []bool{false, true} {
		var out bytes.Buffer
		logger, err := New(&out, Options{JSON: json})
		if err != nil {
			t.Fatal(err)
		}
		logger.Info("host enrolled", "host_token", "ah_1_hunter2", "Authorization", "Bearer hunter2", "pairing_code", "hunter2",
			"exit_code", 7, KeyHost, "mac-mini")
		logger.Debug("not shown")
		got := out.String()
		if strings.Contains(got, "hunter2") {
			t.Errorf("json=%v: a secret was printed: %s", json, got)
		}
		if !strings.Contains(got, "mac-mini") || !strings.Contains(got, "7") {
			t.Errorf("json=%v: plain attributes are missing: %s", json, got)
		}
		if strings.Contains(got, "not shown") {
			t.Errorf("json=%v: debug line at level info: %s", json, got)
		}
	}
}

func TestNew_badLevel(t *testing.T) {
	if _, err := New(&bytes.Buffer{}, Options{Level: "loud"}); err == nil || !strings.Contains(err.Error(), "loud") {
		t.Errorf("error %v does not name the level", err)
	}
}
