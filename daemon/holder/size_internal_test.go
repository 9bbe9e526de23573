package holder

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// sizeStep is one thing that happens, and who owns the size afterwards.
type sizeStep struct {
	do   string
	run  func(*sizeTest)
	want string
}

type sizeTest struct{ *sizes }

func (s *sizeTest) show() string {
	owner := s.owner()
	name := "-"
	if owner.kind != wire.OwnerNone {
		name = string(rune(owner.client[0]))
	}
	return fmt.Sprintf("%s %dx%d", name, owner.cols, owner.rows)
}

func claims(client byte, kind wire.OwnerKind, reason wire.ClaimReason, cols, rows uint16) func(*sizeTest) {
	return func(s *sizeTest) { s.claim(wire.ClientID{client}, kind, reason, cols, rows, time.Now()) }
}

func presents(client byte, kind wire.OwnerKind, visible, focused bool) func(*sizeTest) {
	return func(s *sizeTest) { s.presence(wire.ClientID{client}, kind, visible, focused, time.Now()) }
}

func types(client byte, kind wire.OwnerKind) func(*sizeTest) {
	return func(s *sizeTest) { s.typed(wire.ClientID{client}, kind, time.Now()) }
}

func releases(client byte) func(*sizeTest) {
	return func(s *sizeTest) { s.release(wire.ClientID{client}) }
}

func detaches(client byte) func(*sizeTest) {
	return func(s *sizeTest) { s.detach(wire.ClientID{client}) }
}

// after lets time pass with a sign of life of some viewers every 15 s.
func after(d time.Duration, alive ...byte) func(*sizeTest) {
	return func(s *sizeTest) {
		for end := time.Now().Add(d); time.Now().Before(end); {
			for _, client := range alive {
				s.presence(wire.ClientID{client}, wire.OwnerViewer, true, false, time.Now())
			}
			time.Sleep(min(15*time.Second, time.Until(end)))
			s.expire(time.Now())
		}
	}
}

func TestSizes(t *testing.T) {
	const viewer, local = wire.OwnerViewer, wire.OwnerLocal
	desk := func(reason wire.ClaimReason) func(*sizeTest) { return claims('d', local, reason, 200, 50) }
	phone := func(reason wire.ClaimReason) func(*sizeTest) { return claims('p', viewer, reason, 45, 30) }
	tablet := func(reason wire.ClaimReason) func(*sizeTest) { return claims('t', viewer, reason, 90, 40) }
	for name, steps := range map[string][]sizeStep{
		"watching never resizes": {
			{"phone watches", presents('p', viewer, true, true), "- 80x24"},
			{"phone types", types('p', viewer), "- 80x24"},
			{"a minute passes", after(time.Minute, 'p'), "- 80x24"},
		},
		"fit takes and expires": {
			{"phone fits", phone(wire.ClaimFit), "p 45x30"},
			{"44 s of silence", after(44 * time.Second), "p 45x30"},
			{"1 s more", after(time.Second), "- 80x24"},
		},
		"signs of life keep a lease": {
			{"phone fits", phone(wire.ClaimFit), "p 45x30"},
			{"an hour visible", after(time.Hour, 'p'), "p 45x30"},
			{"phone hides", presents('p', viewer, false, false), "p 45x30"},
			{"45 s pass", after(45 * time.Second), "- 80x24"},
		},
		"typing needs an absent owner": {
			{"tablet fits", tablet(wire.ClaimFit), "t 90x40"},
			{"tablet is seen", presents('t', viewer, true, false), "t 90x40"},
			{"phone types", phone(wire.ClaimTyping), "t 90x40"},
			{"tablet hides", presents('t', viewer, false, false), "t 90x40"},
			{"phone types", phone(wire.ClaimTyping), "p 45x30"},
			{"phone releases", releases('p'), "t 90x40"},
			{"tablet expires", after(time.Minute), "- 80x24"},
		},
		"fit takes from a present owner and gives back": {
			{"desk attaches", desk(wire.ClaimAttach), "d 200x50"},
			{"desk is focused", presents('d', local, true, true), "d 200x50"},
			{"phone types", phone(wire.ClaimTyping), "d 200x50"},
			{"phone fits", phone(wire.ClaimFit), "p 45x30"},
			{"desk types", desk(wire.ClaimTyping), "p 45x30"},
			{"phone falls silent", after(46 * time.Second), "d 200x50"},
		},
		"a desk that is not looked at": {
			{"desk attaches", desk(wire.ClaimAttach), "d 200x50"},
			{"desk is focused", presents('d', local, true, true), "d 200x50"},
			{"desk loses focus", presents('d', local, true, false), "d 200x50"},
			{"4 min 59 s pass", after(299*time.Second, 'p'), "d 200x50"},
			{"phone types", phone(wire.ClaimTyping), "d 200x50"},
			{"2 s pass", after(2*time.Second, 'p'), "d 200x50"},
			{"phone types", phone(wire.ClaimTyping), "p 45x30"},
			{"desk detaches", detaches('d'), "p 45x30"},
			{"phone leaves: the desk's size stays", releases('p'), "- 200x50"},
		},
		"attaching does not take from a present owner": {
			{"phone fits", phone(wire.ClaimFit), "p 45x30"},
			{"desk attaches", desk(wire.ClaimAttach), "p 45x30"},
			{"desk's window changes", claims('d', local, wire.ClaimResize, 100, 40), "p 45x30"},
			{"phone releases", releases('p'), "- 80x24"},
			{"desk types", desk(wire.ClaimTyping), "d 200x50"},
		},
		"the owner's own window": {
			{"desk attaches", desk(wire.ClaimAttach), "d 200x50"},
			{"its window changes", claims('d', local, wire.ClaimResize, 100, 40), "d 100x40"},
			{"phone fits", phone(wire.ClaimFit), "p 45x30"},
			{"desk's window changes", claims('d', local, wire.ClaimResize, 120, 45), "p 45x30"},
			{"phone releases", releases('p'), "d 120x45"},
			{"desk detaches", detaches('d'), "- 120x45"},
		},
		"many owners": {
			{"desk attaches", desk(wire.ClaimAttach), "d 200x50"},
			{"tablet fits", tablet(wire.ClaimFit), "t 90x40"},
			{"phone fits", phone(wire.ClaimFit), "p 45x30"},
			{"tablet expires, phone lives", after(50*time.Second, 'p'), "p 45x30"},
			{"phone releases", releases('p'), "d 200x50"},
		},
		"a desk that fits": {
			{"phone fits", phone(wire.ClaimFit), "p 45x30"},
			{"desk takes", desk(wire.ClaimFit), "d 200x50"},
			{"hours pass", after(3*time.Hour, 'p'), "d 200x50"},
			{"desk detaches", detaches('d'), "p 45x30"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sizeTest{newSizes(80, 24)}
				for _, step := range steps {
					step.run(s)
					if got := s.show(); got != step.want {
						t.Fatalf("%s: %s, expected %s", step.do, got, step.want)
					}
				}
			})
		})
	}
}

func TestSizes_Bounds(t *testing.T) {
	s := newSizes(80, 24)
	now := time.Now()
	for i := range 10 * maxPresences {
		client := wire.ClientID{byte(i), byte(i >> 8)}
		s.claim(client, wire.OwnerViewer, wire.ClaimFit, 50, 20, now.Add(time.Duration(i)))
		s.presence(wire.ClientID{byte(i), byte(i >> 8), 1}, wire.OwnerViewer, true, true, now)
	}
	if len(s.clients) > maxPresences || len(s.claims) > maxClaims {
		t.Errorf("%d clients, %d claims", len(s.clients), len(s.claims))
	}
	if next := s.nextExpiry(); next.IsZero() || s.expire(next.Add(time.Hour)) != true || len(s.clients) > 0 || len(s.claims) > 0 {
		t.Errorf("%d clients and %d claims outlive their lease", len(s.clients), len(s.claims))
	}
}

func TestSizes_Focus(t *testing.T) {
	s := newSizes(80, 24)
	now := time.Now()
	s.presence(wire.ClientID{'p'}, wire.OwnerViewer, true, true, now)
	s.claim(wire.ClientID{'d'}, wire.OwnerLocal, wire.ClaimAttach, 80, 24, now)
	s.presence(wire.ClientID{'d'}, wire.OwnerLocal, true, true, now)
	if !s.focused(now.Add(time.Hour)) {
		t.Error("a focused desk is forgotten")
	}
	s.detach(wire.ClientID{'d'})
	if !s.focused(now) || s.focused(now.Add(wire.PresenceLifetime)) {
		t.Error("a viewer's focus does not follow its presence")
	}
}
