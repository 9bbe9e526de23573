package attach

import "github.com/agent-helm/agent-helm/internal/vt"

// isAnswer says whether a whole sequence of the input is a terminal's answer
// to a query rather than a key. Nobody of ours asks the real terminal, so it
// belongs to a program that ran in it before.
func isAnswer(sequence []byte) bool {
	filter := vt.NewReplyFilter()
	return len(filter.Flush(filter.Filter(nil, sequence))) == 0
}
