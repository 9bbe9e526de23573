package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// suspend gives the terminal to the shell until somebody continues us.
func (c *client) suspend() {
	c.sendPresence(false)
	c.closeOutbox(true)
	c.writeLeaving(leaveBelow, 0)
	_ = c.terminal.Restore()
	c.stopUntilContinued()
	_ = c.terminal.Raw()
	c.cols, c.rows = c.terminal.Size()
	c.view, c.hint, c.hintOver = nil, nil, nil
	c.openOutbox()
	c.makeRoom()
	c.sendPresence(true)
	if c.mine {
		c.claim(wire.ClaimResize)
	}
	c.repaint()
}

// stopUntilContinued stops this process, which the shell notices, and returns
// after it was continued. The stop takes effect only some time after the call.
func (c *client) stopUntilContinued() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	if unix.Kill(os.Getpid(), unix.SIGSTOP) == nil {
		<-continued
	}
}

// closeOutbox ends the writer and says whether it did. A terminal that does
// not read keeps it; it then ends with the process.
func (c *client) closeOutbox(discard bool) bool {
	c.outbox.close(discard)
	select {
	case <-c.outbox.done:
		return true
	case <-time.After(finishTime):
		return false
	}
}

// stop ends the goroutines and gives the terminal back.
func (c *client) stop(reason Reason) error {
	bottom := 0
	if reason == Detached && c.view == nil {
		bottom = c.lastRow()
	}
	c.send(&wire.ReleaseSize{Client: c.inputs.client})
	close(c.quit)
	err := c.connection.Close()
	c.terminal.Cancel()
	if !c.closeOutbox(reason != Exited) {
		return errors.Join(err, c.terminal.Restore(), errors.New("the terminal takes no output"))
	}
	c.workers.Wait()
	if c.outbox.failed() == nil {
		where := leaveBelow
		if reason == Exited {
			where = leaveHere
		}
		c.writeLeaving(where, bottom)
	}
	return errors.Join(err, c.terminal.Restore())
}

// lastRow asks the holder for the screen and returns the number of its last
// row that is not empty, 0 when the answer does not come soon.
func (c *client) lastRow() int {
	params, err := json.Marshal(wire.TextParams{})
	if err != nil {
		return 0
	}
	c.send(&wire.RPC{ID: 1, Method: wire.MethodText, Params: params})
	late := time.After(answerTime)
	for {
		select {
		case frame, open := <-c.frames:
			if !open {
				return 0
			}
			reply, ok := frame.(*wire.RPCReply)
			if !ok {
				continue
			}
			var text wire.TextResult
			if json.Unmarshal(reply.Result, &text) != nil {
				return 0
			}
			return 1 + strings.Count(strings.TrimRight(text.Text, " \r\n"), "\n")
		case <-late:
			return 0
		}
	}
}

// Places to leave the cursor at.
const (
	leaveBelow = iota // on the row below what is drawn
	leaveHere         // on the next empty row
)

// writeLeaving resets the terminal's modes and puts the cursor where the shell
// goes on. The writer must have ended. bottom is the last row with text, 0
// when it is not known.
func (c *client) writeLeaving(where, bottom int) {
	onMain := !c.outbox.modes.alternate()
	sequence := string(c.outbox.modes.restore())
	switch {
	case where == leaveBelow && onMain:
		if bottom == 0 {
			bottom = c.rows
		}
		sequence += fmt.Sprintf("\x1b[%d;1H\r\n", bottom)
	case !c.lineStart || !onMain:
		sequence += "\r\n"
	}
	_, _ = c.terminal.Write([]byte(sequence + "\x1b[J"))
}
