package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/term"
)

// programVariable makes the test binary act as a program in a PTY.
const programVariable = "AGENT_HELM_E2E_PROGRAM"

func TestMain(m *testing.M) {
	if name := os.Getenv(programVariable); name != "" {
		runProgram(name)
		return
	}
	code := m.Run()
	RemoveBuilt()
	os.Exit(code)
}

// program is the argv of one of the programs below, for Stack.Run.
func program(t *testing.T, name string, args ...string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{"/usr/bin/env", programVariable + "=" + name, self}, args...)
}

// runProgram is what stands in the PTY: small, exact, and without buffering
// of its own, so that a test sees every byte that arrived.
func runProgram(name string) {
	args := os.Args[1:]
	switch name {
	case "counter":
		// counter LEDGER INTERVAL: prints numbered lines, writes every byte it reads to LEDGER.
		interval, err := time.ParseDuration(args[1])
		if err != nil {
			panic(err)
		}
		rawMode()
		go recordInput(args[0])
		for i := 1; ; i++ {
			fmt.Printf("line %08d\r\n", i)
			time.Sleep(interval)
		}
	case "intruder":
		// intruder LIST: makes the attempts of a list, as another user.
		intrude(args[0])
	case "record":
		// record LEDGER: says ready, writes every byte it reads to LEDGER.
		rawMode()
		fmt.Print("ready\r\n")
		recordInput(args[0])
	case "echo":
		rawMode()
		fmt.Print("ready\r\n")
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "bytes":
		// Every byte value, then a marker.
		rawMode()
		all := make([]byte, 256)
		for i := range all {
			all[i] = byte(i)
		}
		for range 3 {
			_, _ = os.Stdout.Write(all)
		}
		_, _ = os.Stdout.WriteString("\x1bc\x1b[31mevery byte survived\x1b[m\r\n")
		waitForEnd()
	case "hostile":
		rawMode()
		_, _ = os.Stdout.WriteString("\x1bc\xff\xfe\xc3\x28 \xf0\x9f\x98")
		_, _ = os.Stdout.WriteString("\x1b[99999999999999999999b\x1b[99999999999999999999;99999999999999999999H")
		_, _ = os.Stdout.WriteString("\x1b[-5P\x1b[2147483647I\x1b[1;50r\x1b[Ma\x1b[1500000000b")
		_, _ = os.Stdout.WriteString("\x1bc\x1b[Hnothing broke\r\n")
		waitForEnd()
	case "flood":
		// flood BYTES: numbered lines, as fast as the PTY takes them, then a marker.
		size, err := strconv.Atoi(args[0])
		if err != nil {
			panic(err)
		}
		rawMode()
		out := bufio.NewWriterSize(os.Stdout, 64<<10)
		for n, i := 0, 1; n < size; i++ {
			k, _ := fmt.Fprintf(out, "flood %012d %s\r\n", i, strings.Repeat("x", i%60))
			n += k
		}
		out.Flush()
		fmt.Print("the flood is over\r\n")
		waitForEnd()
	case "deaf":
		// Never reads its input, goes on printing.
		rawMode()
		for i := 1; ; i++ {
			fmt.Printf("still here %d\r\n", i)
			time.Sleep(50 * time.Millisecond)
		}
	case "ask":
		// ask TABLE LEDGER LETTERS
		rawMode()
		if err := ask(args[0], args[1], args[2]); err != nil {
			fmt.Printf("ask: %v\r\n", err)
		}
		waitForEnd()
	case "ask-forever":
		// ask-forever COUNT
		count, err := strconv.Atoi(args[0])
		if err != nil {
			panic(err)
		}
		rawMode()
		askForever(count)
		for { // and never reads
			time.Sleep(time.Hour)
		}
	case "queries":
		// Asks a terminal and shows what was answered, escaped.
		rawMode()
		fmt.Print("\x1b[c\x1b[5n\x1b[6n")
		buffer := make([]byte, 4096)
		var got strings.Builder
		for strings.Count(got.String(), "R") < 1 {
			n, err := os.Stdin.Read(buffer)
			if err != nil {
				return
			}
			got.Write(buffer[:n])
		}
		fmt.Printf("answers %q\r\n", got.String())
		waitForEnd()
	}
}

func rawMode() {
	if _, err := term.MakeRaw(int(os.Stdin.Fd())); err != nil {
		panic(err)
	}
}

// recordInput appends what it reads to a file until the terminal is gone.
func recordInput(path string) {
	ledger, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	buffer := make([]byte, 4096)
	for {
		n, err := os.Stdin.Read(buffer)
		if _, err := ledger.Write(buffer[:n]); err != nil {
			panic(err)
		}
		if err != nil {
			return
		}
	}
}

// waitForEnd reads until the terminal is gone.
func waitForEnd() { _, _ = io.Copy(io.Discard, os.Stdin) }
