package auth

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/server"
)

func TestPairWithTicket(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(b *bench) error
		want server.Code
	}{
		{"works", func(b *bench) error {
			_, err := b.PairWithTicket(b.t.Context(), b.ticket(server.AllScopes), from("192.0.2.7"))
			return err
		}, ""},
		{"works until its last moment", func(b *bench) error {
			ticket := b.ticket(server.AllScopes)
			time.Sleep(TicketLifetime - time.Millisecond)
			_, err := b.PairWithTicket(b.t.Context(), ticket, from("192.0.2.7"))
			return err
		}, ""},
		{"expires", func(b *bench) error {
			ticket := b.ticket(server.AllScopes)
			time.Sleep(TicketLifetime)
			_, err := b.PairWithTicket(b.t.Context(), ticket, from("192.0.2.7"))
			return err
		}, server.CodeTicketInvalid},
		{"unknown", func(b *bench) error {
			_, err := b.PairWithTicket(b.t.Context(), "abcdefghijklmnopqrstuvwxyz", from("192.0.2.7"))
			return err
		}, server.CodeTicketInvalid},
		{"empty", func(b *bench) error {
			_, err := b.PairWithTicket(b.t.Context(), "", from("192.0.2.7"))
			return err
		}, server.CodeTicketInvalid},
		{"a name that cannot be seen leaves it unused", func(b *bench) error {
			ticket := b.ticket(server.AllScopes)
			request := from("192.0.2.7")
			request.Name = "\u200b\x1b"
			if _, err := b.PairWithTicket(b.t.Context(), ticket, request); server.CodeOf(err) != server.CodeInvalid {
				return err
			}
			_, err := b.PairWithTicket(b.t.Context(), ticket, from("192.0.2.7"))
			return err
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.fails(test.want, test.run(b))
			})
		})
	}
}

func TestPairWithTicket_second_use_tells_both(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		ticket := b.ticket(server.AllScopes)
		_, err := b.PairWithTicket(t.Context(), ticket, from("192.0.2.7"))
		b.ok(err)
		time.Sleep(time.Hour)
		_, err = b.PairWithTicket(t.Context(), ticket, from("203.0.113.9"))
		b.fails(server.CodeTicketUsed, err)
		for _, part := range []string{"already used at", "by Pixel 7", "from 192.0.2.7"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not hold %q", err, part)
			}
		}
		if actions := b.actions(); actions[len(actions)-1] != server.AuditTicketFailed {
			t.Errorf("audit lines %v", actions)
		}
		// A stranger cannot fill the disk with such lines.
		before := len(b.actions())
		for range 100 {
			_, err = b.PairWithTicket(t.Context(), ticket, from("203.0.113.9"))
			b.fails(server.CodeTicketUsed, err)
		}
		if more := len(b.actions()) - before; more > triesPerAddress {
			t.Errorf("100 tries left %d audit lines", more)
		}
	})
}

func TestPairWithTicket_scopes(t *testing.T) {
	b := newBench(t)
	for _, test := range []struct {
		transport Transport
		given     server.Scopes
		want      server.Scopes
		insecure  bool
	}{
		{TransportTLS, server.AllScopes, server.AllScopes, false},
		{TransportLoopback, server.ScopeRead, server.ScopeRead, false},
		{TransportLAN, server.AllScopes, server.InsecureScopes, true},
		{TransportLAN, server.ScopeRead | server.ScopeExec, server.ScopeRead, true},
	} {
		request := from("192.0.2.7")
		request.Transport = test.transport
		paired, err := b.PairWithTicket(t.Context(), b.ticket(test.given), request)
		b.ok(err)
		stored, err := b.store.Device(t.Context(), paired.Device.ID)
		b.ok(err)
		if paired.Device.Scopes != test.want || stored.Scopes != test.want || stored.Insecure != test.insecure {
			t.Errorf("%+v: told %v, stored %v, insecure %v", test, paired.Device.Scopes, stored.Scopes, stored.Insecure)
		}
	}
}

func TestPairWithCode(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(b *bench) error
		want server.Code
	}{
		{"works", func(b *bench) error {
			code, _ := b.code(server.PrincipalDevice)
			_, err := b.PairWithCode(b.t.Context(), code, from("192.0.2.7"))
			return err
		}, ""},
		{"works as a person types it", func(b *bench) error {
			code, _ := b.code(server.PrincipalDevice)
			_, err := b.PairWithCode(b.t.Context(), " "+strings.ToLower(code[:3])+"-"+code[3:]+" ", from("192.0.2.7"))
			return err
		}, ""},
		{"once", func(b *bench) error {
			code, _ := b.code(server.PrincipalDevice)
			_, err := b.PairWithCode(b.t.Context(), code, from("192.0.2.7"))
			b.ok(err)
			_, err = b.PairWithCode(b.t.Context(), code, from("192.0.2.7"))
			return err
		}, server.CodePairCode},
		{"expires", func(b *bench) error {
			code, _ := b.code(server.PrincipalDevice)
			time.Sleep(CodeLifetime)
			_, err := b.PairWithCode(b.t.Context(), code, from("192.0.2.7"))
			return err
		}, server.CodePairCode},
		{"a host's code makes no device", func(b *bench) error {
			code, _ := b.code(server.PrincipalHost)
			_, err := b.PairWithCode(b.t.Context(), code, from("192.0.2.7"))
			return err
		}, server.CodePairCode},
		{"a device's code enrols no host", func(b *bench) error {
			code, _ := b.code(server.PrincipalDevice)
			_, _, err := b.EnrolHost(b.t.Context(), code, "laptop", "192.0.2.7")
			return err
		}, server.CodePairCode},
		{"a taken host name leaves the code live", func(b *bench) error {
			first, _ := b.code(server.PrincipalHost)
			_, _, err := b.EnrolHost(b.t.Context(), first, "laptop", "192.0.2.7")
			b.ok(err)
			code, _ := b.code(server.PrincipalHost)
			if _, _, err := b.EnrolHost(b.t.Context(), code, "laptop", "192.0.2.7"); server.CodeOf(err) != server.CodeNameTaken {
				return err
			}
			_, _, err = b.EnrolHost(b.t.Context(), code, "desk", "192.0.2.7")
			return err
		}, ""},
		{"nonsense", func(b *bench) error {
			b.code(server.PrincipalDevice)
			_, err := b.PairWithCode(b.t.Context(), "ÄÖÜ\x00' OR 1", from("192.0.2.7"))
			return err
		}, server.CodePairCode},
		{"at most three wait", func(b *bench) error {
			for range MaxLiveCodes {
				b.code(server.PrincipalDevice)
			}
			_, _, err := b.CreateCode(b.t.Context(), Console(), server.PrincipalDevice, server.ScopeRead)
			return err
		}, server.CodeLimit},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				b.fails(test.want, test.run(b))
			})
		})
	}
}

// Whatever is wrong with a code, the answer is the same and takes as long.
func TestPairWithCode_refusals_cannot_be_told_apart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		try := func(name, code string) {
			start := time.Now()
			_, err := b.PairWithCode(t.Context(), code, from("192.0.2."+fmt.Sprint(len(name))))
			if took := time.Since(start); took != codeAnswerTime {
				t.Errorf("%s: answered after %v, want %v", name, took, codeAnswerTime)
			}
			if err == nil || err.Error() != server.CodePairCode.Sentence() {
				t.Errorf("%s: %v", name, err)
			}
		}
		try("none is live", "AAAAAA")
		code, _ := b.code(server.PrincipalDevice)
		wrong := "AAAAAA"
		if code == wrong {
			wrong = "BBBBBB"
		}
		try("wrong, one live", wrong)
		try("malformed", "no code at all")
		hostCode, _ := b.code(server.PrincipalHost)
		try("of the other kind", hostCode)
		_, err := b.PairWithCode(t.Context(), code, from("192.0.2.99"))
		b.ok(err)
		try("used already", code)
	})
}

func TestPairWithCode_guessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		code, record := b.code(server.PrincipalDevice)
		other, otherRecord := b.code(server.PrincipalHost)
		guess := func(address string) error {
			_, err := b.PairWithCode(t.Context(), "222222", from(address))
			return err
		}
		// Five from one subscriber, whichever of its addresses they come from.
		for i := range triesPerAddress {
			b.fails(server.CodePairCode, guess(fmt.Sprintf("2001:db8:1:2::%d", i)))
		}
		b.fails(server.CodeTooManyTries, guess("2001:db8:1:2:ffff::9"))
		// A minute later five more: the tenth cancels both codes.
		time.Sleep(triesWindow)
		for range triesPerAddress {
			b.fails(server.CodePairCode, guess("2001:db8:1:2::1"))
		}
		time.Sleep(triesWindow)
		_, err := b.PairWithCode(t.Context(), code, from("192.0.2.7"))
		b.fails(server.CodePairCode, err)
		_, _, err = b.EnrolHost(t.Context(), other, "laptop", "192.0.2.7")
		b.fails(server.CodePairCode, err)
		for _, id := range []string{record.ID, otherRecord.ID} {
			status, err := b.CodeStatus(t.Context(), id)
			b.ok(err)
			if status.CancelledAt.IsZero() || !strings.Contains(status.CancelledFrom, "2001:db8:1:2::") {
				t.Errorf("the minter sees cancelled at %v from %q", status.CancelledAt, status.CancelledFrom)
			}
		}
		if !slices.Contains(b.actions(), server.AuditCodeCancelled) {
			t.Errorf("audit lines %v", b.actions())
		}
		// No lockout touches links.
		_, err = b.PairWithTicket(t.Context(), b.ticket(server.AllScopes), from("2001:db8:1:2::1"))
		b.ok(err)
	})
}

// The numbers of S-16: whoever has any number of addresses and all of a code's
// life gets ten guesses at three live codes, which is one chance in 29 million.
func TestPairWithCode_brute_force(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		for range MaxLiveCodes {
			b.code(server.PrincipalDevice)
		}
		before := len(b.actions())
		compared, whileLive := 0, 0
		for begin := time.Now(); time.Since(begin) < CodeLifetime; time.Sleep(500 * time.Millisecond) {
			for n := range 3 {
				live, err := b.store.LiveCodes(t.Context(), time.Now())
				b.ok(err)
				_, err = b.PairWithCode(t.Context(), "222222", from(fmt.Sprintf("198.%d.%d.%d", 18+n, compared/256%256, compared%256)))
				switch server.CodeOf(err) {
				case server.CodePairCode:
					compared++
					if len(live) > 0 {
						whileLive++
					}
				case server.CodeTooManyTries:
				default:
					t.Fatalf("a guess ended with %v", err)
				}
			}
		}
		if whileLive != wrongCodeLimit {
			t.Errorf("%d guesses met a live code, want %d", whileLive, wrongCodeLimit)
		}
		if most := triesInAll * int(CodeLifetime/triesWindow); compared > most {
			t.Errorf("%d guesses were compared, want at most %d", compared, most)
		}
		if lines := len(b.actions()) - before; lines > compared+1 {
			t.Errorf("%d audit lines for %d guesses", lines, compared)
		}
	})
}

func TestLimiter_in_all(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter[netip.Prefix]{each: triesPerAddress, inAll: triesInAll, window: triesWindow}
		for i := range triesInAll {
			if !l.allow(time.Now(), NetworkOf(fmt.Sprintf("198.51.100.%d", i))) {
				t.Fatalf("try %d is refused", i)
			}
			time.Sleep(time.Second)
		}
		if l.allow(time.Now(), NetworkOf("203.0.113.1")) {
			t.Error("one more than all is allowed")
		}
		time.Sleep(triesWindow - triesInAll*time.Second) // the first is a minute ago now
		if !l.allow(time.Now(), NetworkOf("203.0.113.1")) {
			t.Error("refused although the first try is over")
		}
		if l.allow(time.Now(), NetworkOf("203.0.113.1")) {
			t.Error("allowed although the second is not")
		}
		if len(l.tries) > triesInAll {
			t.Errorf("remembers %d tries", len(l.tries))
		}
	})
}

func TestNetworkOf(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"192.0.2.7", "192.0.2.7/32"},
		{"192.0.2.7:80", "192.0.2.7/32"},
		{"::ffff:192.0.2.7", "192.0.2.7/32"},
		{"[2001:db8:1:2:3::4]:443", "2001:db8:1:2::/64"},
		{"fe80::1%eth0", "fe80::/64"},
		{"", "invalid Prefix"},
		{"@", "invalid Prefix"},
	} {
		if got := NetworkOf(test.in).String(); got != test.want {
			t.Errorf("%q: %s, want %s", test.in, got, test.want)
		}
	}
}

func TestMinting(t *testing.T) {
	b := newBench(t)
	reader := MinterOf(server.Principal{Kind: server.PrincipalDevice, Name: "phone", Scopes: server.ScopeRead | server.ScopeInput})
	host := MinterOf(server.Principal{Kind: server.PrincipalHost, Name: "laptop", Scopes: server.AllScopes})
	for name, minter := range map[string]Minter{"a device without admin": reader, "a host": host, "nobody": {}} {
		_, _, err := b.CreateTicket(t.Context(), minter, server.ScopeRead)
		if server.CodeOf(err) != server.CodeForbidden {
			t.Errorf("%s makes a link: %v", name, err)
		}
		for _, kind := range []server.PrincipalKind{server.PrincipalDevice, server.PrincipalHost} {
			if _, _, err := b.CreateCode(t.Context(), minter, kind, server.ScopeRead); server.CodeOf(err) != server.CodeForbidden {
				t.Errorf("%s makes a code for a %s: %v", name, kind, err)
			}
		}
		if _, _, err := b.CreateToken(t.Context(), minter, TokenRequest{Name: "x", Scopes: server.ScopeRead}); server.CodeOf(err) != server.CodeForbidden {
			t.Errorf("%s makes a token: %v", name, err)
		}
	}
	if _, _, err := b.CreateCode(t.Context(), Console(), server.PrincipalToken, server.ScopeRead); server.CodeOf(err) != server.CodeInvalid {
		t.Errorf("a code for a token: %v", err)
	}
	for name, request := range map[string]TokenRequest{
		"no scope": {Name: "x"}, "no name": {Name: " \x00", Scopes: server.ScopeRead}, "negative life": {Name: "x", Scopes: server.ScopeRead, Lifetime: -1},
	} {
		if _, _, err := b.CreateToken(t.Context(), Console(), request); server.CodeOf(err) != server.CodeInvalid {
			t.Errorf("token with %s: %v", name, err)
		}
	}
	// What is given stays inside the minter's own binding.
	key := server.SessionKey{Host: "h", ID: "s"}
	bound := Console()
	bound.Binding = server.Binding{Sessions: []server.SessionKey{key}}
	record, _, err := b.CreateToken(t.Context(), bound, TokenRequest{Name: "bound", Scopes: server.ScopeRead})
	b.ok(err)
	if !record.Binding.Allows(key) || record.Binding.IsZero() {
		t.Errorf("binding %v", record.Binding)
	}
	wider := TokenRequest{Name: "wider", Scopes: server.ScopeRead, Binding: server.Binding{Sessions: []server.SessionKey{{Host: "h", ID: "other"}}}}
	_, _, err = b.CreateToken(t.Context(), bound, wider)
	b.fails(server.CodeUnknownSession, err)
}

// Every code is as likely as any other: χ² over the letters at each place.
func TestDrawCode_is_uniform(t *testing.T) {
	const draws = 31 * 2000
	var counts [CodeLength][256]int
	for range draws {
		for place, letter := range []byte(drawCode()) {
			counts[place][letter]++
		}
	}
	for place := range counts {
		chi, total := 0.0, 0
		for _, letter := range []byte(CodeAlphabet) {
			expected := float64(draws) / float64(len(CodeAlphabet))
			difference := float64(counts[place][letter]) - expected
			chi += difference * difference / expected
			total += counts[place][letter]
		}
		if total != draws {
			t.Errorf("place %d: %d letters from outside the alphabet", place, draws-total)
		}
		// 30 degrees of freedom: above 95 once in 10⁸ runs. A draw modulo 31 of
		// bytes gives about 200 here with this many draws.
		if chi > 95 {
			t.Errorf("place %d: χ² is %.0f", place, chi)
		}
	}
}
