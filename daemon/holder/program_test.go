package holder_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// program is what runs in a session: one of a few behaviours by name.
func program(name string, arguments []string) int {
	switch name {
	case "hex":
		return hexEcho()
	case "bytes":
		return everyByte()
	case "mute":
		return mute()
	case "queries":
		return queries(arguments[0])
	case "painter":
		return painter(arguments[0], arguments[1])
	case "lines":
		return lines(arguments[0])
	case "sizes":
		return sizes()
	case "groups":
		return groups()
	case "nosy":
		return nosy()
	case "reopener":
		return reopener()
	case "upgraded":
		return upgraded()
	case "stranger":
		return stranger(arguments[0])
	case "intruder":
		return intruder(arguments[0])
	}
	fmt.Fprintln(os.Stderr, "no program", name, arguments)
	return 2
}

// ready puts the terminal into raw mode and says so.
func ready() {
	if _, err := term.MakeRaw(0); err != nil {
		os.Exit(1)
	}
	fmt.Print("ready\r\n")
}

// hexEcho prints every byte it reads in hexadecimal, and a '|' after
// each read.
func hexEcho() int {
	ready()
	buffer := make([]byte, 4096)
	for {
		n, err := os.Stdin.Read(buffer)
		if err != nil {
			return 1
		}
		fmt.Printf("%x|", buffer[:n])
	}
}

// everyByte prints every byte value, thrice and in three orders, when it is
// given a byte.
func everyByte() int {
	ready()
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return 1
	}
	os.Stdout.Write(allBytes())
	return 0
}

func allBytes() []byte {
	var all []byte
	for i := range 256 {
		all = append(all, byte(i))
	}
	for i := range 256 {
		all = append(all, byte(255-i))
	}
	for i := range 256 {
		all = append(all, byte(i*7))
	}
	return all
}

// mute never reads. It prints a line for every SIGUSR1 and ends at SIGINT.
func mute() int {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGINT)
	ready()
	for i := 1; ; i++ {
		if <-signals == syscall.SIGINT {
			fmt.Print("interrupted\r\n")
			return 3
		}
		fmt.Printf("signal %d\r\n", i)
	}
}

// queries asks for the device attributes that often and reads no answer.
func queries(count string) int {
	n, _ := strconv.Atoi(count)
	ready()
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	for range n {
		out.WriteString("\x1b[c")
	}
	out.WriteString("asked\r\n")
	out.Flush()
	return 0
}

// painter prints random terminal output: text, escape sequences, invalid
// UTF-8, cut at random places. It paints until it has printed its share.
func painter(seed, steps string) int {
	s, _ := strconv.ParseUint(seed, 10, 64)
	n, _ := strconv.Atoi(steps)
	ready()
	random := rand.New(rand.NewPCG(s, 1))
	pieces := []string{
		"plain text ", "\r\n", "ünïcödé ", "漢字かな", "👩‍👩‍👧", "\x1b[31mred\x1b[m", "\x1b[2J", "\x1b[H", "\x1b[%d;%dH",
		"\x1b[%dA", "\x1b[%dL", "\x1b[%dM", "\x1b[?1049h", "\x1b[?1049l", "\x1b[%d;%dr", "\xff\xfe", "\x1b]0;title\x07",
		"\t", "\b", "\x1b[K", "\x1b[1m", "\x1b[38;2;1;2;3m", "\x1b7", "\x1b8", "\x1b[?7l", "\x1b[?7h", "\x1bM", "\n\n\n",
	}
	for i := range n {
		piece := pieces[random.IntN(len(pieces))]
		if verbs := strings.Count(piece, "%d"); verbs == 1 {
			piece = fmt.Sprintf(piece, random.IntN(40))
		} else if verbs == 2 {
			piece = fmt.Sprintf(piece, random.IntN(40), random.IntN(120))
		}
		for len(piece) > 0 {
			cut := 1 + random.IntN(len(piece))
			os.Stdout.WriteString(piece[:cut])
			piece = piece[cut:]
		}
		if i%50 == 0 {
			time.Sleep(5 * time.Millisecond) // so that resizes come in between
		}
	}
	return 0
}

// lines prints numbered lines.
func lines(count string) int {
	n, _ := strconv.Atoi(count)
	out := bufio.NewWriterSize(os.Stdout, 32<<10)
	for i := range n {
		fmt.Fprintf(out, "line %d of many, with some text behind it to make it longer\n", i)
	}
	out.Flush()
	return 0
}

// sizes prints the window size at the start and whenever it changes.
func sizes() int {
	changes := make(chan os.Signal, 64)
	signal.Notify(changes, syscall.SIGWINCH)
	ready()
	for {
		cols, rows, err := term.GetSize(0)
		if err != nil {
			return 1
		}
		fmt.Printf("[%dx%d]", cols, rows)
		<-changes
	}
}

// groups runs a shell with job control and a background job that ignores the
// hangup, and an orphan whose parent has ended.
func groups() int {
	script := `set -m; (trap '' HUP TERM; echo stubborn $BASHPID; while :; do sleep 1000; done) & sh -c 'sleep 1000 & echo orphan $!'; echo main $$; sleep 1000`
	command := exec.Command("bash", "-c", script)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return 1
	}
	return 0
}

// stranger is another user at a holder's socket: it greets, and it tries
// whether our client would believe that the socket is its own.
func stranger(path string) int {
	conn, err := net.Dial("unix", path)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	hello, err := wire.Append(wire.AppendPreamble(nil), &wire.HolderHello{Role: wire.RoleTool})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	conn.Write(hello)
	if answer, _ := io.ReadAll(conn); len(answer) == 0 {
		fmt.Println("closed without a word")
	}
	run := filepath.Dir(path)
	id := strings.TrimSuffix(filepath.Base(path), ".sock")
	dirs := daemon.Dirs{Config: run, State: filepath.Dir(run), Run: run}
	if _, err := holder.Dial(context.Background(), dirs, id, wire.RoleTool); err != nil && strings.Contains(err.Error(), "process of user 0") {
		fmt.Println("not believed")
	} else {
		fmt.Println(err)
	}
	return 0
}

// intruder is an agent that tries to drive its own session, another one, and
// one that it started.
func intruder(victim string) int {
	dirs, err := daemon.ResolveDirs(os.Getenv)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	started, err := holder.Start(context.Background(), dirs, daemon.Spec{Argv: []string{"cat"}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	try := func(whose, id, what string, attempt func(*holder.Client) error) {
		client, err := holder.Dial(context.Background(), dirs, id, wire.RoleTool)
		if err == nil {
			defer client.Close()
			err = attempt(client)
		}
		if err != nil {
			fmt.Printf("%s %s: %v\n", whose, what, err)
		} else {
			fmt.Printf("%s %s: ok\n", whose, what)
		}
	}
	input := func(c *holder.Client) error {
		if err := c.Send(&wire.Input{Client: wire.ClientID{1}, Seq: 1, Data: []byte("1")}); err != nil {
			return err
		}
		for {
			frame, err := c.Receive()
			if err != nil {
				return err
			}
			switch f := frame.(type) {
			case *wire.InputAck:
				return nil
			case *wire.Problem:
				return errors.New(f.Code)
			}
		}
	}
	ask := func(method string) func(*holder.Client) error {
		return func(c *holder.Client) error {
			if err := c.Call(context.Background(), method, nil, nil); err == nil {
				return nil
			}
			for {
				frame, err := c.Receive()
				if err != nil {
					return err
				}
				if f, ok := frame.(*wire.Problem); ok {
					return errors.New(f.Code)
				}
			}
		}
	}
	own := os.Getenv(holder.EnvSession)
	try("own", own, "info", ask(wire.MethodInfo))
	try("own", own, "input", input)
	try("other", victim, "info", ask(wire.MethodInfo))
	try("other", victim, "input", input)
	try("other", victim, "kill", ask(wire.MethodKill))
	try("started", started.ID, "input", input)
	try("started", started.ID, "kill", ask(wire.MethodKill))
	return 0
}

// upgraded removes its own file and starts a session.
func upgraded() int {
	self, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if err := os.Remove(self); err != nil {
		fmt.Println(err)
		return 1
	}
	dirs, err := daemon.ResolveDirs(os.Getenv)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if _, err := holder.Start(context.Background(), dirs, daemon.Spec{Argv: []string{"true"}, Cwd: "/"}); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("started")
	return 0
}

// nosy is hexEcho that asks for the cursor's position all the time.
func nosy() int {
	ready()
	go func() {
		for {
			os.Stdout.WriteString("\x1b[6n")
			time.Sleep(200 * time.Microsecond)
		}
	}()
	return hexEcho()
}

// reopener closes its terminal and opens it again later.
func reopener() int {
	ready()
	for fd := range 3 {
		syscall.Close(fd)
	}
	time.Sleep(50 * time.Millisecond)
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return 1
	}
	terminal.WriteString("again\r\n")
	return 0
}
