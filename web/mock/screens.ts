/** Screens of the mock's programs, as terminal bytes. */
const asking = [
  '\x1b[48;5;236m> fix the failing login test, then run go vet       \x1b[0m',
  '',
  "● I'll start with the failing test.",
  '',
  '\x1b[32m●\x1b[0m \x1b[1mRead\x1b[0m(internal/auth/auth_test.go)',
  '  \x1b[90m└  Read 118 lines (ctrl+o to expand)\x1b[0m',
  '',
  '\x1b[31m●\x1b[0m \x1b[1mBash\x1b[0m(go test ./internal/auth)',
  '  \x1b[90m└\x1b[0m  \x1b[31m--- FAIL: TestLoginExpired (0.02s)\x1b[0m',
  '         auth_test.go:61: got 200, want 401',
  '     \x1b[31mFAIL\x1b[0m  example.com/api/internal/auth  \x1b[90m0.214s\x1b[0m',
  '     \x1b[90m… +4 lines (ctrl+o to expand)\x1b[0m',
  '',
  '● Expired tokens pass because the handler reads the',
  "  wall clock. I'll inject it.",
  '',
  '\x1b[32m●\x1b[0m \x1b[1mUpdate\x1b[0m(internal/auth/login.go)',
  '  \x1b[90m└\x1b[0m  Updated with \x1b[1m2\x1b[0m additions and \x1b[1m1\x1b[0m removal',
  '      \x1b[90m41\x1b[0m   func (h *Handler) login(w Writer) {',
  '\x1b[48;5;52m     42 \x1b[0m\x1b[48;5;52;31m-\x1b[0m\x1b[48;5;52m   if tok.Valid() {                        \x1b[0m',
  '\x1b[48;5;22m     42 \x1b[0m\x1b[48;5;22;32m+\x1b[0m\x1b[48;5;22m   now := h.clock.Now()                    \x1b[0m',
  '\x1b[48;5;22m     43 \x1b[0m\x1b[48;5;22;32m+\x1b[0m\x1b[48;5;22m   if tok.ValidAt(now) {                   \x1b[0m',
  '      \x1b[90m44\x1b[0m       h.issue(w, tok.Subject)',
  '',
  '\x1b[34m╭──────────────────────────────────────────────────╮\x1b[0m',
  '\x1b[34m│\x1b[0m \x1b[1;34mBash command\x1b[0m                                     \x1b[34m│\x1b[0m',
  '\x1b[34m│\x1b[0m                                                  \x1b[34m│\x1b[0m',
  '\x1b[34m│\x1b[0m   go test ./... -run TestLogin                   \x1b[34m│\x1b[0m',
  '\x1b[34m│\x1b[0m   \x1b[90mRun the login tests\x1b[0m                            \x1b[34m│\x1b[0m',
  '\x1b[34m│\x1b[0m                                                  \x1b[34m│\x1b[0m',
  '\x1b[34m│\x1b[0m Do you want to proceed?                          \x1b[34m│\x1b[0m',
  '\x1b[34m│\x1b[0m \x1b[94m❯ 1. Yes\x1b[0m                                         \x1b[34m│\x1b[0m',
  "\x1b[34m│\x1b[0m   2. Yes, and don't ask again for \x1b[1mgo test\x1b[0m        \x1b[34m│\x1b[0m",
  '\x1b[34m│\x1b[0m   3. No, and tell Claude what to do \x1b[90m(esc)\x1b[0m        \x1b[34m│\x1b[0m',
  '\x1b[34m╰──────────────────────────────────────────────────╯\x1b[0m',
]

const waiting = [
  '     \x1b[90m43\x1b[0m   func fakeClock(t time.Time) Clock {',
  '     \x1b[90m44\x1b[0m     return clockFunc(func() time.Time {',
  '',
  '\x1b[32m●\x1b[0m \x1b[1mBash\x1b[0m(go test ./... && go vet ./...)',
  '  \x1b[90m└\x1b[0m  \x1b[32mok\x1b[0m   example.com/api/internal/auth   \x1b[90m0.231s\x1b[0m',
  '     \x1b[32mok\x1b[0m   example.com/api/internal/http   \x1b[90m0.418s\x1b[0m',
  '',
  '● The login handler now takes its clock as a field.',
  '  All \x1b[1m212\x1b[0m tests pass and \x1b[36mgo vet\x1b[0m is clean.',
  '',
  '  \x1b[32m✓\x1b[0m \x1b[90minject the clock in login.go\x1b[0m',
  '  \x1b[32m✓\x1b[0m \x1b[90mcover the expired-token case\x1b[0m',
  '  \x1b[90m☐\x1b[0m describe the 401 in \x1b[34mdocs/api.md\x1b[0m',
  '',
  '\x1b[90m────────────────────────────────────────────────────\x1b[0m',
  '❯ \x1b[7m \x1b[0m',
  '\x1b[90m────────────────────────────────────────────────────\x1b[0m',
  '  \x1b[35m▶▶ accept edits on\x1b[0m \x1b[90m(shift+tab to cycle)\x1b[0m',
]

const shell = [
  '\x1b[32m~/src/api-server\x1b[0m $ git log --oneline -3',
  '\x1b[33m9f2c1ab\x1b[0m inject the clock',
  '\x1b[33m77e01d4\x1b[0m cover the expired token',
  '\x1b[33m0c9a6f3\x1b[0m first commit',
  '\x1b[32m~/src/api-server\x1b[0m $ ',
]

export function screenOf(session: string): string {
  const lines = { 'api-server': asking, 'refactor-auth': waiting, 'bump-deps': waiting }[session] ?? shell
  return lines.join('\r\n')
}
