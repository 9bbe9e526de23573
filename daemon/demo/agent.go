package demo

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/agent-helm/agent-helm/daemon/attach/tty"
)

var (
	// errInterrupted is what Esc and ^C make of the work in progress.
	errInterrupted = errors.New("interrupted")
	// errQuit ends the agent at the person's wish.
	errQuit = errors.New("quit")
)

const (
	frameTime = 120 * time.Millisecond
	// escapeTime is how long a lone ESC waits for the rest of a sequence.
	escapeTime = 25 * time.Millisecond
)

// agent is the scripted agent. Its fields belong to the goroutine that runs
// play; keys and resizes arrive on channels.
type agent struct {
	options Options
	screen  *screen
	dir     string
	random  *rand.Rand

	keys    <-chan key
	resized <-chan os.Signal
	ctx     context.Context // of the run; ends every wait

	draft     string   // what stands in the compose box
	queue     []string // prompts entered while it was working
	allowed   map[string]bool
	working   bool
	verb      string
	ticks     int
	progress  int // percent, 0 while unknown
	menu      *menu
	lastCtrlC bool // a second one quits
	failed    bool // the next "check" fails, once
}

// menu is a numbered question.
type menu struct {
	question string
	detail   []string
	options  []string
	chosen   int
}

// runAgent reads keys, plays the start script, and then whatever prompts ask
// for.
func runAgent(ctx context.Context, terminal *tty.Terminal, options Options) (err error) {
	dir, err := workDir(options)
	if err != nil {
		return err
	}
	if options.Dir == "" {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	if err := writeProject(dir); err != nil {
		return err
	}
	keys := make(chan key, 256)
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, unix.SIGWINCH)
	defer signal.Stop(resized)

	group, ctx := errgroup.WithContext(ctx)
	a := &agent{
		options: options, dir: dir, keys: keys, resized: resized, ctx: ctx,
		screen:  &screen{out: terminal, size: terminal.Size},
		random:  rand.New(rand.NewPCG(options.Seed, 1)),
		allowed: map[string]bool{}, failed: true,
	}
	group.Go(func() error { return readKeys(ctx, terminal, keys) })
	group.Go(func() error {
		err := a.play()
		terminal.Cancel()
		if err == nil {
			err = errDone
		}
		return err
	})
	if err := group.Wait(); !errors.Is(err, errQuit) {
		return err
	}
	return nil
}

// readKeys decodes input until it ends. A lone ESC counts as the key once
// nothing follows it.
func readKeys(ctx context.Context, terminal *tty.Terminal, keys chan<- key) error {
	chunks := make(chan []byte)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return readInput(ctx, terminal, func(p []byte) error {
			select {
			case chunks <- append([]byte(nil), p...):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	})
	group.Go(func() error {
		var decoder decoder
		for {
			var wait <-chan time.Time
			if len(decoder.kept) > 0 {
				wait = time.After(escapeTime)
			}
			var decoded []key
			select {
			case p := <-chunks:
				decoded = decoder.feed(p)
			case <-wait:
				decoded = decoder.flush()
				if decoded == nil { // half a character: wait for the rest
					select {
					case p := <-chunks:
						decoded = decoder.feed(p)
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			for _, k := range decoded {
				select {
				case keys <- k:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
		}
	})
	return group.Wait()
}

// play is the agent's life.
func (a *agent) play() error {
	a.screen.raw("\x1b[?2004h\x1b[?25l")
	defer func() {
		a.status("clear", "", "")
		a.screen.draw(nil)
		a.screen.raw("\x1b]0;\a\x1b[?2004l\x1b[?25h")
	}()
	a.welcome()
	a.idle()
	script := a.options.Script
	if script == "" {
		script = "edit"
	}
	for _, name := range strings.Split(script, ",") {
		if name == "none" {
			continue
		}
		scenario, ok := scenarios[name]
		if !ok {
			return fmt.Errorf("script %q: use %s or none", name, strings.Join(scenarioNames(), ", "))
		}
		if err := a.perform(scenario.prompt, scenario); err != nil {
			return err
		}
	}
	if a.options.Exit {
		return nil
	}
	for next := 0; ; {
		prompt, err := a.readPrompt()
		if err != nil {
			return err
		}
		scenario, ok := scenarioFor(prompt)
		if !ok {
			names := scenarioNames()
			scenario = scenarios[names[next%len(names)]]
			next++
		}
		if err := a.perform(prompt, scenario); err != nil {
			return err
		}
	}
}

// perform plays one scenario as the answer to a prompt.
func (a *agent) perform(prompt string, s scenario) error {
	cols, _ := a.screen.size()
	for i, line := range wrap(prompt, cols-4) {
		mark := "> "
		if i > 0 {
			mark = "  "
		}
		a.screen.keep(styleDim + mark + line)
	}
	a.screen.keep("")
	a.lastCtrlC = false
	err := s.run(a)
	switch {
	case errors.Is(err, errInterrupted):
		a.stopWorking()
		a.screen.keep(styleRed+"  ⎿  Interrupted. What should the agent do instead?", "")
		a.idle()
		return nil
	case err != nil:
		return err
	}
	a.stopWorking()
	a.status("done", "", "")
	a.title("✳", "Demo agent")
	a.screen.raw("\a")
	a.redraw()
	return a.screen.err
}

// readPrompt waits for the person to enter something.
func (a *agent) readPrompt() (string, error) {
	for len(a.queue) == 0 {
		if err := a.wait(nil); err != nil {
			if errors.Is(err, errInterrupted) {
				continue
			}
			return "", err
		}
	}
	prompt := a.queue[0]
	a.queue = a.queue[1:]
	return prompt, nil
}

// wait handles one key, resize or the end. due may be nil. It returns nil
// after any of them, and errInterrupted for Esc and ^C while working.
func (a *agent) wait(due <-chan time.Time) error {
	if a.screen.err != nil {
		return a.screen.err
	}
	select {
	case <-a.ctx.Done():
		return context.Cause(a.ctx)
	case <-a.resized:
		a.redraw()
	case k := <-a.keys:
		return a.compose(k)
	case <-due:
	}
	return nil
}

// compose handles a key while no menu is open.
func (a *agent) compose(k key) error {
	if k.name != "ctrl+c" {
		a.lastCtrlC = false
	}
	switch k.name {
	case "text":
		a.draft += strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(k.text)
	case "newline":
		a.draft += "\n"
	case "backspace":
		if runes := []rune(a.draft); len(runes) > 0 {
			a.draft = string(runes[:len(runes)-1])
		}
	case "ctrl+u":
		a.draft = ""
	case "enter":
		entered := strings.TrimSpace(a.draft)
		a.draft = ""
		switch entered {
		case "":
		case "/quit", "/exit", "exit", "quit":
			return errQuit
		case "/help":
			a.help()
		default:
			a.queue = append(a.queue, entered)
		}
	case "esc":
		if a.working {
			return errInterrupted
		}
	case "ctrl+c":
		switch {
		case a.working:
			return errInterrupted
		case a.draft != "":
			a.draft = ""
		case a.lastCtrlC:
			return errQuit
		default:
			a.lastCtrlC = true
		}
	case "ctrl+d":
		if a.draft == "" && !a.working {
			return errQuit
		}
	}
	a.redraw()
	return nil
}

// work is busy for so long, with a spinner; Esc interrupts it.
func (a *agent) work(verb string, duration time.Duration) error {
	if !a.working {
		a.ticks = 0
	}
	a.working, a.verb = true, verb
	a.status("working", "", "")
	a.title("◐", verb+"… · Demo agent")
	if a.progress == 0 {
		a.screen.raw("\x1b]9;4;3\a")
	}
	frames := int(duration / frameTime)
	// A little unevenness makes it look alive; the seed decides it.
	frames += a.random.IntN(frames/4 + 1)
	a.redraw()
	if a.options.Fast {
		select {
		case k := <-a.keys:
			return a.compose(k)
		default:
			return a.screen.err
		}
	}
	ticker := time.NewTicker(frameTime)
	defer ticker.Stop()
	for end := a.ticks + frames; a.ticks < end; {
		before := time.Now()
		if err := a.wait(ticker.C); err != nil {
			return err
		}
		if time.Since(before) >= frameTime/2 {
			a.ticks++
			a.redraw()
		}
	}
	return nil
}

// setProgress shows how much of the work is done, in percent.
func (a *agent) setProgress(percent int) {
	a.progress = percent
	a.screen.raw(fmt.Sprintf("\x1b]9;4;1;%d\a", percent))
}

func (a *agent) stopWorking() {
	a.working, a.progress, a.menu = false, 0, nil
	a.screen.raw("\x1b]9;4;0\a")
}

func (a *agent) idle() {
	a.status("idle", "", "")
	a.title("✳", "Demo agent")
	a.redraw()
}

// ask shows a menu and returns the number of the chosen option, from 1. Esc
// chooses the last one, which is always the refusal.
func (a *agent) ask(kind, question string, detail []string, options ...string) (int, error) {
	a.working = false
	a.screen.raw("\x1b]9;4;0\a")
	a.menu = &menu{question: question, detail: detail, options: options}
	a.status("blocked", kind, question)
	a.title("✋", "Question · Demo agent")
	a.screen.raw("\a")
	a.redraw()
	defer func() { a.menu = nil }()
	for {
		if a.screen.err != nil {
			return 0, a.screen.err
		}
		select {
		case <-a.ctx.Done():
			return 0, context.Cause(a.ctx)
		case <-a.resized:
		case k := <-a.keys:
			choice, err := a.menuKey(k)
			if choice > 0 || err != nil {
				a.menu = nil
				return choice, err
			}
		}
		a.redraw()
	}
}

func (a *agent) menuKey(k key) (choice int, err error) {
	m := a.menu
	switch k.name {
	case "up", "shift+tab":
		m.chosen = (m.chosen + len(m.options) - 1) % len(m.options)
	case "down", "tab":
		m.chosen = (m.chosen + 1) % len(m.options)
	case "enter":
		return m.chosen + 1, nil
	case "esc":
		return len(m.options), nil
	case "ctrl+c":
		return 0, errInterrupted
	case "text":
		if len(k.text) == 1 {
			if n := int(k.text[0] - '0'); n >= 1 && n <= len(m.options) {
				return n, nil
			}
			switch k.text {
			case "y":
				return 1, nil
			case "n":
				return len(m.options), nil
			}
		}
	}
	return 0, nil
}

// status tells the terminal by OSC 7501 what the agent does.
func (a *agent) status(state, kind, message string) {
	sequence := "\x1b]7501;state=" + state + ":app=demo-agent"
	if kind != "" {
		sequence += ":kind=" + kind
	}
	if message != "" {
		sequence += ":msg=" + base64.StdEncoding.EncodeToString([]byte(message))
	}
	a.screen.raw(sequence + "\x1b\\")
}

func (a *agent) title(mark, text string) { a.screen.raw("\x1b]0;" + mark + " " + text + "\a") }

func (a *agent) redraw() { a.screen.draw(a.lines()) }
